import { hash, timingSafeEqual } from 'node:crypto'

/** SHA-256 in base64url: the stored form of a credential of 256 bits. (A password has its own, slow hash.) */
export function digest(credential: string): string {
  return hash('sha256', credential, 'base64url')
}

/** True for text of the form of `digest`. A code challenge (RFC 7636 §4.2) and a thumbprint (RFC 7638) have it too. */
export const isDigest = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text)

/** Compares two secrets by their digests, so that the time does not reveal how much of a guess is right. */
export function equalSecrets(left: string, right: string): boolean {
  return timingSafeEqual(Buffer.from(digest(left)), Buffer.from(digest(right)))
}

/**
 * The partition of a user: 96 bits of a digest of the user id. The public names of all records of a user (families,
 * codes, browser sessions, one-time tokens) begin with it. So a store finds everything of one user in one place by any
 * of those names, and decides on all of it in one step. The partition reveals less of a user than the `sub` of the same
 * token. The id is digested as JSON, so that two different ids never give the same input.
 */
export function partitionOf(userId: string): string {
  return hash('sha256', `partition:${JSON.stringify(userId)}`, 'base64url').slice(0, PARTITION_LENGTH)
}

/** The partition that a public name (a `sid`, the digest of a one-time token) begins with. */
export function partitionIn(name: string): string {
  return name.slice(0, PARTITION_LENGTH)
}

/** Length in characters of base64url. */
export const PARTITION_LENGTH = 16
