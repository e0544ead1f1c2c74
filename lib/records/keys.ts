import { digest, partitionIn, partitionOf } from '../protocol/digest.ts'

/** The names of a partition's records. Every kind has a name of its own, so no value counts as one of another kind. */

export const familyKey = (sid: string): string => `f:${plainName(sid)}`
export const sessionKey = (sid: string): string => `s:${plainName(sid)}`
export const INDEX = 'i'
export const GENERATION = 'g'
export const CONSENTS = 'c'
export const oneTimeTokenKey = (purpose: string): string => `t:${purpose}`
export const assertionKey = (digest: string): string => `x:${digest}`
export const KEYS = 'k'
export const OWNER = 'o'
/** Written to find out whether writes are done. */
export const TRIAL = 'w'
/** By which a start finds out whether it opens the second factors. */
export const SEAL = 'e'
/** All second factors of a user. */
export const FACTORS = 'a'
export const passkeyClaimKey = (claim: string): string => `q:${plainName(claim)}`
/** The partition of what belongs to the service and to no user. */
export const SERVICE = 'service'
/** One of its own, so that a trial holds up nothing else. */
export const TRIALS = 'trials'

const PLAIN = /^[\w-]{1,100}$/

/** A name that fits into a key. `#` is in no plain name, so no name can look like the digest of another. */
function plainName(name: string): string {
  return PLAIN.test(name) ? name : `#${digest(name)}`
}

/** The partition that a public name (a sid, the digest of a one-time token) begins with. */
export function partitionOfName(name: string): string {
  const partition = partitionIn(name)
  return PLAIN.test(partition) ? partition : partitionOf(name)
}

/** @throws TypeError where a public name begins with another partition than its user's: nobody would find it there. */
export function requirePartition(name: string, userId: string): string {
  const partition = partitionOf(userId)
  if (partitionIn(name) !== partition)
    throw new TypeError('The name of a record must begin with the partition of its user.')
  return partition
}
