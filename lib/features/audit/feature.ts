import type { Feature } from '../../feature.ts'
import { AUDIT_OPTIONS, type AuditSettings, auditSettings } from './options.ts'

/** A log of who did what. */
export const audit: Feature<AuditSettings> = {
  name: 'audit',
  options: AUDIT_OPTIONS,
  resolve: ({ audit: given }) => (given === undefined ? null : auditSettings(given)),
  load: async () => await import('./create.ts')
}
