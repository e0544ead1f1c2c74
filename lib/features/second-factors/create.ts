import { timeOf } from '../../accounts/export-user.ts'
import type { Kernel, Parts } from '../../feature.ts'
import { grant } from '../../oauth/deps.ts'
import { accountSlots, authorizeSlots } from './answers.ts'
import { appsOf, passkeysOf, type ProvingDeps, withFactors } from './deps.ts'
import { factorEndpoints } from './endpoints.ts'
import { type FactorSettings, MFA_GRANT } from './options.ts'
import { enrolmentRequired, mfaGrant, mfaRequired } from './mfa-grant.ts'
import { secondFactorLinkPage } from './pages/enrolment.ts'
import { secondFactorPage } from './pages/second-factor.ts'
import { RENDERERS } from './pages/renderers.ts'
import { securityPage } from './pages/security.ts'
import { setUpSecondFactorPage } from './pages/set-up-second-factor.ts'
import { beginWithFactors, forgetDevices, openPageStep } from './second-step.ts'
import { hasFactor } from '../../protocol/second-factors.ts'
import { isFromBeforeRequirement, twoStepNow } from './two-step.ts'
import { makeEnrolmentLink } from './enrolment-link.ts'
import { listFactors, removeFactor, resetFactors } from './manage-factors.ts'
import { OAuthError } from '../../errors.ts'
import { NO_REQUEST } from '../../events.ts'
import type { Authority } from '../../composition/authority.ts'
import type { AuthorityCalls } from '../../feature.ts'

export function create(on: FactorSettings, kernel: Kernel): Parts {
  const accounts = withFactors(on, kernel)
  return {
    account: {
      afterFirstFactor: async (...sign) => await beginWithFactors(...sign, accounts),
      stepOf: async (ticket) => await openPageStep(ticket, accounts),
      ...accountSlots(accounts),
      async exported(user) {
        const { factors, recoveryCodesLeft } = await listFactors(user.id, accounts)
        return {
          factors: factors.map(({ id, kind, name, createdAt, lastUsedAt }) => ({
            id,
            kind,
            name,
            created_at: timeOf(createdAt),
            last_used_at: timeOf(lastUsedAt)
          })),
          recovery_codes_left: recoveryCodesLeft
        }
      },
      removeFactor: async (removal) => {
        await removeFactor({ ...removal, by: 'host', keepsWayIn: true, locale: undefined }, accounts)
      },
      requiresMore: async (user, methods) =>
        await isFromBeforeRequirement({ user, methods }, accounts.factors, accounts)
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
      renderers: RENDERERS,
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
            },
            states: async ({ user }) => {
              const found = await accounts.factors.store.findFactors(user.id)
              return {
                passkeys: passkeysOf(accounts) === null ? null : found.passkeys.length,
                twoStep: hasFactor(found) && (await twoStepNow(user, found, accounts)).on
              }
            }
          }
        }
      })
    }
  }
}

/** The methods of `app.authority` for second factors. */
export function factorAuthority(
  deps: ProvingDeps,
  { adminOf, existing, idOf, pageFor }: AuthorityCalls
): Partial<Authority> {
  return {
    async factors(userId) {
      const listed = await listFactors(idOf(userId), deps)
      return {
        ...listed,
        factors: listed.factors.map((factor) => ({
          ...factor,
          createdAt: new Date(factor.createdAt),
          lastUsedAt: factor.lastUsedAt === null ? null : new Date(factor.lastUsedAt)
        }))
      }
    },
    async removeFactor(userId, factorId, options) {
      try {
        await removeFactor(
          {
            user: await existing(userId),
            factorId,
            by: 'host',
            admin: adminOf(options),
            locale: undefined,
            origin: NO_REQUEST
          },
          deps
        )
        return true
      } catch (error) {
        if (error instanceof OAuthError && error.error === 'not_found') return false
        throw error
      }
    },
    resetFactors: async (userId, options) => await resetFactors(await existing(userId), adminOf(options), deps),
    async startEnrolment(userId) {
      const page = pageFor('startEnrolment', 'secondFactorLink')
      const { token, expiresAt } = await makeEnrolmentLink(await existing(userId), deps)
      return { url: `${page}?token=${token}`, expiresAt: new Date(expiresAt) }
    },
    async importTotp(userId, app) {
      const apps = appsOf(deps)
      if (apps === null) throw new OAuthError('not_found', 'There are no authenticator apps here.')
      return await apps.import(await existing(userId), app)
    },
    async forgetDevices(userId) {
      await forgetDevices(await existing(userId), { by: 'host', origin: NO_REQUEST }, deps)
    }
  }
}
