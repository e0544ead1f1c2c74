import {
  MAX_CODE_FAILURES,
  type OneTimeToken,
  type OneTimeTokenPurpose,
  type OneTimeTokenStore
} from '../../ports/one-time-token-store.ts'

/** With the wrong guesses at it and at those it replaced, which count until `failuresUntil`. */
type Entry = OneTimeToken & { failures: number; failuresUntil: number }

interface MemoryOneTimeTokenStore extends OneTimeTokenStore {
  /** Every token's key, to sweep by. */
  names(): Iterable<string>
  /** Removes the token if it has expired at `now`. */
  sweepToken(name: string, now: number): void
}

// A purpose has no space in it, so no digest or user id can make one name look like another.
const nameOf = (purpose: OneTimeTokenPurpose, value: string): string => `${purpose} ${value}`

const copyOf = ({ purpose, digest, userId, expiresAt }: OneTimeToken): OneTimeToken => ({
  purpose,
  digest,
  userId,
  expiresAt
})

/** One-time tokens in memory: at most one a user and purpose. No method awaits before it has done its work. */
export function memoryOneTimeTokenStore(): MemoryOneTimeTokenStore {
  const byDigest = new Map<string, Entry>()
  const byUser = new Map<string, Entry>()

  const remove = (token: Entry): void => {
    byDigest.delete(nameOf(token.purpose, token.digest))
    const userName = nameOf(token.purpose, token.userId)
    if (byUser.get(userName) === token) byUser.delete(userName)
  }
  const valid = (name: string, now: number): Entry | undefined => {
    const token = byDigest.get(name)
    if (token === undefined || now < token.expiresAt) return token
    remove(token)
    return undefined
  }
  const discard = (purpose: OneTimeTokenPurpose, userId: string): void => {
    const token = byUser.get(nameOf(purpose, userId))
    if (token !== undefined) remove(token)
  }

  return {
    async put({ purpose, digest, userId, expiresAt }) {
      const { failures = 0, failuresUntil = 0 } = byUser.get(nameOf(purpose, userId)) ?? {}
      const token: Entry = { purpose, digest, userId, expiresAt, failures, failuresUntil }
      discard(purpose, userId)
      byDigest.set(nameOf(purpose, digest), token)
      byUser.set(nameOf(purpose, userId), token)
    },
    async find(purpose, digest, now) {
      const token = valid(nameOf(purpose, digest), now)
      return token === undefined ? null : copyOf(token)
    },
    async consume(purpose, digest, now) {
      const token = valid(nameOf(purpose, digest), now)
      if (token === undefined) return null
      remove(token)
      return copyOf(token)
    },
    async discard(purpose, userId) {
      discard(purpose, userId)
    },
    async redeemCode({ purpose, owner, codeDigest, now }) {
      const token = byUser.get(nameOf(purpose, owner))
      if (token === undefined || now >= token.expiresAt) return 'unknown'
      const counts = now < token.failuresUntil
      if (counts && token.failures >= MAX_CODE_FAILURES) return 'spent'
      if (token.digest === codeDigest) {
        remove(token)
        return 'redeemed'
      }
      Object.assign(token, counts ? { failures: token.failures + 1 } : { failures: 1, failuresUntil: token.expiresAt })
      return 'wrong'
    },
    names: () => byDigest.keys(),
    sweepToken(name, now) {
      valid(name, now)
    }
  }
}
