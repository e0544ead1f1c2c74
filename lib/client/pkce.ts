/** 244 bits, as text that needs no escaping anywhere. */
export const random = (): string => crypto.randomUUID() + crypto.randomUUID()

/** @see RFC 7636 §4.2 */
export async function challengeOf(verifier: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier)))
  return btoa(String.fromCharCode(...digest))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace('=', '')
}
