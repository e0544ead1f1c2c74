import type { OneTimeToken, OneTimeTokenPurpose, OneTimeTokenStore } from '../../ports/one-time-token-store.ts'

interface MemoryOneTimeTokenStore extends OneTimeTokenStore {
  /** Every token's key, to sweep by. */
  names(): Iterable<string>
  /** Removes the token if it has expired at `now`. */
  sweepToken(name: string, now: number): void
}

// A purpose has no space in it, so no digest or user id can make one name look like another.
const nameOf = (purpose: OneTimeTokenPurpose, value: string): string => `${purpose} ${value}`

/** One-time tokens in memory: at most one a user and purpose. No method awaits before it has done its work. */
export function memoryOneTimeTokenStore (): MemoryOneTimeTokenStore {
  const byDigest = new Map<string, OneTimeToken>()
  const byUser = new Map<string, OneTimeToken>()

  const remove = (token: OneTimeToken): void => {
    byDigest.delete(nameOf(token.purpose, token.digest))
    const userName = nameOf(token.purpose, token.userId)
    if (byUser.get(userName) === token) byUser.delete(userName)
  }
  const valid = (name: string, now: number): OneTimeToken | undefined => {
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
    async put ({ purpose, digest, userId, expiresAt }) {
      const token: OneTimeToken = { purpose, digest, userId, expiresAt }
      discard(purpose, userId)
      byDigest.set(nameOf(purpose, digest), token)
      byUser.set(nameOf(purpose, userId), token)
    },
    async find (purpose, digest, now) {
      const token = valid(nameOf(purpose, digest), now)
      return token === undefined ? null : { ...token }
    },
    async consume (purpose, digest, now) {
      const token = valid(nameOf(purpose, digest), now)
      if (token === undefined) return null
      remove(token)
      return { ...token }
    },
    async discard (purpose, userId) { discard(purpose, userId) },
    names: () => byDigest.keys(),
    sweepToken (name, now) { valid(name, now) }
  }
}
