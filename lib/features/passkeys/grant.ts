import type { Passkeys } from '../../accounts/factor-kinds.ts'
import { isFirstParty } from '../../clients/rights.ts'
import { OAuthError } from '../../errors.ts'
import { required, type TokenRequestParams } from '../../protocol/request-params.ts'
import type { GrantContext, GrantDeps, TokenResponse } from '../../oauth/deps.ts'
import { commitTokens } from '../../oauth/issue-tokens.ts'
import { grantedBy } from '../../oauth/target.ts'

/**
 * A sign-in by a passkey, for the host's own front ends: a client with the right to the password grant may use this
 * one. The passkey is both factors.
 * @throws OAuthError `invalid_grant`, in one text for all causes
 * @see RFC 6749 §4.5
 */
export async function passkeyGrant(
  params: TokenRequestParams<'credential'>,
  { client, origin }: GrantContext,
  deps: GrantDeps,
  passkeys: Passkeys
): Promise<TokenResponse> {
  const credential = required(params, 'credential')
  if (client === null && deps.passwordGrant !== 'first-party')
    throw new OAuthError('unauthorized_client', 'The passkey grant is for registered clients.')
  if (!isFirstParty(client))
    throw new OAuthError('unauthorized_client', 'The passkey grant is for first-party clients.')
  const granted = grantedBy(params, client, deps)
  const { user, proof, confirm } = await passkeys.proveAlone({
    credential,
    clientId: client?.clientId ?? null,
    origin,
    locale: undefined
  })
  return await commitTokens(
    { user, by: 'passkey', client, methods: [proof], ...granted, origin, grantType: 'passkey' },
    async () => {
      if ((await confirm()) === null) throw new OAuthError('invalid_grant', 'The passkey was not accepted.')
      return null
    },
    deps
  )
}
