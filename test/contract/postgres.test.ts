import t from '../support/tap.ts'
import { postgresState } from '../../lib/adapters/postgres/record-store.ts'
import { postgresUserStore } from '../../lib/adapters/postgres/user-store.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/doubles.ts'
import { stateContract } from './suites/state-contract.ts'
import { userStoreContract } from '../../lib/testing/user-store-contract.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'

const server = await sharedPostgres(t)
// Several connections, because calls on one connection can't race.
const pool = (await server.database()).pool({ max: 20 })

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)
let made = 0
const shared = postgresState(pool)
await shared.prepare()
const tables = (
  await pool.query("SELECT relname FROM pg_stat_user_tables WHERE relname <> 'authority_migrations'")
).rows.map(({ relname }) => String(relname))
const newState = async () => {
  await pool.query(`TRUNCATE ${tables.join(', ')}`)
  return { state: shared }
}
const newUserStore = async () => {
  const table = `users_${++made}`
  return {
    store: postgresUserStore(pool, { table }),
    async close() {
      await pool.query(`DROP TABLE IF EXISTS ${table} CASCADE`)
    }
  }
}

runContract(userStoreContract(newUserStore), test('postgres user store'))
runContract(
  userStoreContract(async () => {
    const { store, close } = await newUserStore()
    return { store: delayed(store), close }
  }),
  test('delayed postgres user store')
)
runContract(stateContract(newState), test('postgres state'))
runContract(
  stateContract(async () => ({ state: delayed((await newState()).state) })),
  test('delayed postgres state')
)
