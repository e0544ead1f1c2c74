import { signInByPasskey } from '../../authorize/sign-in.ts'
import { OAuthError } from '../../errors.ts'
import type { PageDeps, Submission, Visit } from './deps.ts'
import { queryParam } from './page-routes.ts'
import { leadOnFrom, signInBrowser } from './lead-on.ts'
import { passkeysOf } from './passkeys.ts'

/** A sign-in by a passkey alone, without a typed name. */
export function passkeySignIn(
  credential: string,
  { request, journey, locale }: Visit,
  deps: PageDeps
): Submission<never> {
  const on = passkeysOf(deps)
  if (on === null) throw new OAuthError('invalid_request', 'Passkeys are off.')
  const { authorize } = deps
  return {
    limit: 'failures',
    async work() {
      const clientId = queryParam(request, 'client_id')
      const begun = await signInByPasskey(
        { credential, clientId: clientId === '' ? null : clientId, locale },
        await signInBrowser(request, journey, deps),
        on.passkeys,
        { ...authorize, accounts: { ...authorize.accounts, factors: on.factors } }
      )
      return leadOnFrom(begun, { request, journey }, {}, deps)
    }
  }
}
