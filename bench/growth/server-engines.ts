/** The two stores that are servers: each engine starts one of its own. */
import { setTimeout as wait } from 'node:timers/promises'
import { postgresState } from '../../lib/adapters/postgres/record-store.ts'
import { postgresUserStore } from '../../lib/adapters/postgres/user-store.ts'
import { redisAttemptStore } from '../../lib/adapters/redis/attempt-store.ts'
import { sharedConnection } from '../../lib/adapters/redis/server.ts'
import { redisState } from '../../lib/adapters/redis/record-store.ts'
import { childrenOf } from '../../test/support/postgres-binaries.ts'
import { startPostgres } from '../../test/support/postgres-server.ts'
import { startRedis } from '../../test/support/redis-server.ts'
import { spentBy } from '../databases.ts'
import { type Engine, each } from './engine.ts'
import { familyOf, sessionDigest, sessionOf, userId } from './records.ts'

const CONCURRENCY = 8
const USERS_AT_ONCE = 10_000

const cpuOf = (pid: number): number => 1000 * spentBy(pid)

const fieldOf = (info: string, name: RegExp): number => Number(name.exec(info)?.[1] ?? 0)

/** The hash tag of a key. */
const partitionIn = (key: string): string => /\{(.*)\}/.exec(key)?.[1] ?? ''

export async function redisEngine(): Promise<Engine> {
  const server = await startRedis()
  const client = server.client()
  // Without the usual time limit: a benchmark that shares its machine waits.
  const connection = sharedConnection(client, { timeoutMs: 60_000 })
  const state = { ...redisState(client), kind: 'redis, without a time limit' }
  let left = 0
  return {
    state,
    attempts: redisAttemptStore(connection),
    concurrency: CONCURRENCY,
    perRound: 4000,
    loadFamilies: async (from, to) => {
      await each(from, to, 200, async (number) => {
        await state.tokens.createFamily(familyOf(number))
      })
    },
    loadSessions: async (from, to) => {
      await each(from, to, 200, async (number) => {
        await state.browserSessions.createSession(sessionOf(number), sessionDigest(number))
      })
    },
    // Without the buffers of the benchmark's own connection.
    bytes: async () =>
      fieldOf(await client.info('memory'), /used_memory:(\d+)/) -
      fieldOf(await client.info('memory'), /mem_clients_normal:(\d+)/),
    async bytesOfKeys() {
      const size = await client.dbsize()
      const keys = ((await client.call('SCAN', '0', 'COUNT', '2000')) as [string, string[]])[1]
      const usages = await Promise.all(
        keys.map(async (key) => Number(await client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0')))
      )
      return (usages.reduce((sum, bytes) => sum + bytes, 0) / keys.length) * size
    },
    async clear() {
      await client.flushall()
    },
    async spent() {
      return {
        cpuNs: cpuOf(server.pid),
        scriptNs: 1000 * fieldOf(await client.info('commandstats'), /cmdstat_evalsha:calls=\d+,usec=(\d+)/)
      }
    },
    async hasten(isKept) {
      left = 0
      const hastened: string[] = []
      let cursor = '0'
      do {
        const [next, keys] = (await client.call('SCAN', cursor, 'COUNT', '1000')) as [string, string[]]
        for (const key of keys) {
          if (isKept(partitionIn(key)) || partitionIn(key) === 'service') left += 1
          else hastened.push(key)
        }
        cursor = next
      } while (cursor !== '0')
      // All fall due within a second, once all have their time.
      const due = Date.now() + 5000
      await each(
        0,
        hastened.length,
        1000,
        async (number) => await client.pexpireat(hastened[number] ?? '', due + (number % 1000))
      )
      await wait(Math.max(0, due - Date.now()))
    },
    async whenExpired() {
      while ((await client.dbsize()) > left) await wait(20)
    },
    close: async () => {
      await server.stop()
    }
  }
}

/** Without fsync: the cost of an operation without the disk's own time, which parallel commits share. */
export async function postgresEngine(): Promise<Engine> {
  const server = await startPostgres()
  const database = await server.database()
  const setter = database.pool({ max: 1 })
  await setter.query("ALTER SYSTEM SET shared_buffers = '1GB'")
  await setter.query("ALTER SYSTEM SET max_wal_size = '4GB'")
  await setter.end()
  await server.restart()
  const pool = database.pool({ max: CONCURRENCY })
  const state = postgresState(pool)
  await state.prepare()
  const users = postgresUserStore(pool)

  return {
    state,
    users: {
      store: users,
      async load(count, passwordHash) {
        await users.prepare()
        const put =
          'INSERT INTO authority_users (id, username, password_hash) SELECT id, id, $2 FROM unnest($1::text[]) id'
        await each(0, Math.ceil(count / USERS_AT_ONCE), 1, async (part) => {
          const from = part * USERS_AT_ONCE
          const ids = Array.from({ length: Math.min(USERS_AT_ONCE, count - from) }, (_, index) => userId(from + index))
          await pool.query(put, [ids, passwordHash])
        })
        await pool.query('VACUUM ANALYZE authority_users')
      }
    },
    concurrency: CONCURRENCY,
    perRound: 2000,
    async loadFamilies(from, to) {
      await each(from, to, CONCURRENCY, (number) => state.tokens.createFamily(familyOf(number)))
      await pool.query('VACUUM ANALYZE')
    },
    async loadSessions(from, to) {
      await each(from, to, CONCURRENCY, (number) =>
        state.browserSessions.createSession(sessionOf(number), sessionDigest(number))
      )
      await pool.query('VACUUM ANALYZE')
      await pool.query('CHECKPOINT')
    },
    async bytes() {
      await pool.query('VACUUM')
      const { rows } = await pool.query<{ bytes: string }>(
        "SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class WHERE relkind = 'r' AND relname ~ '^authority_'"
      )
      return Number(rows[0]?.bytes)
    },
    async clear() {
      await pool.query('TRUNCATE authority_records')
    },
    async spent() {
      const { rows } = await pool.query<{ bytes: string }>("SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes")
      const children = await childrenOf(server.pid)
      return { cpuNs: children.reduce((sum, pid) => sum + cpuOf(pid), 0), logBytes: Number(rows[0]?.bytes) }
    },
    close: async () => {
      await server.stop()
    }
  }
}
