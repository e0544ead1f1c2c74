import type { Kernel, Parts } from '../../feature.ts'
import { grant } from '../../oauth/deps.ts'
import { accountSlots } from './account.ts'
import { factorAuthority } from './authority.ts'
import { authorizeSlots } from './authorize.ts'
import { withFactors } from './deps.ts'
import { factorEndpoints } from './endpoints.ts'
import { type FactorSettings, MFA_GRANT } from './options.ts'
import { enrolmentRequired, mfaGrant, mfaRequired } from './mfa-grant.ts'
import { secondFactorLinkPage } from './pages/second-factor-link.ts'
import { secondFactorPage } from './pages/second-factor.ts'
import { securityPage } from './pages/security.ts'
import { setUpSecondFactorPage } from './pages/set-up-second-factor.ts'
import { beginWithFactors, openPageStep } from './second-step.ts'
import { isFromBeforeRequirement } from './two-step.ts'

export function create(on: FactorSettings, kernel: Kernel): Parts {
  const accounts = withFactors(on, kernel)
  return {
    account: {
      afterFirstFactor: async (...sign) => await beginWithFactors(...sign, accounts),
      stepOf: async (ticket) => await openPageStep(ticket, accounts),
      ...accountSlots(accounts),
      requiresMore: async (user, methods) =>
        await isFromBeforeRequirement(user, methods, accounts.factors.policy, accounts)
    },
    authorize: authorizeSlots(accounts),
    authority: (calls) => factorAuthority(accounts, calls),
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
      })
    ],
    endpoints: factorEndpoints(accounts),
    pages: {
      routes(child, deps) {
        secondFactorPage(child, deps, accounts)
        secondFactorLinkPage(child, deps, accounts)
        setUpSecondFactorPage(child, deps, accounts)
      },
      part: (deps) => ({
        account: {
          security: {
            path: 'security',
            add(child) {
              securityPage(child, deps, accounts)
            }
          }
        }
      })
    }
  }
}
