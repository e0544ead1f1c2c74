import type { Consent } from '../ports/state.ts'
import { CONSENTS, rowOf, type View } from './view.ts'

type PackedConsent = [clientId: string, scopes: string[], grantedAt: number, expiresAt: number, client?: string]
/** All consents of a user, in the order in which they were first granted. */
type PackedConsents = [userId: string, consents: PackedConsent[]]

function grantedBy(view: View, userId: string): PackedConsent[] {
  const stored = rowOf<PackedConsents>(view.get(CONSENTS), 2)
  return stored === null || stored[0] !== userId ? [] : stored[1]
}

function save(view: View, userId: string, consents: PackedConsent[]): void {
  if (consents.length === 0) {
    view.remove(CONSENTS)
    return
  }
  const value: PackedConsents = [userId, consents]
  const expiresAt = Math.max(...consents.map(([, , , expiresAt]) => expiresAt))
  view.put(CONSENTS, { kind: 'consents', userId, value, expiresAt })
}

/**
 * Adds the scopes to those that the user allowed before. Drops the former scopes if that consent has expired, or if the
 * user saw another description of the client (`client`).
 */
export function grantConsent(view: View, { userId, clientId, scopes, grantedAt, expiresAt, client }: Consent): void {
  const valid = grantedBy(view, userId).filter(([, , , end]) => grantedAt < end)
  const at = valid.findIndex(([client]) => client === clientId)
  const [, former = [], , , formerClient] = valid[at] ?? []
  const kept = formerClient === client ? former : []
  const scopesNow = [...new Set([...kept, ...scopes])]
  const looks = client === undefined ? ([] as const) : ([client] as const)
  const consent: PackedConsent = [clientId, scopesNow, grantedAt, expiresAt, ...looks]
  save(view, userId, at < 0 ? [...valid, consent] : valid.with(at, consent))
}

export function revokeConsent(view: View, userId: string, clientId: string): boolean {
  const before = grantedBy(view, userId)
  const left = before.filter(([client]) => client !== clientId)
  if (left.length === before.length) return false
  save(view, userId, left)
  return true
}

/** The consents of the user that are valid at `now`, newest first. */
export function listConsents(view: View, userId: string, now: number): Consent[] {
  return grantedBy(view, userId)
    .filter(([, , , expiresAt]) => now < expiresAt)
    .map(([clientId, scopes, grantedAt, expiresAt, client]) => ({
      userId,
      clientId,
      scopes: [...scopes],
      grantedAt,
      expiresAt,
      ...(client === undefined ? {} : { client })
    }))
    .reverse()
    .sort((a, b) => b.grantedAt - a.grantedAt)
}

export const findConsent = (view: View, userId: string, clientId: string, now: number): Consent | null =>
  listConsents(view, userId, now).find((consent) => consent.clientId === clientId) ?? null
