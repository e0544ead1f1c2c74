import { countedName } from '../../accounts/username.ts'
import { factorsOf } from '../../accounts/ways-in.ts'
import { confirmAuthentic, proveByPassword } from '../../accounts/authenticate-password.ts'
import { isFirstParty } from '../../clients/rights.ts'
import { OAuthError } from '../../errors.ts'
import { passwordProof } from '../../protocol/authentication.ts'
import { required, type TokenRequestParams } from '../../protocol/request-params.ts'
import { grant } from '../deps.ts'
import { grantedBy } from '../target.ts'
import type { GrantCall, GrantDeps, TokenResponse } from '../deps.ts'
import { commitTokens } from '../issue-tokens.ts'

/**
 * The resource owner password credentials grant, for the host's own front ends. RFC 9700 §2.4 forbids this grant, with
 * third parties in mind. `docs/adr` says why this service has it and how it is restricted.
 * @see RFC 6749 §4.3
 */
export const PASSWORD = grant({
  type: 'password',
  signsIn: 'password',
  clients: { firstParty: "nobody should tell a password to other people's programs" },
  isOn: ({ passwordGrant }) => passwordGrant !== false,
  params: { username: { bytes: 1024 }, password: { bytes: 16384 } },
  errors: ['invalid_grant', 'invalid_scope', 'mfa_enrollment_required', 'mfa_required'],
  what:
    'tokens for a username and password. `scope` narrows the grant; without it the client gets every scope ' +
    'that it may have. The answer has a refresh token and starts a session.',
  guess: ({ username }) => ({ rule: 'login', ...(username !== undefined && { account: countedName(username) }) }),
  handle: passwordGrant
})

async function passwordGrant(
  params: TokenRequestParams<'username' | 'password'>,
  call: GrantCall,
  deps: GrantDeps
): Promise<TokenResponse | OAuthError> {
  const { client, jkt, origin } = call
  const username = required(params, 'username')
  const password = required(params, 'password')
  if (client === null && deps.passwordGrant !== 'first-party')
    throw new OAuthError('unauthorized_client', 'The password grant is for registered clients.')
  if (!isFirstParty(client))
    throw new OAuthError('unauthorized_client', 'The password grant is for first-party clients.')
  const granted = grantedBy(params, client, deps)

  const clientId = client?.clientId ?? null
  const { user, factors } = await proveByPassword({ username, password, clientId, origin }, deps.accounts)
  const methods = [passwordProof(deps.accounts.clock.now())]
  const first = { user, by: 'password' as const, methods, ...granted }
  // The password was right, so the need for a second factor is returned, not thrown, and the attempt does not count as
  // a failure.
  const needed = await deps.beforeTokens({ ...first, factors }, call, 'sign_in')
  if (needed !== null) return needed
  return await commitTokens(
    { ...first, client, jkt, origin, grantType: 'password' },
    async () => {
      const [confirmed, now] = await Promise.all([
        confirmAuthentic(user, password, deps.accounts, { clientId, origin }),
        factorsOf(user, deps.accounts)
      ])
      if (confirmed === null) throw new OAuthError('invalid_grant', 'The username or password is wrong.')
      // Asks again, because the user may have turned two-step sign-in on since the first check. Turning it on ended
      // only the sign-ins that existed then.
      return await deps.beforeTokens({ ...first, factors: now }, call, 'commit')
    },
    deps
  )
}
