import type { Feature } from '../../feature.ts'
import type { AuthorityOptions } from '../../settings/options.ts'
import { invalid } from '../../settings/option-error.ts'
import { ADMIN_OPTIONS, type AdminSettings, adminSettings } from './options.ts'

const NEVER_SHOWN = ['passwordHash', 'passwordChangedAt', 'emailProvedAt', 'version']

/** The administration of users, for people and machine clients that the host's `admin.allow` accepts. */
export const admin: Feature<AdminSettings> = {
  name: 'admin',
  options: ADMIN_OPTIONS,
  resolve({ admin: given, audit, pages }) {
    if (given === undefined) return null
    if (audit === undefined) throw invalid('audit', undefined, 'an AuditLog where admin is set: no act goes unrecorded')
    const hidden = given.fields?.find((name) => NEVER_SHOWN.includes(name))
    if (hidden !== undefined) throw invalid('admin.fields', hidden, 'fields without secrets')
    if (pages === false && given.pages === true)
      throw invalid('admin.pages', true, 'false, where there are no hosted pages')
    const settings = adminSettings(given)
    return { ...settings, pages: settings.pages && pages !== false }
  },
  notices: ({ admin: given }: AuthorityOptions) =>
    given === undefined
      ? []
      : [
          'the routes below /auth/admin find users by ids of at most 100 characters, unless the option ' +
            'maxParamLength of Fastify allows more.'
        ],
  load: async () => await import('./create.ts')
}
