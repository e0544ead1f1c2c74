import Database from 'libsql'
import t from '../../support/tap.ts'
import { memoryRecords, memoryState } from '../../../lib/adapters/memory/record-store.ts'
import { postgresState } from '../../../lib/adapters/postgres/record-store.ts'
import { sharedConnection } from '../../../lib/adapters/redis/server.ts'
import { redisState } from '../../../lib/adapters/redis/record-store.ts'
import { sqliteState } from '../../../lib/adapters/sqlite/record-store.ts'
import type { State } from '../../../lib/ports/state.ts'
import { spreadState } from '../../support/spread-state.ts'
import { startRedis } from '../../support/redis-server.ts'
import { sharedPostgres } from '../../support/shared-postgres.ts'

export type Stores = Pick<State, 'kind' | 'tokens' | 'browserSessions' | 'consents' | 'oneTimeTokens' | 'sweep'>

/**
 * The states of all four adapters, and two that several instances share which remember
 * records, whose calls overtake each other, and whose answers get lost.
 */
export async function states(max: { maxFamiliesPerUser: number; maxSessionsPerUser: number }): Promise<Stores[]> {
  const redis = await startRedis()
  const postgres = await sharedPostgres(t)
  t.teardown(() => redis.stop())
  const onPostgres = postgresState((await postgres.database()).pool({ max: 6 }), max)
  await onPostgres.prepare()
  const client = redis.client()
  // No time limits, because the machine may be busy.
  sharedConnection(client, { timeoutMs: 30_000 })
  const shared = { ...max, remembered: 20 }
  return [
    memoryState(max),
    { ...spreadState(memoryRecords(), 2, shared), kind: 'memory of two instances' },
    { ...spreadState({ ...memoryRecords(), evicts: true }, 2, shared), kind: 'evicting memory of two instances' },
    sqliteState(new Database(':memory:'), max),
    redisState(client, max),
    onPostgres
  ]
}
