/** B12 The required rights of a role, and the start error that names a missing one. */
import type { Pool } from 'pg'
import t from '../support/tap.ts'
import { recordRights } from '../../lib/adapters/postgres/record-tables.ts'
import { postgresState } from '../../lib/adapters/postgres/record-store.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { operations, userOf } from './support/state-records.ts'

const INVALID_OPTIONS = { name: 'StartError', code: 'FST_AUTHORITY_INVALID_OPTIONS' }

const server = await startPostgres()
t.teardown(async () => {
  await server.stop()
})
const STATE_RIGHTS = recordRights('authority_records')
let roles = 0

/** Tables that another role made, and a role with the given rights on them. */
async function stage(
  rights: Readonly<Record<string, readonly string[]>>,
  settings = ''
): Promise<{ pool: Pool; owner: Pool }> {
  const database = await server.database()
  const owner = database.pool()
  await postgresState(owner).prepare()
  const role = `limited_${++roles}`
  await owner.query(`CREATE ROLE ${role} LOGIN`)
  for (const [table, privileges] of Object.entries(rights))
    if (privileges.length > 0) await owner.query(`GRANT ${privileges.join(', ')} ON ${table} TO ${role}`)
  if (settings !== '') await owner.query(`ALTER ROLE ${role} SET ${settings}`)
  return { pool: database.pool({ user: role }), owner }
}

// covers B12
t.test('runs every state operation with the documented PostgreSQL rights', async (t) => {
  const { pool } = await stage(STATE_RIGHTS)
  const state = postgresState(pool)
  await state.prepare()
  for (const [name, call] of operations(state, userOf('1'))) await t.resolves(call(), name)
  await t.resolves(state.claimFor('https://a.example'))
  await t.resolves(Promise.resolve(state.sweep(Date.now() * 2)), 'sweep')
})

// covers B12
t.test('names each missing right of the PostgreSQL role in prepare', async (t) => {
  const { pool, owner } = await stage(STATE_RIGHTS)
  const {
    rows: [row]
  } = await pool.query<{ current_user: string }>('SELECT current_user')
  const role = row?.current_user ?? ''
  for (const [table, rights] of Object.entries(STATE_RIGHTS)) {
    // Without this right the tables look missing, which the error reports as before.
    if (table === 'authority_migrations') continue
    for (const right of rights) {
      await owner.query(`REVOKE ${right} ON ${table} FROM ${role}`)
      await t.rejects(
        postgresState(pool).prepare(),
        { ...INVALID_OPTIONS, message: new RegExp(`${right} on ${table}`) },
        `${right} on ${table}`
      )
      await owner.query(`GRANT ${right} ON ${table} TO ${role}`)
    }
  }
  await t.resolves(postgresState(pool).prepare())
})

// covers B12
t.test('refuses to start with a read-only role', async (t) => {
  const { pool } = await stage(STATE_RIGHTS, 'default_transaction_read_only = on')
  await t.rejects(postgresState(pool).prepare(), { ...INVALID_OPTIONS, message: /read only/ })
})

// covers B12
t.test('names in prepare a function that the PostgreSQL role may not call', async (t) => {
  for (const name of ['authority_records_commit', 'authority_records_replace', 'authority_records_sweep']) {
    const { pool, owner } = await stage(STATE_RIGHTS)
    await owner.query(
      `DO $$ DECLARE f regprocedure; BEGIN FOR f IN SELECT oid FROM pg_proc WHERE proname = '${name}' ` +
        "LOOP EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || f || ' FROM PUBLIC'; END LOOP; END $$"
    )
    await t.rejects(postgresState(pool).prepare(), { ...INVALID_OPTIONS, message: new RegExp(name) })
  }
})

// covers B12
t.test('leaves no record behind after parallel calls of prepare', async (t) => {
  const { pool, owner } = await stage(STATE_RIGHTS)
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      await postgresState(pool).prepare()
    })
  )
  const {
    rows: [row]
  } = await owner.query<{ count: number }>('SELECT count(*)::integer AS count FROM authority_records')
  t.equal(row?.count, 0)
})
