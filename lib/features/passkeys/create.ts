import { ownerConnection } from '../../accounts/ways-in.ts'
import type { Kernel, Parts } from '../../feature.ts'
import { grant, type GrantContext, type GrantDeps, type TokenResponse } from '../../oauth/deps.ts'
import { withFactors } from '../second-factors/deps.ts'
import { createPasskeys } from './add-passkey.ts'
import { passkeyEndpoints } from './endpoints.ts'
import type { FactorSettings } from '../second-factors/options.ts'
import { PASSKEY_GRANT, type PasskeySettings } from './options.ts'
import { passkeyPage, passkeyPromptPage } from './pages/add.ts'
import { RENDERERS } from './pages/renderers.ts'
import { passkeyPart } from './pages/sign-in.ts'
import { refusedPasskey } from './prove.ts'
import type { Passkeys } from '../../accounts/factor-kinds.ts'
import { isFirstParty } from '../../clients/rights.ts'
import { OAuthError } from '../../errors.ts'
import { required, type TokenRequestParams } from '../../protocol/request-params.ts'
import { commitTokens } from '../../oauth/issue-tokens.ts'
import { grantedBy } from '../../oauth/target.ts'

export function create(
  { factors, passkeys: on }: { factors: FactorSettings; passkeys: PasskeySettings },
  kernel: Kernel
): Parts {
  const accounts = withFactors(factors, kernel)
  const { relatedOrigins } = on
  const passkeys = createPasskeys(
    {
      ...on,
      origins: [new URL(accounts.issuer).origin, ...relatedOrigins],
      challengeKeys: kernel.keysFor('passkey challenges')
    },
    accounts
  )
  const pages = { accounts, passkeys }
  return {
    account: {
      passkeys,
      ways: async (user) =>
        ownerConnection(user, accounts) === null
          ? passkeys.alone(await accounts.factors.store.findFactors(user.id)).map(() => 'passkey')
          : []
    },
    grants: [
      grant({
        ...PASSKEY_GRANT,
        isOn: ({ passwordGrant }) => passwordGrant !== false,
        handle: async (...request) => await passkeyGrant(...request, passkeys)
      })
    ],
    endpoints: passkeyEndpoints(accounts, passkeys, relatedOrigins),
    pages: {
      passkeys: true,
      renderers: RENDERERS,
      routes(child, deps) {
        if (on.prompt) passkeyPromptPage(child, deps, pages)
        if (deps.offers.account) passkeyPage(child, deps, pages)
      },
      part: (deps) => passkeyPart(deps, pages)
    }
  }
}

/**
 * Signs a user in by a passkey, for the host's own front ends. The client needs the right to the password grant. A
 * passkey counts as both factors.
 * @throws OAuthError `invalid_grant` with one text for every refused passkey; `unauthorized_client`, `invalid_scope`
 * @see RFC 6749 §4.5
 */
export async function passkeyGrant(
  params: TokenRequestParams<'credential'>,
  { client, jkt, origin }: GrantContext,
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
    { user, by: 'passkey', client, jkt, methods: [proof], ...granted, origin, grantType: 'passkey' },
    async () => {
      if ((await confirm()) === null) throw refusedPasskey('the account changed meanwhile')
      return null
    },
    deps
  )
}
