/** Runs the SQL of the administration guide, and compares this guide and the audit log guide with the code. */
import { readFileSync } from 'node:fs'
import Database from 'libsql'
import t, { type Test } from '../support/tap.ts'
import { postgresUserStore, sqliteUserStore, type UserStore } from '../../lib/index.ts'
import { AUDIT_ACTS, EVENT_NAMES } from '../../lib/events.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'

const read = (name: string): string => readFileSync(new URL(`../../docs/guides/${name}.md`, import.meta.url), 'utf8')
const guide = read('administration')
const statements = [...guide.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, sql = '']) => sql)

async function givesRole(t: Test, users: UserStore, run: () => Promise<unknown>): Promise<void> {
  const ann = await users.create?.({ username: 'ann@example.com', passwordHash: null, name: 'Ann' })
  const ben = await users.create?.({ username: 'ben@example.com', passwordHash: null })
  await run()
  const found = await users.findById(ann?.id ?? '')
  t.match(found, { username: 'ann@example.com', name: 'Ann', role: 'admin' })
  t.not(found?.version, ann?.version, 'an edit of the former row is refused')
  t.strictSame(await users.findById(ben?.id ?? ''), ben)
}

t.test('gives the administrator role by the documented SQL statement for SQLite', async (t) => {
  const db = new Database(':memory:')
  await givesRole(t, sqliteUserStore(db), async () => db.exec(statements[0] ?? ''))
})

t.test('gives the administrator role by the documented SQL statement for PostgreSQL', async (t) => {
  const pool = (await (await sharedPostgres(t)).database()).pool()
  await givesRole(t, postgresUserStore(pool), async () => await pool.query(statements[1] ?? ''))
})

t.test('gives support staff no scope for protected users in the example', async (t) => {
  const [, given = ''] = /const SUPPORT = \[([^\]]*)\]/.exec(guide) ?? []
  t.match(given, 'authority:users:read')
  t.notMatch(given, 'authority:protected')
  t.match(guide, 'scopes.filter((scope) => SUPPORT.includes(scope))')
})

t.test('lists the actions of the audit log in its guide, and no event that is never recorded', async (t) => {
  const [, section = ''] = read('audit-log').split(/^## Actions$/m)
  const [actions = ''] = section.split(/^## /m)
  const never = ['hash_queue_full', 'store_degraded', 'audit_degraded']
  t.strictSame(
    [...EVENT_NAMES, ...AUDIT_ACTS].filter((name) => actions.includes(`\`${name}\``) === never.includes(name)),
    []
  )
})
