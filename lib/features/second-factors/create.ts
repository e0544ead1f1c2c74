import { factorEndpoints } from './endpoints.ts'
import { passkeyEndpoints } from './endpoints-passkeys.ts'
import { secondFactorLinkPage } from './pages/second-factor-link.ts'
import { secondFactorPage } from './pages/second-factor.ts'
import { securityPages } from './pages/security.ts'
import { setUpSecondFactorPage } from './pages/set-up-second-factor.ts'
import { passkeyPromptPage } from './pages/add-passkey.ts'
import { hasFactor } from '../../protocol/second-factors.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import type { FactorDeps } from '../../accounts/factors/deps.ts'
import { grant } from '../../oauth/deps.ts'
import { enrolmentRequired, mfaGrant, mfaRequired } from './mfa-grant.ts'
import { passkeyGrant } from './passkey-grant.ts'
import { MFA_GRANT, PASSKEY_GRANT } from './grants.ts'
import { isFromBeforeRequirement } from '../../accounts/factors/policy.ts'
import { beginWithFactors, openPageStep } from './begin-with-factors.ts'
import { isRememberedIn } from '../../accounts/factors/remembered-devices.ts'
import { isRecentEnough } from '../../accounts/fresh-sign-in.ts'
import type { AskedOf, MissingStep } from '../../authorize/deps.ts'
import type { Kernel, Parts } from '../../feature.ts'
import { contextOf, hasProvedSecond, MFA_ACR, provedSince, withCode } from '../../protocol/authentication.ts'
import type { SignedInPerson } from '../../sessions/browser-sessions.ts'

export function create(_on: true, { accounts: { factors, ...kernel } }: Kernel): Parts {
  if (factors === null) return {}
  const accounts = { ...kernel, factors }
  const { store, passkeys } = factors
  return {
    account: {
      afterFirstFactor: async (...sign) => await beginWithFactors(...sign, accounts),
      stepOf: async (ticket) => await openPageStep(ticket, accounts),
      factors: async (userId) => await store.findFactors(userId),
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
    authorize: { missing: async (person, asked) => await missingStep(person, asked, accounts) }
  }
}

type WithFactors = Pick<AccountsDeps, 'clock'> & { factors: FactorDeps }

/**
 * The step that is missing by the client's requirement or by the host's policy. The signed-in person is asked in the
 * session that they have: no other name is taken, and a host's own sign-in page needs no second factor of its own.
 * Rejects if a hook or a store fails.
 */
async function missingStep(
  { session, user }: SignedInPerson,
  { request: { maxAge }, client, possible, authentication, remembered, now }: AskedOf,
  { clock, factors }: WithFactors
): Promise<MissingStep> {
  const byClient = authentication === null && possible?.includes(MFA_ACR) === true
  const byHost =
    factors.policy.required !== null &&
    !hasProvedSecond(session) &&
    (await factors.policy.required(user, client.clientId))
  if (!byClient && !byHost) return null
  const found = await factors.store.findFactors(user.id)
  if (!hasFactor(found)) {
    if (!byHost) return null
    return isRecentEnough(session, now) ? 'enrolment' : 'sign_in'
  }
  // The host requires the factor, and a remembered browser is exempt from that.
  if (!byClient && isRememberedIn(user, found, { remembered }, { clock, factors })) return null
  const isTooOld = maxAge !== undefined && now - provedSince(session) > maxAge * 1000
  const isEnough = !byClient || contextOf(withCode(session, now), possible ?? []) !== null
  return isEnough && !isTooOld ? 'second_factor' : byHost ? 'sign_in' : null
}
