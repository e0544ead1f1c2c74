import { twoStepOf, hasFactor } from '../../protocol/second-factors.ts'
import type { Origin } from '../../sessions/sessions.ts'
import type { AccountsDeps } from '../deps.ts'
import type { FactorPolicy } from './factor-policy.ts'
import { awaitsConfirmation, sendVerificationAgain } from '../verify-email.ts'
import { type FactorDeps } from './deps.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import { type AuthenticationProof, hasProvedSecond } from '../../protocol/authentication.ts'

/**
 * True if the host requires a second factor of a sign-in that has not proved one. An outage of the host's hook rejects.
 */
export async function mustEnrol(
  { user, methods, clientId }: { user: User; methods: readonly AuthenticationProof[]; clientId: string | null },
  { policy }: Pick<FactorDeps, 'policy'>,
  { clock }: Pick<AccountsDeps, 'clock'>
): Promise<boolean> {
  if (policy.required === null || hasProvedSecond({ methods, authenticatedAt: clock.now() })) return false
  return await policy.required(user, clientId)
}

/**
 * True if a browser session with these proofs began before the host required a second factor of its user. A session
 * that could begin without one in spite of that is marked by `exempt`. An outage of the host's hook rejects.
 */
export async function isFromBeforeRequirement(
  user: User,
  methods: readonly AuthenticationProof[],
  { required }: Pick<FactorPolicy, 'required'>,
  { clock }: Pick<AccountsDeps, 'clock'>
): Promise<boolean> {
  if (required === null || methods.some((proof) => proof.exempt)) return false
  return !hasProvedSecond({ methods, authenticatedAt: clock.now() }) && (await required(user, null))
}

/**
 * The proofs of a session that begins without a second factor though the host requires one, marked so: the browser is
 * remembered, or nobody requires it for the client that takes part.
 */
export async function markedExempt(
  first: Parameters<typeof mustEnrol>[0],
  { isRemembered }: { isRemembered: boolean },
  { policy }: Pick<FactorDeps, 'policy'>,
  deps: Pick<AccountsDeps, 'clock'>
): Promise<AuthenticationProof[]> {
  const { user, methods, clientId } = first
  const isExempt = isRemembered || (clientId !== null && (await isFromBeforeRequirement(user, methods, policy, deps)))
  return methods.map((proof) => (isExempt ? { ...proof, exempt: true } : proof))
}

/** Tells if the sign-ins of the account take a second step, and why. An outage of the host's hook rejects. */
export async function twoStepNow(
  user: User,
  found: UserFactors,
  { factors: { policy } }: { factors: Pick<FactorDeps, 'policy'> }
): Promise<ReturnType<typeof twoStepOf>> {
  return twoStepOf(found, policy.required !== null && (await policy.required(user, null)))
}

/** True if the sign-in is asked for a second factor that the user has. An outage of the host's hook rejects. */
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
 * message for that too; a user invited by a link of the host need not confirm it.
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
