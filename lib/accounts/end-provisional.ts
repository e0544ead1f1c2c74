import type { RemovedFactor, UserFactors } from '../ports/factor-store.ts'
import type { User } from '../ports/user-store.ts'
import { isProvisional } from './address-proof.ts'
import { lookLater } from './background.ts'
import type { AccountsDeps } from './deps.ts'
import { identityUnlinked, listLinks } from './identities.ts'
import { addressed, type MessageCause } from './outbox.ts'

/** The proof of the mailbox, or the disowning of the account. */
type ProofCause = 'password_reset' | 'disowned' | 'email_sign_in' | 'email_changed' | 'identity_linked'

/** Ends the user's provisional factors and links, and reports each. Idempotent. */
export async function endProvisional(
  user: User,
  cause: MessageCause & { by: ProofCause },
  deps: AccountsDeps
): Promise<void> {
  const { users, factors } = deps
  if (users.unlinkIdentity !== undefined)
    for (const link of await listLinks(user.id, deps))
      if (isProvisional(link, user) && (await users.unlinkIdentity(user.id, link, true)) === 'unlinked')
        identityUnlinked(user, link, cause, deps)
  if (factors === null) return
  // The owner of the address never set it up, and a message that it is gone would only puzzle them.
  const outbox = cause.by === 'disowned' ? null : deps.outbox
  const found = factorsIn(await factors.store.findFactors(user.id)).filter(({ provisional }) => provisional)
  await endFactors(user, found, async () => await factors.store.removeProvisional(user.id), cause, { ...deps, outbox })
}

/** Of each factor what can be told of it, and what decides whether it ends. */
export const factorsIn = ({ totp, passkeys }: UserFactors): EndingFactor[] => [
  ...totp.map(({ id, createdAt, provisional }) => ({ id, createdAt, provisional, kind: 'totp' as const })),
  ...passkeys.map(({ id, createdAt, provisional }) => ({ id, createdAt, provisional, kind: 'passkey' as const }))
]

type EndingFactor = RemovedFactor & { createdAt: number; provisional: boolean }

/**
 * Ends factors of a user by `remove`, which resolves to the removed ones, and tells of each. If its answer is lost, a
 * repeat finds no factor to tell of, so the missing ones of `found` are told of behind the reply.
 */
export async function endFactors(
  user: User,
  found: readonly EndingFactor[],
  remove: () => Promise<readonly RemovedFactor[]>,
  cause: MessageCause,
  deps: Pick<AccountsDeps, 'events' | 'outbox' | 'factors' | 'background'>
): Promise<void> {
  const tell = (factor: RemovedFactor): void => {
    factorEnded(user, factor, cause, deps)
  }
  const removed = await remove().catch((error: unknown) => {
    const what = 'second factors that may have ended could not be looked at'
    lookLater(deps.background, `ending ${user.id}`, what, async () => {
      const left = (await deps.factors?.store.findFactors(user.id)) ?? null
      if (left === null || factorsIn(left).some(({ id }) => found.some((one) => one.id === id))) return false
      found.forEach(tell)
      return true
    })
    throw error
  })
  removed.forEach(tell)
}

/** Emits the event and posts the message of a factor that ended by the proof of a mailbox. */
function factorEnded(
  user: User,
  { id, kind }: RemovedFactor,
  { locale, origin }: MessageCause,
  { events, outbox }: Pick<AccountsDeps, 'events' | 'outbox'>
): void {
  events.emit('factor_removed', { userId: user.id, factorId: id, kind, by: 'mailbox' }, origin)
  outbox?.post({ kind: 'factor_removed', factor: kind, by: 'user', user: addressed(user), locale, origin })
}
