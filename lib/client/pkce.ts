/** Of 32 bytes, whose base64 ends in one `=`. */
function base64url (bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace('=', '')
}

/** 256 bits. */
export function random (): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}

/** @see RFC 7636 §4.2 */
export async function challengeOf (verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
}
