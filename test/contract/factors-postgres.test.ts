import { inspect } from 'node:util'
import t from '../support/tap.ts'
import { postgresFactorStore } from '../../lib/adapters/postgres/factor-store.ts'
import { FACTOR_RIGHTS } from '../../lib/adapters/postgres/factor-tables.ts'
import { postgresState } from '../../lib/adapters/postgres/state.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/delayed.ts'
import { ALICE, NOTHING, totp, totpAddition } from '../../lib/testing/factor-fixtures.ts'
import { factorStoreContract } from '../../lib/testing/factor-store-contract.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { factorOperations, leftOut } from './support/factor-operations.ts'

const server = await startPostgres()
t.teardown(async () => {
  await server.stop()
})
// Several connections, or nothing would race.
const pool = (await server.database()).pool({ max: 20 })

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)
const store = postgresFactorStore(pool)
await store.prepare()
const tables = (
  await pool.query("SELECT relname FROM pg_stat_user_tables WHERE relname <> 'authority_migrations'")
).rows.map(({ relname }) => String(relname))
const emptied = async () => {
  await pool.query(`TRUNCATE ${tables.join(', ')}`)
  return { store }
}

runContract(factorStoreContract(emptied), test('postgres'))
runContract(
  factorStoreContract(async () => ({ store: delayed((await emptied()).store) })),
  test('delayed postgres')
)

t.test(
  'postgres: every operation is one statement, as the server counts them',
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
      t.equal((await count()) - before, 1, name)
    }
  }
)

t.test(
  'postgres: the tables lie in the schema that is named, and any number of instances make them at once',
  async (t) => {
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
    const { rows: left } = await own.query(
      "SELECT count(*)::int AS n FROM people.authority_factor_users WHERE user_id LIKE 'trial%'"
    )
    t.same(left, [{ n: 0 }], 'prepare leaves nothing behind')
    t.throws(() => postgresFactorStore(own, { schema: 'a"b' }), TypeError)
  }
)

t.test('postgres: a release that knows nothing of factors, and one that is newer, on one database', async (t) => {
  const own = (await server.database()).pool()
  const [state, factors] = [postgresState(own), postgresFactorStore(own)]
  await Promise.all([state.prepare(), factors.prepare()])
  await t.resolves(postgresState(own).prepare())
  const { rows } = await own.query(
    "SELECT component, version, min_reader FROM authority_migrations WHERE component = 'factors'"
  )
  t.same(rows, [{ component: 'factors', version: 1, min_reader: 1 }])
  await own.query("INSERT INTO authority_migrations (component, version, min_reader) VALUES ('factors', 2, 1)")
  await t.resolves(postgresFactorStore(own).prepare())
  await own.query("UPDATE authority_migrations SET min_reader = 2 WHERE component = 'factors' AND version = 2")
  await t.rejects(postgresFactorStore(own).prepare(), { name: 'StartError', message: /newer release/ })
  await t.resolves(postgresState(own).prepare())
})

t.test(
  'postgres: the documented rights are enough, each that is missing is named, and no more is asked for',
  async (t) => {
    const database = await server.database()
    const owner = database.pool()
    const all = postgresFactorStore(owner)
    await all.prepare()
    await owner.query('CREATE ROLE second_factors LOGIN')
    for (const [table, rights] of Object.entries(FACTOR_RIGHTS))
      await owner.query(`GRANT ${rights.join(', ')} ON ${table} TO second_factors`)
    const limited = database.pool({ user: 'second_factors' })
    const own = postgresFactorStore(limited)
    await own.prepare()
    for (const [name, call] of factorOperations(own)) await t.resolves(call(), name)
    await own.sweep(Date.now())
    for (const [table, rights] of Object.entries(FACTOR_RIGHTS)) {
      if (table === 'authority_migrations') continue
      for (const right of rights) {
        await owner.query(`REVOKE ${right} ON ${table} FROM second_factors`)
        await t.rejects(postgresFactorStore(limited).prepare(), {
          name: 'StartError',
          message: new RegExp(`role of postgresFactorStore lacks rights: ${right} on ${table}`)
        })
        await all.removeFactorsOfUser(ALICE)
        // One after the other: what one of them finds depends on what those before it left.
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
  }
)

t.test('postgres: an error holds no value', async (t) => {
  const own = (await server.database()).pool()
  const broken = postgresFactorStore(own)
  await broken.prepare()
  await own.query("ALTER TABLE authority_totp_factors ADD CHECK (sealed_secret <> 'canary')")
  const error: unknown = await broken
    .addTotp(totpAddition({ factor: totp({ sealedSecret: 'canary' }) }))
    .catch((error: unknown) => error)
  t.match(error, { name: 'PostgresError', code: '23514' })
  t.notMatch(inspect(error, { depth: 9 }), 'canary')
  t.strictSame(await broken.findFactors(ALICE), NOTHING)
  await t.rejects(broken.addTotp(totpAddition({ userId: 'a\0b' })), TypeError)
})

t.test('postgres: a plan made when there were few rows does not read them all', async (t) => {
  const database = await server.database()
  const own = database.pool()
  for (const [, call] of factorOperations(postgresFactorStore(own)).slice(0, 9)) await call()
  const tables = Object.keys(FACTOR_RIGHTS).filter((name) => name !== 'authority_migrations')
  for (const table of tables) await own.query(`VACUUM ANALYZE ${table}`)
  await own.end()
  const reads = async (): Promise<unknown[]> =>
    (
      await database
        .pool()
        .query('SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname = ANY ($1) ORDER BY 1', [tables])
    ).rows
  const before = await reads()
  const again = database.pool({ max: 1 })
  const store = postgresFactorStore(again)
  for (let turn = 0; turn < 10; turn++)
    for (const [name, call] of factorOperations(store)) if (!/^(find|claim|rename|forget)/.test(name)) await call()
  await again.end()
  t.same(await reads(), before)
})

t.test('postgres: a sweep removes all claims that have expired, in several slices', async (t) => {
  await pool.query('TRUNCATE authority_passkey_claims')
  await pool.query(
    "INSERT INTO authority_passkey_claims SELECT 'u' || i, 'c', CASE WHEN i <= 1200 THEN 10 " +
      'ELSE 11 END FROM generate_series(1, 1700) AS i'
  )
  await store.sweep(10)
  t.same(
    (await pool.query('SELECT count(*)::int AS n, min(expires_at)::int AS first FROM authority_passkey_claims')).rows,
    [{ n: 500, first: 11 }]
  )
})
