/**
 * The text with one character in the middle replaced by a different one. The last character of base64url may have
 * unused bits.
 */
export function altered(text: string): string {
  const at = text.length >> 1
  return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`
}
