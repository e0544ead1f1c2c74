import Database from 'libsql'
import t from '../../support/tap.ts'
import { memoryState } from '../../../lib/adapters/memory/state.ts'
import { postgresState } from '../../../lib/adapters/postgres/state.ts'
import { redisConnection } from '../../../lib/adapters/redis/connection.ts'
import { redisConsentStore } from '../../../lib/adapters/redis/consent-store.ts'
import { namesUnder } from '../../../lib/adapters/redis/names.ts'
import { redisOneTimeTokenStore } from '../../../lib/adapters/redis/one-time-token-store.ts'
import { redisSessionStore } from '../../../lib/adapters/redis/session-store.ts'
import { redisTokenStore } from '../../../lib/adapters/redis/token-store.ts'
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
  // As `redisState` has it, but that a busy machine has all the time it needs.
  const connection = redisConnection(redis.client(), { timeoutMs: 30_000 })
  const names = namesUnder('authority:')
  const onRedis: Stores = {
    kind: 'redis',
    tokens: redisTokenStore(connection, names, max.maxFamiliesPerUser),
    browserSessions: redisSessionStore(connection, names, max.maxSessionsPerUser),
    consents: redisConsentStore(connection, names),
    oneTimeTokens: redisOneTimeTokenStore(connection, names),
    sweep() {}
  }
  return [memoryState(max), sqliteState(new Database(':memory:'), max), onRedis, onPostgres]
}
