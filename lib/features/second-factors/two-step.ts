import { type ProvingDeps } from './deps.ts'
import {
  hasFactor,
  readRecoveryCode,
  RECOVERY_CODES,
  recoveryCode,
  recoveryDigests,
  twoStepOf
} from '../../protocol/second-factors.ts'
import { OAuthError } from '../../errors.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import { addressed, type MessageCause } from '../../accounts/outbox.ts'
import { holds, orInBackground } from './addition.ts'
import type { Staying } from '../../accounts/factor-kinds.ts'
import type { FactorDeps } from './deps.ts'
import type { Origin } from '../../sessions/sessions.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import { awaitsConfirmation, sendVerificationAgain } from '../../accounts/verify-email.ts'
import { type AuthenticationProof, hasProvedSecond } from '../../protocol/authentication.ts'

interface Asker extends MessageCause {
  user: User
  sid: string
}

/**
 * Turns two-step sign-in on for a user with a passkey. All their other sign-ins end, because these took one step. The
 * caller must require a fresh sign-in. Resolves to new recovery codes, or to `null` if `mfa.methods` has none of them.
 * Changes nothing, and resolves to `null`, if two-step sign-in was on already, for example by `mfa.required`.
 * @throws OAuthError `last_factor` for a user with neither app nor passkey; `login_required` if the sign-in has ended
 */
export async function turnTwoStepOn({ stays, ...asker }: Asker & Staying, deps: ProvingDeps): Promise<string[] | null> {
  const { user, origin } = asker
  const { store, policy } = deps.factors
  const endOthers = async (): Promise<void> => {
    await deps.sessions.revokeAll(user.id, 'factors_changed', { stays, origin })
  }
  const found = await store.findFactors(user.id)
  if (!hasFactor(found)) throw noFactor()
  if ((await twoStepNow(user, found, deps)).on) return null
  const { codes, digests } = newRecoveryCodes(user, deps)
  const gives = policy.methods.includes('recovery_code')
  const outcome = await orTellLater(
    asker,
    { on: true, before: found, finish: endOthers },
    async () => await store.setTwoStep({ userId: user.id, on: true, recoveryDigests: gives ? digests : undefined }),
    deps
  )
  if (outcome === 'refused') throw noFactor()
  if (outcome === 'unchanged') return null
  if (!(await holds(asker, deps))) {
    // Undoes the change. The event that ended the sign-in, such as a password reset, came too early to do so.
    await store.setTwoStep({ userId: user.id, on: false })
    throw new OAuthError('login_required', 'The sign-in has ended meanwhile. Sign in again.', { statusCode: 401 })
  }
  tell(asker, true, deps)
  await orInBackground(`two-step ${user.id}`, endOthers, deps)
  return gives ? codes : null
}

/**
 * Turns two-step sign-in off, so that the first factor is enough again, and ends the recovery codes. The caller must
 * require a fresh sign-in.
 * @throws OAuthError `last_factor` for an account with an app, or if the host requires a second factor of it
 */
export async function turnTwoStepOff(asker: Asker, deps: ProvingDeps): Promise<void> {
  const { user } = asker
  const { store } = deps.factors
  const found = await store.findFactors(user.id)
  const { because } = await twoStepNow(user, found, deps)
  if (because === 'required') throw new OAuthError('last_factor', 'The account must have two-step sign-in.')
  const outcome = await orTellLater(
    asker,
    { on: false, before: found, finish: async () => {} },
    async () => await store.setTwoStep({ userId: user.id, on: false }),
    deps
  )
  if (outcome === 'refused') throw new OAuthError('last_factor', 'Remove the authenticator app first.')
  if (outcome === 'changed') tell(asker, false, deps)
}

const noFactor = (): OAuthError => new OAuthError('last_factor', 'Add an authenticator app or a passkey first.')

function tell({ user, sid, locale, origin }: Asker, on: boolean, { events, outbox }: ProvingDeps): void {
  events.emit('two_step_changed', { userId: user.id, sid, on }, origin)
  const to = { user: addressed(user), locale, origin }
  if (on) outbox?.post({ kind: 'factor_added', factor: 'two_step', ...to })
  else outbox?.post({ kind: 'factor_removed', factor: 'two_step', by: 'user', ...to })
}

/**
 * Makes the change. If the store's answer is lost, the change may have been made. Then background work reads the store,
 * and finishes and reports the change like any other. It never undoes the change.
 */
async function orTellLater<Outcome>(
  asker: Asker,
  { on, before, finish }: { on: boolean; before: UserFactors; finish(): Promise<void> },
  change: () => Promise<Outcome>,
  deps: ProvingDeps
): Promise<Outcome> {
  const { store } = deps.factors
  const userId = asker.user.id
  try {
    return await change()
  } catch (error) {
    deps.background.run(
      `two-step ${userId}`,
      'whether two-step sign-in was changed could not be looked up',
      async () => {
        const { twoStepChosen } = await store.findFactors(userId)
        if (twoStepChosen !== on || before.twoStepChosen === on) return
        await finish()
        tell(asker, on, deps)
      },
      { retries: true }
    )
    throw error
  }
}

