import type { FastifyServerOptions } from 'fastify'
import Database from 'libsql'
import {
  type AuditEntry,
  type AuditLog,
  type AuthorityOptions,
  memoryAudit,
  postgresAudit,
  sqliteAudit
} from '../../../lib/index.ts'
import { signUp, testApp } from '../../support/app.ts'
import { sharedPostgres } from '../../support/shared-postgres.ts'
import type { Test } from '../../support/tap.ts'

/** An audit log, and functions that change its table directly. */
export interface Subject {
  log: AuditLog
  /** Runs SQL on the table, without the trigger that forbids changes. */
  tamper?(sql: string): Promise<void>
  /** The plan of a query. */
  steps?(sql: string): Promise<string>
  /** Runs SQL on the table, with the trigger. */
  sql?(sql: string): Promise<void>
  /** Another log on the same table. It calls `before` before each statement. */
  another?(before: () => void): AuditLog
}

type Make = (t: Test) => Promise<Subject>
export const SUBJECTS: Record<'memory' | 'sqlite' | 'postgres', Make> = {
  memory: async () => ({ log: memoryAudit() }),
  async sqlite(t) {
    const db = new Database(':memory:')
    t.teardown(() => db.close())
    const log = sqliteAudit(db)
    await log.prepare?.()
    const sql = async (text: string): Promise<void> => {
      db.exec(text)
    }
    return {
      log,
      sql,
      another: (before) =>
        sqliteAudit({
          exec: (text) => db.exec(text),
          prepare(text) {
            const statement = db.prepare(text)
            return Object.assign(Object.create(statement), {
              all(...values: unknown[]) {
                before()
                return statement.all(...values)
              }
            })
          }
        }),
      steps: async (text) => JSON.stringify(db.prepare(`EXPLAIN QUERY PLAN ${text}`).all()),
      async tamper(text) {
        await sql('DROP TRIGGER IF EXISTS authority_audit_stays')
        await sql('DROP TRIGGER IF EXISTS authority_audit_address_stays')
        await sql(text)
      }
    }
  },
  async postgres(t) {
    const pool = (await (await sharedPostgres(t)).database()).pool({ max: 4 })
    const log = postgresAudit(pool, { schema: 'auth' })
    await log.prepare?.()
    const sql = async (text: string): Promise<void> => {
      await pool.query(text.replaceAll(' authority_audit ', ' auth.authority_audit '))
    }
    return {
      log,
      sql,
      another: (before) =>
        postgresAudit(
          {
            async query(text, values) {
              before()
              return await pool.query(text, values)
            }
          },
          { schema: 'auth' }
        ),
      async tamper(text) {
        await sql('ALTER TABLE auth.authority_audit DISABLE TRIGGER USER')
        await sql(text)
      }
    }
  }
}

/** An entry with placeholder values. */
export const entry = (changes: Partial<AuditEntry> = {}): AuditEntry => ({
  chain: 'one',
  seq: 1,
  at: 1000,
  action: 'user_disabled',
  outcome: 'done',
  actor: { type: 'host', id: 'app' },
  target: { type: 'user', id: 'u1' },
  clientId: null,
  sid: null,
  requestId: 'r1',
  ip: null,
  ipMac: null,
  details: { reason: 'a “quoted” reason', of: 1 },
  mac: 'm',
  ...changes
})

/** All entries, the oldest first. */
export async function allOf(log: AuditLog): Promise<AuditEntry[]> {
  const found: AuditEntry[] = []
  let after: string | null | undefined
  do {
    const page = await log.list({ limit: 7, ...(typeof after === 'string' ? { after } : {}) })
    found.push(...page.entries)
    after = page.next
  } while (after !== null)
  return found.toReversed()
}

/** A service with this log. */
export async function audited(
  t: Test,
  log: AuditLog,
  options: Partial<AuthorityOptions> = {},
  server: FastifyServerOptions = {}
) {
  const test = await testApp(
    { audit: { log, events: 'all' }, secret: 'a secret of more than 32 bytes, for tests', ...options },
    server
  )
  t.teardown(test.close)
  const ann = await signUp(test.app, 'ann@example.com')
  return { ...test, ann, users: test.app.authority.users }
}
