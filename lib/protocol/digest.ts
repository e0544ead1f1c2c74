import { hash, timingSafeEqual } from 'node:crypto'

/** SHA-256, base64url: what is kept of a credential of 256 bits. (A password has its own, slow hash.) */
export function digest(credential: string): string {
  return hash('sha256', credential, 'base64url')
}

/** Compares two secrets in a time that tells neither content nor length. */
export function equalSecrets(left: string, right: string): boolean {
  return timingSafeEqual(Buffer.from(digest(left)), Buffer.from(digest(right)))
}
