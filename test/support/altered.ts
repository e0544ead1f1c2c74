/**
 * The text with one character of its middle swapped for another, never for itself. The last one of base64url may have
 * bits that count for nothing.
 */
export function altered(text: string): string {
  const at = text.length >> 1
  return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`
}
