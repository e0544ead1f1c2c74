import type { Origin } from '../../sessions/sessions.ts'
import type { AccountsDeps } from '../deps.ts'
import { awaitsConfirmation, sendVerificationAgain } from '../verify-email.ts'
import type { FactorDeps } from './deps.ts'
import type { BrowserSession } from '../../ports/session-store.ts'
import type { User } from '../../ports/user-store.ts'
import { hasProvedSecond } from '../../protocol/authentication.ts'

/**
 * Whether somebody who has no second factor has to set one up before they are signed in. An outage of the host's hook
 * rejects.
 */
export async function mustEnrol(
  { user, methods, clientId }: { user: User; methods: BrowserSession['methods']; clientId: string | null },
  { policy }: FactorDeps,
  { clock }: Pick<AccountsDeps, 'clock'>
): Promise<boolean> {
  if (policy.required === null || hasProvedSecond({ methods, authenticatedAt: clock.now() })) return false
  return await policy.required(user, clientId)
}

/**
 * Emits `enrolment_required`. Where the address of the account has to be confirmed before a factor is set up, the
 * message for that is sent too; whoever is invited by a link of the host need not confirm it.
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
  accounts.background.run(`verify ${user.id}`, 'an e-mail verification message could not be prepared', async () => {
    await sendVerificationAgain(user, { locale: undefined, origin }, accounts)
  })
}
