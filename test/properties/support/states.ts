import Database from 'libsql'
import t from '../../support/tap.ts'
import { memoryState } from '../../../lib/adapters/memory/state.ts'
import { postgresState } from '../../../lib/adapters/postgres/state.ts'
import { sharedConnection } from '../../../lib/adapters/redis/shared-connection.ts'
import { redisState } from '../../../lib/adapters/redis/state.ts'
import { sqliteState } from '../../../lib/adapters/sqlite/state.ts'
import type { State } from '../../../lib/ports/state.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { startRedis } from '../../support/redis-server.ts'

export type Stores = Pick<State, 'kind' | 'tokens' | 'browserSessions' | 'consents' | 'oneTimeTokens' | 'sweep'>

/** The states of all four adapters, on servers of this test's own. */
export async function states(max: { maxFamiliesPerUser: number; maxSessionsPerUser: number }): Promise<Stores[]> {
  const redis = await startRedis()
  const postgres = await startPostgres()
  t.teardown(() => Promise.all([redis.stop(), postgres.stop()]))
  const onPostgres = postgresState((await postgres.database()).pool({ max: 6 }), max)
  await onPostgres.prepare()
  const client = redis.client()
  // A busy machine has all the time it needs.
  sharedConnection(client, { timeoutMs: 30_000 })
  return [memoryState(max), sqliteState(new Database(':memory:'), max), redisState(client, max), onPostgres]
}
