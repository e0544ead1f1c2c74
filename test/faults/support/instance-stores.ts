/** From the places that the settings name to options of the plugin, and the way to close what was opened. */
import { Cluster, Redis } from 'ioredis'
import Database from 'libsql'
import { Pool } from 'pg'
import { type AuthorityOptions, postgresState, postgresUserStore, redisState, sqliteState, sqliteUserStore, type State } from '../../../lib/index.ts'
import type { InstanceSettings, Place, RedisPlace } from './settings.ts'

export interface Stores {
  options: Pick<AuthorityOptions, 'state' | 'users' | 'redis'>
  close(): Promise<void>
}

const POOL_SIZE = 8

export function openStores ({ state, users, limits }: Pick<InstanceSettings, 'state' | 'users' | 'limits'>): Stores {
  const opened = new Map<string, { connection: unknown, close(): Promise<void> | void }>()

  /** One connection to each place, whatever is kept there. */
  function at<Connection> (place: Place, open: () => Connection, close: (connection: Connection) => Promise<void> | void): Connection {
    const name = JSON.stringify(place)
    const known = opened.get(name)
    if (known !== undefined) return known.connection as Connection
    const connection = open()
    opened.set(name, { connection, close: () => close(connection) })
    return connection
  }
  const redisAt = (place: RedisPlace): Redis | Cluster => at(place, () => openRedis(place), (client) => { client.disconnect() })
  const sqliteAt = (place: Extract<Place, { kind: 'sqlite' }>): Database.Database => at(place, () => openSqlite(place.file), (db) => { db.close() })
  const postgresAt = (place: Extract<Place, { kind: 'postgres' }>): Pool => at(place, () => openPostgres(place.url), async (pool) => { await pool.end() })

  return {
    options: {
      state: state.kind === 'sqlite' ? sqliteState(sqliteAt(state)) : state.kind === 'postgres' ? postgresState(postgresAt(state)) : redisState(redisAt(state)),
      users: users.kind === 'sqlite' ? sqliteUserStore(sqliteAt(users)) : postgresUserStore(postgresAt(users)),
      ...(limits === undefined ? {} : { redis: redisAt(limits) })
    },
    async close () { for (const { close } of opened.values()) await close() }
  }
}

/** A store that says that it has revoked a family and has not. */
export function revokingNothing (state: Stores['options']['state']): State {
  if (typeof state !== 'object') throw new TypeError('The state must be a store.')
  return { ...state, tokens: { ...state.tokens, revokeFamily: async () => true } }
}

function openSqlite (file: string): Database.Database {
  const db = new Database(file)
  // A killed process loses nothing by it, and the disk of a test machine is not what is tried here.
  db.exec('PRAGMA busy_timeout = 5000; PRAGMA synchronous = OFF')
  return db
}

function openPostgres (url: string): Pool {
  const pool = new Pool({ connectionString: url, max: POOL_SIZE, connectionTimeoutMillis: 2000 })
  pool.on('error', () => {})
  return pool
}

function openRedis (place: RedisPlace): Redis | Cluster {
  const client = place.kind === 'redis'
    ? new Redis(place.url)
    : place.kind === 'sentinel' ? new Redis({ sentinels: place.sentinels, name: place.name }) : new Cluster(place.nodes)
  client.on('error', () => {})
  return client
}
