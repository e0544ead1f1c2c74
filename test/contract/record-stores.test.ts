/** Each record store of the library keeps the contract, alone and as several instances over the same records. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import t from '../support/tap.ts'
import { memoryRecords } from '../../lib/adapters/memory/record-store.ts'
import { postgresRecords } from '../../lib/adapters/postgres/record-store.ts'
import { redisRecords } from '../../lib/adapters/redis/record-store.ts'
import { sqliteRecords } from '../../lib/adapters/sqlite/record-store.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/doubles.ts'
import { recordStoreContract } from '../../lib/testing/record-store-contract.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { startRedis, startRedisCluster } from '../support/redis-server.ts'

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix}: ${name}`, run)

const directory = mkdtempSync(join(tmpdir(), 'authority-records-'))
const [redis, cluster, postgres] = await Promise.all([startRedis(), startRedisCluster(), startPostgres()])
t.teardown(async () => {
  await Promise.all([redis.stop(), cluster.stop(), postgres.stop()])
  rmSync(directory, { recursive: true, force: true })
})
let cases = 0

runContract(
  recordStoreContract(async () => ({ store: memoryRecords() })),
  test('memory')
)
runContract(
  recordStoreContract(async () => ({ store: delayed(memoryRecords()) })),
  test('delayed memory')
)

runContract(
  recordStoreContract(async () => {
    const file = join(directory, `${++cases}.db`)
    const databases = [new Database(file), new Database(file)]
    for (const db of databases) db.exec('PRAGMA synchronous = OFF')
    const [store, ...others] = databases.map((db) => sqliteRecords(db, { table: 'authority_records' }))
    if (store === undefined) throw new TypeError('There is no database.')
    return {
      store,
      others,
      async close() {
        for (const db of databases) db.close()
      }
    }
  }),
  test('SQLite')
)

for (const [name, server] of [
  ['Redis', redis],
  ['Redis Cluster', cluster]
] as const) {
  const [first, second] = [server.client(), server.client()]
  runContract(
    recordStoreContract(async () => {
      const prefix = `case-${++cases}:`
      return {
        store: redisRecords(first, { prefix }),
        others: [redisRecords(second, { prefix })],
        expiresByItself: true
      }
    }),
    test(name)
  )
}

runContract(
  recordStoreContract(async () => {
    const database = await postgres.database()
    const options = { what: 'postgresState', table: 'authority_records' }
    return {
      store: postgresRecords(database.pool({ max: 5 }), options),
      others: [postgresRecords(database.pool({ max: 1 }), options)],
      close: () => database.drop()
    }
  }),
  test('PostgreSQL')
)
