import { OAuthError } from '../../errors.ts'
import type { AddedFactor, UserFactors } from '../../ports/factor-store.ts'
import { isActive } from '../../sessions/active-user.ts'
import type { Origin } from '../../sessions/sessions.ts'
import { lookLater } from '../../accounts/background.ts'
import type { ProvingDeps } from './deps.ts'
import type { Enroller, Staying } from '../../accounts/factor-kinds.ts'
import type { User } from '../../ports/user-store.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import type { MessageCause } from '../../accounts/outbox.ts'
import { awaitsConfirmation, sendVerificationAgain } from '../../accounts/verify-email.ts'

type Deps = Pick<ProvingDeps, 'users' | 'sessions' | 'factors' | 'background' | 'onError'>

interface Addition {
  factorId: string
  /** The sign-ins that stay if the addition turns two-step sign-in on; `null`: it does not. */
  turnsOn: Staying | null
  /** True if the factor of this addition is stored, and not one of an earlier addition. */
  isStored(found: UserFactors): boolean
  /** Writes the factor. */
  store(): Promise<AddedFactor>
  /** Emits the event and sends the message about the new factor. */
  tell(): void
  origin: Origin
}

type Stored = Exclude<AddedFactor, { outcome: 'not_first' }>

/**
 * Stores a factor. Removes it again if the sign-in that adds it has ended meanwhile, or if a store fails before the
 * user is told. With `turnsOn` all other sign-ins of the user end, because a thief may have signed in by the password
 * alone.
 * @throws OAuthError `invalid_token` if other factors have changed meanwhile; `login_required` if the sign-in has ended
 * meanwhile; `temporarily_unavailable`
 */
export async function storeFactor(of: Enroller, addition: Addition, deps: Deps): Promise<Stored> {
  const { user, sid } = of
  const { turnsOn, origin } = addition
  const endOthers = async (): Promise<void> => {
    await deps.sessions.revokeAll(user.id, 'factors_changed', { stays: turnsOn?.stays, origin })
  }
  // In a session, ends the other sign-ins before the factor is stored, so that a later failure leaves no sign-in by the
  // password alone. With a ticket, `commit` ends all sign-ins only once this factor is stored: a user who sent the form
  // twice may be signed in by the first request already.
  if (turnsOn !== null && sid !== null) await endOthers()
  const stored = await commit(of, addition, deps)
  if (stored.outcome !== 'added') return stored
  addition.tell()
  // Ends the other sign-ins again, because a sign-in by the password alone may have begun in between.
  if (turnsOn !== null && sid !== null) await orInBackground(`addition ${user.id} ${sid}`, endOthers, deps)
  return stored
}

async function commit(of: Enroller, addition: Addition, deps: Deps): Promise<Stored> {
  const { user, sid } = of
  const { factorId, isStored, turnsOn, origin } = addition
  const { store } = deps.factors
  const stored = await addition.store().catch((error: unknown) => {
    withdrawLost(user.id, addition, deps)
    throw error
  })
  if (stored.outcome === 'not_first') throw addedMeanwhile()
  if (stored.outcome !== 'added') return stored
  const withdraw = async (): Promise<void> => {
    await store.removeFactor({ userId: user.id, factorId, keepOne: false })
  }
  let refused: OAuthError | null = null
  try {
    if (!isStored(await store.findFactors(user.id))) refused = addedMeanwhile()
    else if (!(await holds(of, deps)))
      refused = new OAuthError('login_required', 'The sign-in has ended meanwhile. Sign in again.', { statusCode: 401 })
    if (refused !== null) await withdraw()
    else if (turnsOn !== null && sid === null) await deps.sessions.revokeAll(user.id, 'factors_changed', { origin })
  } catch (error) {
    // Removes the factor, because the user got neither a reply nor the recovery codes.
    deps.background.run(`withdraw ${factorId}`, NOT_TAKEN_BACK, withdraw, { retries: true })
    throw error
  }
  if (refused !== null) throw refused
  return stored
}

const NOT_TAKEN_BACK = 'a second factor that nobody was told of could not be taken back'

const addedMeanwhile = (): OAuthError =>
  new OAuthError('invalid_token', 'Other factors were set up or removed meanwhile. Begin again.', { statusCode: 400 })

/**
 * True if the session that adds a factor is still alive or, with a ticket, if its first factor is still valid. A
 * password reset before the commit ends the sign-in, but cannot end a factor that is not stored yet. Without this check
 * a thief might come back by that factor.
 */
export async function holds(of: Enroller, { users, sessions }: Pick<Deps, 'users' | 'sessions'>): Promise<boolean> {
  return of.sid === null
    ? await of.holds()
    : isActive(await users.findById(of.user.id)) && (await sessions.isAlive(of.user.id, of.sid))
}

/** Removes a factor later, after a failed write. The store may have written it, or may still write it. */
function withdrawLost(
  userId: string,
  { factorId, isStored }: Addition,
  { factors: { store }, background }: Deps
): void {
  lookLater(background, `withdraw ${factorId}`, NOT_TAKEN_BACK, async () => {
    if (isStored(await store.findFactors(userId))) await store.removeFactor({ userId, factorId, keepOne: false })
    return false
  })
}

/**
 * Ends the other sign-ins. After a failure, the work continues in the background, because the reply with the recovery
 * codes must still be sent.
 */
export async function orInBackground(
  key: string,
  endOthers: () => Promise<void>,
  { background, onError }: Pick<Deps, 'background' | 'onError'>
): Promise<void> {
  const what = 'the other sign-ins of a user whose second factors changed could not be ended'
  await endOthers().catch((error: unknown) => {
    onError(error, what)
    background.run(key, what, endOthers, { retries: true })
  })
}

/**
 * Refuses a user whose address must be confirmed first. Every caller that stores a factor must call this function
 * before, unless the host has invited the user.
 * @throws OAuthError `access_denied` with the reason
 */
export function refuseUnconfirmed(user: User, deps: Pick<AccountsDeps, 'users' | 'outbox'>): void {
  if (awaitsConfirmation(user, deps))
    throw new OAuthError(
      'access_denied',
      'Confirm the email address of the account first. A message with a link was sent there.',
      { reason: 'email_not_verified' }
    )
}

/**
 * Refuses a user whose address must be confirmed before an enrolment. Sends the confirmation message first, if none was
 * sent in the last five minutes.
 */
export async function requireConfirmedAddress(user: User, cause: MessageCause, deps: AccountsDeps): Promise<void> {
  if (awaitsConfirmation(user, deps)) await sendVerificationAgain(user, cause, deps)
  refuseUnconfirmed(user, deps)
}
