import { hash } from 'node:crypto'
import { partitionIn, partitionOf } from '../../protocol/partition.ts'

const PARTITION = /^[A-Za-z0-9_-]{16}$/

/**
 * Where the keys of a `redisState` or a `redisFactorStore` begin. All of one root lie in one hash slot, so a script may
 * touch any of them.
 */
export interface Names {
  /**
   * The root of all that has this public name (a `sid`, the digest of a one-time token), and of all that its user has.
   */
  rootOf(name: string): string
  rootOfUser(userId: string): string
  /** The key of all consents of the user. */
  consentsOf(userId: string): string
  /** The key of all second factors of the user. */
  factorsOf(userId: string): string
  /** The key of the signing keys. */
  keys: string
  /** The root of what is written to see that it can be, and nothing else. */
  trial: string
  prefix: string
}

/** `prefix` has no braces: the hash tag is ours. */
export function namesUnder(prefix: string, what = 'redisState'): Names {
  if (/[{}]/.test(prefix))
    throw new TypeError(`The prefix of ${what} must have no braces: they mark the hash slot of a key.`)
  const root = (tag: string): string => `${prefix}{${tag}}`
  return {
    rootOf(name) {
      const partition = partitionIn(name)
      // An id of another form is not one of ours: a partition is used in which it cannot exist.
      return root(PARTITION.test(partition) ? partition : partitionOf(name))
    },
    rootOfUser: (userId) => root(partitionOf(userId)),
    consentsOf: (userId) => `${root(partitionOf(userId))}:c:${ownerOf(userId)}`,
    factorsOf: (userId) => `${root(partitionOf(userId))}:a:${ownerOf(userId)}`,
    keys: root('keys'),
    trial: root('trial'),
    prefix
  }
}

/**
 * Stands for a user in keys, which must not hold a user's own bytes, and in records: 96 bits, for the few users that
 * share a partition. It is made of the JSON, in which no two strings look alike.
 */
export function ownerOf(userId: string): string {
  return hash('sha256', `owner:${JSON.stringify(userId)}`, 'base64url').slice(0, 16)
}

/** Throws where a name was made for another user: it would be found by some operations and not by others. */
export function requirePartition(name: string, userId: string): void {
  if (partitionIn(name) !== partitionOf(userId))
    throw new TypeError('A name must begin with the partition of its user.')
}
