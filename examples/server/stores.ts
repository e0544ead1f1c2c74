import { Redis } from 'ioredis'
import { Pool } from 'pg'
import {
  type AuditLog,
  postgresAudit,
  postgresState,
  postgresUserStore,
  type RedisClient,
  redisState,
  sqliteAudit,
  sqliteState,
  sqliteUserStore,
  type UserStore
} from 'fastify-authority'
import type { Config } from './config.ts'
import { openDatabase } from './database.ts'

export interface Stores {
  users: UserStore
  state: ReturnType<typeof sqliteState>
  audit: AuditLog
  /** For the rate limit counters, which all instances share then. */
  redis?: RedisClient
  close(): Promise<void>
}

type Onlooker = (error: Error, server: string) => void

/**
 * The stores of users and state: a SQLite file; with `DATABASE_URL` PostgreSQL; and with `REDIS_URL` Redis for the
 * counters, and for the state too without PostgreSQL.
 */
export function openStores(
  { databaseUrl, redisUrl, dataDirectory }: Pick<Config, 'databaseUrl' | 'redisUrl' | 'dataDirectory'>,
  onError: Onlooker
): Stores {
  const redis = redisUrl === undefined ? undefined : connectRedis(redisUrl, onError)
  const shared = redis === undefined ? {} : { redis }
  if (databaseUrl !== undefined) {
    const pool = connectPostgres(databaseUrl, onError)
    return {
      users: postgresUserStore(pool),
      state: postgresState(pool),
      audit: postgresAudit(pool),
      ...shared,
      async close() {
        redis?.disconnect()
        await pool.end()
      }
    }
  }
  const db = openDatabase(dataDirectory)
  return {
    users: sqliteUserStore(db),
    state: redis === undefined ? sqliteState(db) : redisState(redis),
    audit: sqliteAudit(db),
    ...shared,
    async close() {
      redis?.disconnect()
      // SQLite would do this when the last connection closes, but libsql keeps its prepared statements open.
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      db.close()
    }
  }
}

/** A client without an `error` listener ends the process with the first connection that breaks. */
function connectRedis(url: string, onError: Onlooker): Redis {
  // A network that drops packets in silence is noticed after 10 s without an answer; and a server that comes back is
  // found soon.
  const redis = new Redis(url, {
    socketTimeout: 10_000,
    connectTimeout: 2000,
    retryStrategy: (times) => Math.min(times * 100, 1000)
  })
  redis.on('error', (error: Error) => {
    onError(error, 'Redis')
  })
  return redis
}

function connectPostgres(url: string, onError: Onlooker): Pool {
  const pool = new Pool({
    connectionString: url,
    max: 10,
    connectionTimeoutMillis: 1500,
    query_timeout: 5000,
    keepAlive: true
  })
  pool.on('error', (error: Error) => {
    onError(error, 'PostgreSQL')
  })
  return pool
}
