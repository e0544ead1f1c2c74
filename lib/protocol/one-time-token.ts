import { digest } from './digest.ts'
import { partitionIn, partitionOf } from './partition.ts'

/** The token of a message: the user's partition and 256 bits. Only its digest is kept, under the same partition. */
export interface MintedOneTimeToken {
  token: string
  digest: string
}

/** What `Random.secret` makes (32 bytes in base64url), after a partition. */
const FORMAT = /^[A-Za-z0-9_-]{46}$/

/** `secret` is from `Random.secret`, and for one token only. */
export function oneTimeToken (userId: string, secret: string): MintedOneTimeToken {
  const token = partitionOf(userId) + secret
  return { token, digest: partitionIn(token) + digest(token) }
}

/** The digest under which a token is kept; `null` for what can't be one. */
export function digestOfOneTimeToken (token: string): string | null {
  return FORMAT.test(token) ? partitionIn(token) + digest(token) : null
}
