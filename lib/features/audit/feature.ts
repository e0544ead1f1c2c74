import type { Feature } from '../../feature.ts'
import type { AuthorityOptions } from '../../settings/options.ts'
import { AUDIT_OPTIONS, type AuditSettings, auditSettings } from './options.ts'

/** The audit log: records which user, client or administrator did what. */
export const audit: Feature<AuditSettings> = {
  name: 'audit',
  options: AUDIT_OPTIONS,
  resolve: ({ audit: given }) => (given === undefined ? null : auditSettings(given)),
  notices: ({ audit: given, secret }: AuthorityOptions) =>
    given === undefined || secret !== undefined || auditSettings(given).log.durable !== true
      ? []
      : [
          'the audit log is chained with a key of this process, so nobody can verify its entries after a restart. ' +
            'Set the option secret.'
        ],
  off: {
    async verifyAudit() {
      throw new TypeError('app.authority: there is no log without the option audit.')
    }
  },
  load: async () => await import('./create.ts')
}