/** Makes new recovery codes, and the digests that the store keeps of them. */
export function newRecoveryCodes(
  { id }: Pick<User, 'id'>,
  { random, factors }: Pick<ProvingDeps, 'random'> & { factors: Pick<FactorDeps, 'recoveryKeys'> }
): { codes: string[]; digests: string[] } {
  const codes = Array.from({ length: RECOVERY_CODES }, () => recoveryCode(Buffer.from(random.secret(), 'base64url')))
  return {
    codes,
    digests: codes.flatMap((code) =>
      recoveryDigests(readRecoveryCode(code) ?? '', id, factors.recoveryKeys.slice(0, 1))
    )
  }
}

/**
 * Replaces all recovery codes of the user, and resolves to the new ones. The store has only their HMACs.
 * @throws OAuthError `invalid_request` if two-step sign-in is off
 */
export async function replaceRecoveryCodes(
  { user, sid, locale, origin }: MessageCause & { user: User; sid: string },
  deps: ProvingDeps
): Promise<string[]> {
  const found = await deps.factors.store.findFactors(user.id)
  const { codes, digests } = newRecoveryCodes(user, deps)
  if (!(await twoStepNow(user, found, deps)).on || !(await deps.factors.store.replaceRecoveryCodes(user.id, digests)))
    throw new OAuthError('invalid_request', 'Recovery codes go with two-step sign-in, which is off.', {
      statusCode: 409
    })
  deps.events.emit('recovery_codes_replaced', { userId: user.id, sid }, origin)
  deps.outbox?.post({ kind: 'factor_added', factor: 'recovery_codes', user: addressed(user), locale, origin })
  return codes
}

/** True if the host requires a second factor of a sign-in that has not proved one. Rejects if the host's hook fails. */
export async function mustEnrol(
  { user, methods, clientId }: { user: User; methods: readonly AuthenticationProof[]; clientId: string | null },
  { policy }: Pick<FactorDeps, 'policy'>,
  { clock }: Pick<AccountsDeps, 'clock'>
): Promise<boolean> {
  if (policy.required === null || hasProvedSecond({ methods, authenticatedAt: clock.now() })) return false
  return await policy.required(user, clientId)
}

/**
 * True if a browser session with these proofs began before the host required a second factor of its user. False for a
 * session with the mark `exempt`, which was allowed to begin without one. Rejects if the host's hook fails.
 */
export async function isFromBeforeRequirement(
  { user, methods }: Pick<Parameters<typeof mustEnrol>[0], 'user' | 'methods'>,
  factors: Pick<FactorDeps, 'policy'>,
  deps: Pick<AccountsDeps, 'clock'>
): Promise<boolean> {
  if (methods.some((proof) => proof.exempt)) return false
  return await mustEnrol({ user, methods, clientId: null }, factors, deps)
}

/**
 * Marks the proofs of a session that may begin without a second factor though the host requires one: the browser is
 * remembered, or the host requires none for this client.
 */
export async function markedExempt(
  first: Parameters<typeof mustEnrol>[0],
  { isRemembered }: { isRemembered: boolean },
  factors: Pick<FactorDeps, 'policy'>,
  deps: Pick<AccountsDeps, 'clock'>
): Promise<AuthenticationProof[]> {
  const isExempt = isRemembered || (first.clientId !== null && (await isFromBeforeRequirement(first, factors, deps)))
  return first.methods.map((proof) => (isExempt ? { ...proof, exempt: true } : proof))
}

/** Returns whether sign-ins of the account take a second step, and why. Rejects if the host's hook fails. */
export async function twoStepNow(
  user: User,
  found: UserFactors,
  { factors: { policy } }: { factors: Pick<FactorDeps, 'policy'> }
): Promise<ReturnType<typeof twoStepOf>> {
  return twoStepOf(found, policy.required !== null && (await policy.required(user, null)))
}

/** True if the sign-in is asked for a second factor that the user has. Rejects if the host's hook fails. */
export async function asksSecondFactor(
  first: Parameters<typeof mustEnrol>[0],
  found: UserFactors,
  factors: FactorDeps,
  deps: Pick<AccountsDeps, 'clock'>
): Promise<boolean> {
  return hasFactor(found) && (twoStepOf(found, false).on || (await mustEnrol(first, factors, deps)))
}

/**
 * Emits `enrolment_required`. If the address of the account has to be confirmed before a factor is set up, sends the
 * confirmation message too. A user who is invited by a link of the host need not confirm the address.
 */
export function tellOfEnrolment(
  user: User,
  clientId: string | null,
  origin: Origin,
  accounts: AccountsDeps,
  { isInvited = false } = {}
): void {
  accounts.events.emit('enrolment_required', { userId: user.id, clientId }, origin)
  if (isInvited || !awaitsConfirmation(user, accounts)) return
  accounts.background.run(`verify ${user.id}`, 'an email verification message could not be prepared', async () => {
    await sendVerificationAgain(user, { locale: undefined, origin }, accounts)
  })
}
