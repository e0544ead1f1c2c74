import { type TSchema, Type } from '@sinclair/typebox'
import type { AuditLog } from '../../ports/audit-log.ts'
import { filled, type Given, integer, oneOf, option, required, section } from '../../settings/schema-words.ts'

const LOG_TAKES = 'an AuditLog, such as memoryAudit(), sqliteAudit(db) or postgresAudit(pool)'
const aFunction = Type.Function([], Type.Unknown(), { takes: 'a function' })
/** Distinguishes a log from an object of options: only a log has the method `append`. */
const LOG: TSchema = Type.Object({ append: aFunction }, { takes: LOG_TAKES })

const AUDIT = {
  /** The store of the entries. */
  log: required(option<AuditLog>(LOG)),
  /**
   * The recorded actions. `admin`: actions of administrators. `security`: also sign-ins, account changes, consents and
   * signing keys. `all`: also frequent events, such as issued tokens, rate limits and messages.
   */
  events: oneOf(['admin', 'security', 'all'], { default: 'security' }),
  /** Days until an entry is deleted. */
  retainDays: integer(1, 36_500, { default: 400 }),
  /** Days until the IP address in an entry is deleted. */
  addressDays: integer(0, 36_500, { default: 90 })
}

/** The options of the audit log. */
export interface AuditOptions extends Given<Omit<typeof AUDIT, 'log'>> {
  /** The store of the entries. */
  log: AuditLog
}

export type AuditSettings = ReturnType<typeof auditSettings>

export function auditSettings(given: AuditLog | AuditOptions) {
  const options = 'log' in given ? given : { log: given }
  return { ...filled(AUDIT, options), log: options.log }
}

export const AUDIT_OPTIONS = {
  /**
   * The audit log: a store, or an object of options with a store. Apart from the reasons that administrators write,
   * entries contain no usernames and no email addresses. An administrator's action fails if its entry can't be written.
   * See the guide on the audit log.
   */
  audit: option<AuditLog | AuditOptions>(
    Type.Union([LOG, section(AUDIT, { takes: '{ log, events, retainDays, addressDays }' })], {
      takes: `${LOG_TAKES}, or { log, events, retainDays, addressDays }`,
      otherwise: 'none'
    })
  )
}

export interface AuditOption extends Given<typeof AUDIT_OPTIONS> {}
