import { appsOf, type ProvingDeps } from './deps.ts'
import { makeEnrolmentLink } from './enrolment-link.ts'
import { listFactors, removeFactor, resetFactors } from './manage-factors.ts'
import { forgetDevices } from './remembered-devices.ts'
import { OAuthError } from '../../errors.ts'
import { NO_REQUEST } from '../../events.ts'
import type { Authority, AuthorityCalls, FactorMethod } from '../../composition/authority.ts'

/** The methods of `app.authority` for second factors. */
export function factorAuthority(
  deps: ProvingDeps,
  { adminOf, existing, pageFor }: AuthorityCalls
): Pick<Authority, FactorMethod> {
  return {
    async factors(userId) {
      const listed = await listFactors(userId, deps)
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
