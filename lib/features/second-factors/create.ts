import { factorEndpoints } from './endpoints.ts'
import { passkeyEndpoints } from './endpoints-passkeys.ts'
import { secondFactorLinkPage } from './pages/second-factor-link.ts'
import { secondFactorPage } from './pages/second-factor.ts'
import { securityPages } from './pages/security.ts'
import { setUpSecondFactorPage } from './pages/set-up-second-factor.ts'
import { passkeyPromptPage } from './pages/add-passkey.ts'
import { grant } from '../../oauth/deps.ts'
import { enrolmentRequired, mfaGrant, mfaRequired } from './mfa-grant.ts'
import { passkeyGrant } from './passkey-grant.ts'
import { MFA_GRANT, PASSKEY_GRANT } from './grants.ts'
import { isFromBeforeRequirement } from '../../accounts/factors/policy.ts'
import { accountSlots } from './account.ts'
import { authorizeSlots } from './authorize.ts'
import { beginWithFactors, openPageStep } from './begin-with-factors.ts'
import type { Kernel, Parts } from '../../feature.ts'

export function create(_on: true, { accounts: { factors, ...kernel } }: Kernel): Parts {
  if (factors === null) return {}
  const accounts = { ...kernel, factors }
  const { passkeys } = factors
  return {
    account: {
      afterFirstFactor: async (...sign) => await beginWithFactors(...sign, accounts),
      stepOf: async (ticket) => await openPageStep(ticket, accounts),
      ...accountSlots(accounts),
      requiresMore: async (user, methods) => await isFromBeforeRequirement(user, methods, factors.policy, accounts)
    },
    tokens: {
      async beforeTokens(first, call, at) {
        const needed = await mfaRequired(first, call, accounts)
        return needed ?? (at === 'commit' ? null : await enrolmentRequired(first, call, accounts))
      }
    },
    grants: [
      grant({
        ...MFA_GRANT,
        isOn: ({ passwordGrant, exchange }) => passwordGrant !== false || exchange,
        handle: async (...request) => await mfaGrant(...request, accounts)
      }),
      ...(passkeys === null
        ? []
        : [
            grant({
              ...PASSKEY_GRANT,
              isOn: ({ passwordGrant }) => passwordGrant !== false,
              handle: async (...request) => await passkeyGrant(...request, { passkeys, accounts })
            })
          ])
    ],
    endpoints: [...factorEndpoints(accounts), ...(passkeys === null ? [] : passkeyEndpoints(factors, passkeys))],
    pages: {
      routes(child, deps) {
        secondFactorPage(child, deps, factors)
        passkeyPromptPage(child, deps)
        secondFactorLinkPage(child, deps, factors)
        setUpSecondFactorPage(child, deps, factors)
      },
      part: (deps) => ({
        account: {
          security: {
            path: 'security',
            add(child) {
              securityPages(child, deps, factors)
            }
          }
        }
      })
    },
    authorize: authorizeSlots(accounts)
  }
}
