/** Every store that can hold records, on servers of the test's own. */
import Database from 'libsql'
import t from '../../support/tap.ts'
import { memoryRecords } from '../../../lib/adapters/memory/record-store.ts'
import { postgresRecords } from '../../../lib/adapters/postgres/record-store.ts'
import { redisRecords } from '../../../lib/adapters/redis/record-store.ts'
import { sqliteRecords } from '../../../lib/adapters/sqlite/record-store.ts'
import type { RecordStore } from '../../../lib/ports/record-store.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { startRedis, startRedisCluster } from '../../support/redis-server.ts'

export const INSTANCES = 4

export interface RecordPlace {
  name: string
  expiresByItself: boolean
  /** Instances on the same empty records. */
  empty(): Promise<readonly [RecordStore, ...RecordStore[]]>
}

const times = (make: (index: number) => RecordStore): [RecordStore, ...RecordStore[]] => [
  make(0),
  ...Array.from({ length: INSTANCES - 1 }, (_, index) => make(index + 1))
]

export async function recordPlaces(): Promise<RecordPlace[]> {
  const [redis, cluster, postgres] = await Promise.all([startRedis(), startRedisCluster(), startPostgres()])
  t.teardown(() => Promise.all([redis.stop(), cluster.stop(), postgres.stop()]))
  const table = 'authority_records'
  const sqlite = new Database(':memory:')
  const database = await postgres.database()
  const pool = database.pool()
  // As many connections as parallel calls, so that calls do not wait for each other.
  const onPostgres = times(() => postgresRecords(database.pool({ max: 6 }), { what: 'postgresState', table }))
  const onSqlite = times(() => sqliteRecords(sqlite, { table }))
  await onPostgres[0].prepare?.()
  await onSqlite[0].prepare?.()
  let uses = 0
  const redisPlace = (
    name: string,
    server: Pick<typeof redis, 'client'> | Pick<typeof cluster, 'client'>
  ): RecordPlace => {
    const clients = [server.client(), server.client()]
    return {
      name,
      expiresByItself: true,
      async empty() {
        const prefix = `${++uses}:`
        return times((index) => redisRecords(clients[index % 2] ?? server.client(), { prefix }))
      }
    }
  }
  return [
    {
      name: 'memory',
      expiresByItself: false,
      async empty() {
        const store = memoryRecords()
        return times(() => store)
      }
    },
    {
      name: 'SQLite',
      expiresByItself: false,
      async empty() {
        sqlite.exec(`DELETE FROM ${table}`)
        return onSqlite
      }
    },
    redisPlace('Redis', redis),
    redisPlace('Redis Cluster', cluster),
    {
      name: 'PostgreSQL',
      expiresByItself: false,
      async empty() {
        await pool.query(`TRUNCATE ${table}`)
        return onPostgres
      }
    }
  ]
}
