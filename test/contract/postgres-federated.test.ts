import t from '../support/tap.ts'
import { postgresUserStore } from '../../lib/adapters/postgres/user-store.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'
import { federatedRows, type IdentityStore } from '../unit/accounts/federated-rows.ts'

const server = await sharedPostgres(t)
// Several connections, because calls on one connection can't race.
const pool = (await server.database()).pool({ max: 20 })
let made = 0

federatedRows(t, async () => {
  const store = postgresUserStore(pool, { table: `users_${++made}` })
  await store.prepare()
  return store as unknown as IdentityStore
})
