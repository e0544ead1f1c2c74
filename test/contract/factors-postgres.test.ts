import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import t from '../support/tap.ts'
import { postgresFactorStore, postgresState } from '../../lib/adapters/postgres/record-store.ts'
import { recordRights } from '../../lib/adapters/postgres/record-tables.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { ALICE, BOB, NOTHING, passkeyAddition, passkeyUse, totp, totpAddition } from './suites/factor-fixtures.ts'
import { factorStoreContract } from './suites/factor-store-contract.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { factorOperations, leftOut } from './support/factor-operations.ts'

const server = await startPostgres()
t.teardown(async () => {
  await server.stop()
})
const TABLE = 'authority_factor_records'
const RIGHTS = recordRights(TABLE)
// Several connections, because calls on one connection can't race.
const pool = (await server.database()).pool({ max: 20 })

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)
const store = postgresFactorStore(pool)
await store.prepare()
const emptied = async (): Promise<void> => {
  await pool.query(`TRUNCATE ${TABLE}`)
}

runContract(
  factorStoreContract(async () => {
    await emptied()
    return { store }
  }),
  test('postgres')
)
t.test(
  'postgres: runs one or two statements per operation',
  { skip: !server.hasStatements && 'pg_stat_statements is not installed' },
  async (t) => {
    const own = (await server.database()).pool()
    const counted = postgresFactorStore(own)
    await counted.prepare()
    await own.query('CREATE EXTENSION pg_stat_statements')
    const count = async (): Promise<number> =>
      Number(
        (
          await own.query(
            'SELECT coalesce(sum(calls), 0) AS calls FROM pg_stat_statements s JOIN pg_database d ON ' +
              'd.oid = s.dbid WHERE d.datname = current_database() AND query NOT LIKE ' +
              "'%pg_stat_statements%'"
          )
        ).rows[0].calls
      )
    t.strictSame(leftOut(counted), [])
    for (const [name, call] of factorOperations(counted)) {
      const before = await count()
      await call()
      // A remembered record needs one trip for a change. A refusal is read again, and a first record is read before it
      // is written.
      const trips = /^claimHandle|, (full|duplicate|replayed|last)$/.test(name) ? [1, 2] : [1]
      t.ok(trips.includes((await count()) - before), name)
    }
  }
)

t.test('postgres: creates its tables in the given schema, also when instances start together', async (t) => {
  const own = (await server.database()).pool({ max: 8 })
  const stores = Array.from({ length: 8 }, () => postgresFactorStore(own, { schema: 'people' }))
  await Promise.all(
    stores.map(async (one) => {
      await one.prepare()
    })
  )
  for (const [name, call] of factorOperations(postgresFactorStore(own, { schema: 'people', namedStatements: false })))
    await t.resolves(call(), name)
  const { rows } = await own.query(
    "SELECT DISTINCT table_schema AS schema FROM information_schema.tables WHERE table_name LIKE 'authority%'"
  )
  t.same(rows, [{ schema: 'people' }])
  const { rows: left } = await own.query('SELECT DISTINCT kind FROM people.authority_factor_records ORDER BY kind')
  t.same(left, [{ kind: 'factors' }, { kind: 'passkey_claim' }], 'prepare leaves nothing behind')
  t.throws(() => postgresFactorStore(own, { schema: 'a"b' }), TypeError)
})

t.test('postgres: refuses a database of an incompatible newer release only', async (t) => {
  const own = (await server.database()).pool()
  const [state, factors] = [postgresState(own), postgresFactorStore(own)]
  await Promise.all([state.prepare(), factors.prepare()])
  await t.resolves(postgresState(own).prepare())
  const component = `records:${TABLE}`
  const { rows } = await own.query('SELECT version, min_reader FROM authority_migrations WHERE component = $1', [
    component
  ])
  t.same(rows, [{ version: 1, min_reader: 1 }])
  await own.query('INSERT INTO authority_migrations (component, version, min_reader) VALUES ($1, 2, 1)', [component])
  await t.resolves(postgresFactorStore(own).prepare())
  await own.query('UPDATE authority_migrations SET min_reader = 2 WHERE component = $1 AND version = 2', [component])
  await t.rejects(postgresFactorStore(own).prepare(), { name: 'StartError', message: /newer release/ })
  await t.resolves(postgresState(own).prepare())
})

