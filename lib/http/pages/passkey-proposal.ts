import type { SessionBegun, StepNeeded } from '../../accounts/slots.ts'
import { awaitsConfirmation } from '../../accounts/verify-email.ts'
import { logLine } from '../../ports/log.ts'
import type { PageDeps, Visit } from './deps.ts'
import { type Form, queryParam } from './page-routes.ts'
import { passkeysOf } from './passkeys.ts'

/** `isSignUp`: the account was made just now, without a password. */
export interface Arrival extends Pick<Visit, 'request' | 'journey'> {
  isSignUp?: boolean | undefined
}

/** True if a form has the field in which the script says that the browser can make passkeys. */
export function tellsPasskeys(deps: PageDeps): boolean {
  return passkeysOf(deps)?.passkeys.prompt === true
}

/**
 * True if a sign-in leads by the page that proposes a passkey: one by password, or a sign-up without one, in a browser
 * that can make one and was not asked in the last 30 days, of a user who has none. A sign-up without a password is
 * asked in any case, so that the user can sign in by a passkey alone. Not for an app on a device, which waits for its
 * answer, and not if a signed-in user signs in again for a page of ours. A failure here stops no sign-in.
 */
export async function proposesPasskey(
  begun: SessionBegun | StepNeeded,
  { request, journey, isSignUp = false }: Arrival,
  { passkeys: able }: Form,
  deps: PageDeps
): Promise<boolean> {
  const on = passkeysOf(deps)
  if (on === null || !on.passkeys.prompt || able !== 'yes' || 'ticket' in begun) return false
  if (
    journey.nativeRequest !== null ||
    !(isSignUp || begun.session.methods.some(({ method }) => method === 'password'))
  )
    return false
  // They are on their way to the page where they add one.
  if (journey.next.split('?')[0] === deps.link('securityPasskeys')) return false
  if (queryParam(request, 'client_id') === '' && queryParam(request, 'prompt') === 'login') return false
  if (
    (!isSignUp && deps.cookies.prompted.read(request) !== undefined) ||
    awaitsConfirmation(begun.user, deps.authorize.accounts)
  )
    return false
  try {
    const { passkeys } = await on.factors.store.findFactors(begun.user.id)
    return passkeys.length === 0
  } catch (error) {
    request.log.error(
      ...logLine('FST_AUTHORITY_WORK_FAILED', 'whether to propose a passkey could not be looked up', { err: error })
    )
    return false
  }
}
