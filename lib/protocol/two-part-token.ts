import { hash } from 'node:crypto'
import { digest } from './digest.ts'
import { partitionIn, partitionOf } from './partition.ts'

/**
 * `<id>.<secret>`: the form of refresh tokens, codes and session cookies. The id (128 bits after the user's partition) finds the
 * record, the secret (256 bits) proves it. The server keeps the digest of either and neither of them.
 */
export interface TwoPartToken {
  id: string
  secret: string
  /** Public name of the record: tells nothing of the id. */
  sid: string
  /** Of the secret. */
  digest: string
}

const FORMAT = /^([A-Za-z0-9_-]{24}[AQgw])\.([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])$/

/** `null` where it can't be one of ours: wrong length, wrong characters, or a second spelling of the same bytes. */
export function parseTwoPartToken (value: string): TwoPartToken | null {
  const match = FORMAT.exec(value)
  if (match === null) return null
  const id = match[1] as string
  const secret = match[2] as string
  return { id, secret, sid: sidOf(id), digest: digest(secret) }
}

export function formatTwoPartToken (id: string, secret: string): string {
  return `${id}.${secret}`
}

/** A new id for something of this user's. `unguessable` has 128 bits, as `Random.id()` gives them. */
export function newTokenId (userId: string, unguessable: string): string {
  return partitionOf(userId) + unguessable
}

/** The partition of an id, and 128 bits of its digest. */
export function sidOf (id: string): string {
  return partitionIn(id) + hash('sha256', `sid:${id}`, 'base64url').slice(0, 22)
}
