import { OAuthError } from '../../errors.ts'
import { NO_REQUEST } from '../../events.ts'
import type { User } from '../../ports/user-store.ts'
import { addressed, type MessageCause } from '../outbox.ts'
import { nameOf } from './enrol-totp.ts'
import type { ProvingDeps } from './prove-factor.ts'

/** Ids come from addresses and forms. Odd ones are refused here: a NUL makes SQL stores reject, which would count as an outage. */
const ID = /^[A-Za-z0-9_-]{1,128}$/

interface ShownFactor {
  id: string
  kind: 'totp' | 'passkey'
  name: string | null
  createdAt: number
  lastUsedAt: number | null
  /** Whether it no longer works, after too many wrong codes. */
  disabled: boolean
}

export async function listFactors (userId: string, { factors: { store } }: Pick<ProvingDeps, 'factors'>): Promise<{ factors: ShownFactor[], recoveryCodesLeft: number }> {
  const { totp, passkeys, recoveryCodesLeft } = await store.findFactors(userId)
  const apps = totp.map(({ id, name, createdAt, lastUsedAt, disabled }): ShownFactor => ({ id, kind: 'totp', name, createdAt, lastUsedAt, disabled }))
  const keys = passkeys.map(({ id, name, createdAt, lastUsedAt }): ShownFactor => ({ id, kind: 'passkey', name, createdAt, lastUsedAt, disabled: false }))
  return { factors: [...apps, ...keys], recoveryCodesLeft }
}

/** Removes one of the user's own. To be asked by a fresh sign-in. @throws OAuthError `not_found` */
export async function removeFactor ({ user, factorId, by, locale, origin }: MessageCause & { user: User, factorId: string, by: 'user' | 'host' }, { events, outbox, factors: { store } }: ProvingDeps): Promise<void> {
  const outcome = ID.test(factorId) ? await store.removeFactor({ userId: user.id, factorId, keepOne: false }) : 'unknown'
  if (outcome === 'last') throw new OAuthError('last_factor', 'The factor is the last one.')
  if (outcome === 'unknown') throw new OAuthError('not_found', 'There is no such factor.')
  events.emit('factor_removed', { userId: user.id, factorId, by }, origin)
  outbox?.post({ kind: 'factor_removed', user: addressed(user), locale, origin })
}

/** @throws OAuthError `not_found` */
export async function renameFactor ({ userId, factorId, name }: { userId: string, factorId: string, name: string }, { factors: { store } }: ProvingDeps): Promise<void> {
  if (!ID.test(factorId) || !await store.renameFactor({ userId, factorId, name: nameOf(name) })) throw new OAuthError('not_found', 'There is no such factor.')
}

/**
 * Removes all factors of a user who has lost them, for a host that knows who asks. All sign-ins end, before and after, and the user is told.
 * Resolves to how many factors there were.
 */
export async function resetFactors (user: User, { sessions, events, outbox, factors: { store } }: ProvingDeps): Promise<number> {
  const origin = NO_REQUEST
  const endAll = async (): Promise<void> => { await sessions.revokeAll(user.id, 'factors_changed', { origin }) }
  await endAll()
  const count = await store.removeFactorsOfUser(user.id)
  events.emit('factor_removed', { userId: user.id, factorId: null, by: 'host' }, origin)
  outbox?.post({ kind: 'factor_removed', user: addressed(user), locale: undefined, origin })
  await endAll()
  return count
}
