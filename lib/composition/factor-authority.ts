import { makeEnrolmentLink } from '../accounts/factors/enrolment-link.ts'
import { listFactors, removeFactor, resetFactors } from '../accounts/factors/manage-factors.ts'
import { type ProvingDeps } from '../accounts/factors/prove-factor.ts'
import { appsOf } from '../accounts/ways-in.ts'
import { forgetDevices } from '../accounts/factors/remembered-devices.ts'
import { OAuthError } from '../errors.ts'
import { NO_REQUEST } from '../events.ts'
import type { User } from '../ports/user-store.ts'
import { badOption } from '../settings/option-error.ts'
import type { Authority } from './authority.ts'

/** The methods of `app.authority` for second factors. */
export type FactorAuthority = Pick<
  Authority,
  'factors' | 'removeFactor' | 'resetFactors' | 'startEnrolment' | 'importTotp' | 'forgetDevices'
>

interface Parts {
  /** @throws OAuthError `invalid_grant` if there is no such user */
  existing(userId: string): Promise<User>
  adminOf(options: { by?: string | undefined } | undefined): string | undefined
  /** The address of a link to set a factor up. `null` without pages. */
  enrolmentUrl: ((token: string) => string) | null
}

export function factorAuthority(deps: ProvingDeps, { existing, adminOf, enrolmentUrl }: Parts): FactorAuthority {
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
      if (enrolmentUrl === null)
        throw badOption('pages', 'got false; app.authority.startEnrolment needs the page that its link leads to')
      const { token, expiresAt } = await makeEnrolmentLink(await existing(userId), deps)
      return { url: enrolmentUrl(token), expiresAt: new Date(expiresAt) }
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
