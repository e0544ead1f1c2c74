import { type TSchema, Type } from '@sinclair/typebox'
import type { AuditLog } from '../../ports/audit-log.ts'
import { filled, type Given, integer, oneOf, option, required, section } from '../../settings/schema-words.ts'

const LOG_TAKES = 'an AuditLog, such as memoryAudit(), sqliteAudit(db) or postgresAudit(pool)'
const aFunction = Type.Function([], Type.Unknown(), { takes: 'a function' })
/** The method by which a log is told from options. */
const LOG: TSchema = Type.Object({ append: aFunction }, { takes: LOG_TAKES })

const AUDIT = {
  /** The log. */
  log: required(option<AuditLog>(LOG)),
  /**
   * The entries: `admin`: acts of administrators. `security`: also sign-ins and changes of accounts. `all`: also
   * refreshes and messages.
   */
  events: oneOf(['admin', 'security', 'all'], { default: 'security' }),
  /** Days for which entries stay. */
  retainDays: integer(1, 36_500, { default: 400 }),
  /** Days for which the addresses of requests stay. */
  addressDays: integer(0, 36_500, { default: 90 })
}

/** A log of who did what. */
export interface AuditOptions extends Given<Omit<typeof AUDIT, 'log'>> {
  /** The log. */
  log: AuditLog
}

export type AuditSettings = ReturnType<typeof auditSettings>

export function auditSettings(given: AuditLog | AuditOptions) {
  const options = 'log' in given ? given : { log: given }
  return { ...filled(AUDIT, options), log: options.log }
}

export const AUDIT_OPTIONS = {
  /**
   * A log of who did what, with no name and no address of a mailbox: a log, or an object with one. Without an entry in
   * it no administrator acts. The guide on the audit log explains it.
   */
  audit: option<AuditLog | AuditOptions>(
    Type.Union([LOG, section(AUDIT, { takes: '{ log, events, retainDays, addressDays }' })], {
      takes: `${LOG_TAKES}, or { log, events, retainDays, addressDays }`,
      otherwise: 'none'
    })
  )
}

export interface AuditOption extends Given<typeof AUDIT_OPTIONS> {}
