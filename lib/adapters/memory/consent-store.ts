import type { Consent, ConsentStore } from '../../ports/consent-store.ts'

/** A consent's user and client. */
type ConsentKey = readonly [userId: string, clientId: string]

interface MemoryConsentStore extends ConsentStore {
  /** Every consent's key, to sweep by. */
  keys(): Iterable<ConsentKey>
  /** Removes the consent if it has expired at `now`. */
  sweepConsent(key: ConsentKey, now: number): void
}

const copyOf = ({ userId, clientId, scopes, grantedAt, expiresAt }: Consent): Consent => ({
  userId,
  clientId,
  scopes: [...scopes],
  grantedAt,
  expiresAt
})

/** Consents in memory: at most one a user and client. No method awaits before it has done its work. */
export function memoryConsentStore(): MemoryConsentStore {
  const byUser = new Map<string, Map<string, Consent>>()

  const remove = (userId: string, clientId: string): boolean => {
    const consents = byUser.get(userId)
    const removed = consents?.delete(clientId) === true
    if (consents?.size === 0) byUser.delete(userId)
    return removed
  }
  const valid = (userId: string, clientId: string, now: number): Consent | undefined => {
    const consent = byUser.get(userId)?.get(clientId)
    if (consent === undefined || now < consent.expiresAt) return consent
    remove(userId, clientId)
    return undefined
  }

  return {
    async findConsent(userId, clientId, now) {
      const consent = valid(userId, clientId, now)
      return consent === undefined ? null : copyOf(consent)
    },
    async grantConsent(consent) {
      const { userId, clientId, scopes, grantedAt } = consent
      // One that has expired must not come to life again with the scopes it once had.
      const former = valid(userId, clientId, grantedAt)?.scopes ?? []
      const consents = byUser.get(userId) ?? new Map<string, Consent>()
      byUser.set(userId, consents.set(clientId, { ...copyOf(consent), scopes: [...new Set([...former, ...scopes])] }))
    },
    async revokeConsent(userId, clientId) {
      return remove(userId, clientId)
    },
    async listConsents(userId, now) {
      return [...(byUser.get(userId)?.values() ?? [])]
        .filter(({ expiresAt }) => now < expiresAt)
        .map(copyOf)
        .reverse()
        .sort((a, b) => b.grantedAt - a.grantedAt)
    },
    *keys() {
      for (const [userId, consents] of byUser) {
        for (const clientId of consents.keys()) yield [userId, clientId]
      }
    },
    sweepConsent([userId, clientId], now) {
      valid(userId, clientId, now)
    }
  }
}
