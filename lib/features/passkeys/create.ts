import { ownerConnection } from '../../accounts/ways-in.ts'
import type { Kernel, Parts } from '../../feature.ts'
import { grant } from '../../oauth/deps.ts'
import { withFactors } from '../second-factors/deps.ts'
import { createPasskeys } from './add-passkey.ts'
import { passkeyEndpoints } from './endpoints.ts'
import type { FactorSettings } from '../second-factors/options.ts'
import { PASSKEY_GRANT, type PasskeySettings } from './options.ts'
import { passkeyGrant } from './grant.ts'
import { passkeyPage, passkeyPromptPage } from './pages/add.ts'
import { passkeyPart } from './pages/sign-in.ts'

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
      routes(child, deps) {
        if (passkeys.prompt) passkeyPromptPage(child, deps, pages)
        if (deps.offers.account) passkeyPage(child, deps, pages)
      },
      part: (deps) => passkeyPart(deps, pages)
    }
  }
}