t.test('postgres: works with the documented rights, and names each missing one', async (t) => {
  const database = await server.database()
  const owner = database.pool()
  const all = postgresFactorStore(owner)
  await all.prepare()
  await owner.query('CREATE ROLE second_factors LOGIN')
  for (const [table, rights] of Object.entries(RIGHTS))
    await owner.query(`GRANT ${rights.join(', ')} ON ${table} TO second_factors`)
  const limited = database.pool({ user: 'second_factors' })
  const own = postgresFactorStore(limited)
  await own.prepare()
  for (const [name, call] of factorOperations(own)) await t.resolves(call(), name)
  await own.sweep(Date.now())
  for (const [table, rights] of Object.entries(RIGHTS)) {
    if (table === 'authority_migrations') continue
    for (const right of rights) {
      await owner.query(`REVOKE ${right} ON ${table} FROM second_factors`)
      await t.rejects(postgresFactorStore(limited).prepare(), {
        name: 'StartError',
        message: new RegExp(`role of postgresFactorStore lacks rights: ${right} on ${table}`)
      })
      await all.removeFactorsOfUser(ALICE)
      // Runs one after the other, because each depends on the results of those before it.
      let refused = 0
      for (const call of [
        ...factorOperations(own).map(([, operation]) => operation),
        async () => {
          await own.sweep(Date.now())
        }
      ])
        await call().catch(() => {
          refused++
        })
      t.ok(refused > 0, `${right} on ${table} is needed`)
      await owner.query(`GRANT ${right} ON ${table} TO second_factors`)
    }
  }
  await owner.query('ALTER ROLE second_factors SET default_transaction_read_only = on')
  await t.rejects(postgresFactorStore(database.pool({ user: 'second_factors' })).prepare(), {
    name: 'StartError',
    message: /read only/
  })
  await t.resolves(postgresState(owner).prepare())
})

t.test('postgres: reports an error without the values of the row', async (t) => {
  const own = (await server.database()).pool()
  const broken = postgresFactorStore(own)
  await broken.prepare()
  await own.query("ALTER TABLE authority_factor_records ADD CHECK (value NOT LIKE '%canary%')")
  const error: unknown = await broken
    .addTotp(totpAddition({ factor: totp({ sealedSecret: 'canary' }) }))
    .catch((error: unknown) => error)
  t.match(error, { name: 'PostgresError', code: '23514' })
  t.notMatch(inspect(error, { depth: 9 }), 'canary')
  t.strictSame(await broken.findFactors(ALICE), NOTHING)
  await t.rejects(broken.addTotp(totpAddition({ userId: 'a\0b' })), TypeError)
})

t.test('postgres: counts the users with each kind of factor by the query of the guide', async (t) => {
  const guide = readFileSync(new URL('../../docs/guides/factor-stores.md', import.meta.url), 'utf8')
  const query = /```sql\n(SELECT count[^;]+);/.exec(guide)?.[1] ?? ''
  await emptied()
  await store.addTotp(totpAddition())
  await store.addPasskey(passkeyAddition())
  await store.usePasskey(passkeyUse())
  await store.addPasskey(passkeyAddition({ userId: BOB }))
  t.same((await pool.query(query)).rows, [{ apps: '1', passkeys: '2' }])
})

t.test('postgres: sweeps expired passkey claims in several slices, and no factor', async (t) => {
  await emptied()
  await store.addTotp(totpAddition())
  await pool.query(
    `INSERT INTO ${TABLE} (part, key, kind, user_id, version, value, expires_at, sweep_after)
      SELECT 'part' || i, 'q:c', 'passkey_claim', 'u' || i, 'version-123456', '1', ends, ends
      FROM (SELECT i, CASE WHEN i <= 1200 THEN 10 ELSE 11 END AS ends FROM generate_series(1, 1700) AS i) AS claims`
  )
  await store.sweep(10)
  const { rows } = await pool.query(
    `SELECT count(*)::int AS n, min(expires_at)::int AS first FROM ${TABLE} WHERE kind = 'passkey_claim'`
  )
  t.same(rows, [{ n: 500, first: 11 }])
  t.equal((await store.findFactors(ALICE)).totp.length, 1)
})
