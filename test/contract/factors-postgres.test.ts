import t from 'tap'
import { postgresFactorStore } from '../../lib/adapters/postgres/factor-store.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/delayed.ts'
import { factorStoreContract } from '../../lib/testing/factor-store-contract.ts'
import { startPostgres } from '../support/postgres-server.ts'

const server = await startPostgres()
t.teardown(async () => { await server.stop() })
// Several connections, or nothing would race.
const pool = (await server.database()).pool({ max: 20 })

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)
const store = postgresFactorStore(pool)
await store.prepare()
const tables = (await pool.query('SELECT relname FROM pg_stat_user_tables WHERE relname <> \'authority_migrations\'')).rows.map(({ relname }) => String(relname))
const emptied = async () => {
  await pool.query(`TRUNCATE ${tables.join(', ')}`)
  return { store }
}

runContract(factorStoreContract(emptied), test('postgres'))
runContract(factorStoreContract(async () => ({ store: delayed((await emptied()).store) })), test('delayed postgres'))
