import type { FactorDeps } from '../../../accounts/factors/deps.ts'
import type { Passkeys } from '../../../accounts/factors/passkeys.ts'
import type { MessageCause } from '../../../accounts/outbox.ts'
import type { SignedInPerson } from '../../../sessions/browser-sessions.ts'
import type { PageDeps } from '../deps.ts'
import type { Leave, Visit } from '../form-page.ts'

interface NewPasskey extends MessageCause {
  person: SignedInPerson
  credential: string
  name: string
}

interface WayOn extends Pick<Visit, 'request' | 'reply' | 'journey'> {
  goOn: Leave
  /** Where the page of the recovery codes leads. */
  backUrl: string
}

/**
 * Stores a passkey and renews the sign-in, which has just been proved by it; new recovery codes are shown on the way.
 */
export async function addPasskey(
  { person: { user, session }, ...added }: NewPasskey,
  { request, reply, journey: { uiLocales }, goOn, backUrl }: WayOn,
  { factors, passkeys }: { factors: FactorDeps; passkeys: Passkeys },
  { authorize, browser, pages }: PageDeps
): Promise<Leave> {
  const { recoveryCodes, proof } = await passkeys.add(
    { user, sid: session.sid, stays: browser.stay(request, reply, session.sid), ...added },
    { ...authorize.accounts, factors }
  )
  await browser.renew(request, reply, user.id, [
    ...session.methods.filter(({ method }) => method !== proof.method),
    proof
  ])
  if (recoveryCodes === null) return goOn
  return async () =>
    await pages.send(
      request,
      reply,
      'account_recovery_codes',
      { username: user.username, signedIn: true, codes: recoveryCodes, backUrl },
      { uiLocales }
    )
}
