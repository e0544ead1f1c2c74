import { hash } from 'node:crypto'
import { digest } from './digest.ts'
import { partitionIn, partitionOf } from './partition.ts'

/**
 * `<id>.<secret>`: the form of refresh tokens, authorization codes and session cookies. The id (128 bits after the
 * user's partition) finds the record, the secret (256 bits) proves it. The server keeps the digest of either and
 * neither of them.
 *
 * The id of a refresh token stands in every token of one family and nowhere else. So a caller who presents a known id
 * with a secret that is not the current one holds, or held, a real token of the family: a replay is told from a guess
 * without keeping old digests.
 */
export interface Credential {
  id: string
  secret: string
  /** Public name of the record: tells nothing of the id. */
  sid: string
  /** The digest of the secret. */
  digest: string
}

/** An id has the 16 characters of a partition and 128 bits in 22 more. */
const FORMAT = /^([A-Za-z0-9_-]{37}[AQgw])\.([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])$/

/** `null` where it can't be one of ours: wrong length, wrong characters, or a second spelling of the same bytes. */
export function parseCredential(value: string): Credential | null {
  const match = FORMAT.exec(value)
  if (match === null) return null
  const id = match[1] as string
  const secret = match[2] as string
  return { id, secret, sid: sidOf(id), digest: digest(secret) }
}

export function formatCredential(id: string, secret: string): string {
  return `${id}.${secret}`
}

/** A new id for something of this user's. `unguessable` has 128 bits, as `Random.id()` gives them. */
export function newCredentialId(userId: string, unguessable: string): string {
  return partitionOf(userId) + unguessable
}

/** The partition of an id, and 128 bits of its digest. */
export function sidOf(id: string): string {
  return partitionIn(id) + hash('sha256', `sid:${id}`, 'base64url').slice(0, 22)
}
