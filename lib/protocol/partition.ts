import { hash } from 'node:crypto'

/**
 * The partition of a user: 18 bits of a digest of the id, as three characters. The public names of all that a user has
 * (families, codes, browser sessions, one-time tokens) begin with it, so a store that is spread over several servers
 * finds it all in one place by any of those names, and an operation on one user is one step there. It tells less of a
 * user than the `sub` beside it.
 */
export function partitionOf(userId: string): string {
  return hash('sha256', `partition:${userId}`, 'base64url').slice(0, PARTITION_LENGTH)
}

/** The partition that a public name (a `sid`, the digest of a one-time token) begins with. */
export function partitionIn(name: string): string {
  return name.slice(0, PARTITION_LENGTH)
}

const PARTITION_LENGTH = 3
