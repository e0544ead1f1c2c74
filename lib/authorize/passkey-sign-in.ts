import { beginSession } from '../accounts/begin-session.ts'
import type { SessionBegun } from '../accounts/slots.ts'
import type { FactorDeps } from '../accounts/factors/deps.ts'
import type { GivenCredential, Passkeys } from '../accounts/factors/passkeys.ts'
import { OAuthError } from '../errors.ts'
import type { Browser } from '../sessions/browser-sessions.ts'
import type { AuthorizeDeps } from './deps.ts'

interface PasskeySignIn {
  credential: GivenCredential
  clientId: string | null
  locale: string | undefined
}

/**
 * Signs in, in this browser, the user who has answered `signInOptions` by a passkey of theirs. Nothing else is asked.
 * @throws OAuthError `invalid_grant`, one text for all causes (see `Passkeys.proveAlone`); `temporarily_unavailable`
 */
export async function signInByPasskey(
  { credential, clientId, locale }: PasskeySignIn,
  browser: Browser,
  passkeys: Passkeys,
  deps: AuthorizeDeps & { accounts: { factors: FactorDeps } }
): Promise<SessionBegun> {
  const { user, proof, confirm } = await passkeys.proveAlone(
    { credential, clientId, locale, origin: browser.origin },
    deps.accounts
  )
  const begun = await beginSession({ user, by: 'passkey', methods: [proof], clientId, confirm }, browser, deps)
  if (begun === null || 'ticket' in begun)
    throw new OAuthError('invalid_grant', 'The passkey was not accepted.', {
      field: 'credential',
      reason: 'passkey_refused'
    })
  return begun
}
