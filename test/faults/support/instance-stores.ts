/** Converts the places in the settings to options of the plugin, and returns a function that closes the connections. */
import { setTimeout as wait } from 'node:timers/promises'
import { Cluster, Redis } from 'ioredis'
import Database from 'libsql'
import { Pool } from 'pg'
import {
  type AuthorityOptions,
  postgresState,
  postgresUserStore,
  redisState,
  sqliteState,
  sqliteUserStore
} from '../../../lib/index.ts'
import type { State } from '../../../lib/ports/state.ts'
import type { User, UserStore } from '../../../lib/ports/user-store.ts'
import type { TokenUse } from '../../../lib/ports/token-store.ts'
import { losesAnswers } from '../../../lib/testing/doubles.ts'
import type { InstanceSettings, Place, PlantedInStores, RedisPlace } from './settings.ts'

export interface Stores {
  options: Pick<AuthorityOptions, 'state' | 'users' | 'redis'>
  close(): Promise<void>
}

const POOL_SIZE = 8

export function openStores({ state, users, limits }: Pick<InstanceSettings, 'state' | 'users' | 'limits'>): Stores {
  const opened = new Map<string, { connection: unknown; close(): Promise<void> | void }>()

  /** One connection to each place, shared by its stores. */
  function at<Connection>(
    place: Place,
    open: () => Connection,
    close: (connection: Connection) => Promise<void> | void
  ): Connection {
    const name = JSON.stringify(place)
    const known = opened.get(name)
    if (known !== undefined) return known.connection as Connection
    const connection = open()
    opened.set(name, { connection, close: () => close(connection) })
    return connection
  }
  const redisAt = (place: RedisPlace): Redis | Cluster =>
    at(
      place,
      () => openRedis(place),
      (client) => {
        client.disconnect()
      }
    )
  const sqliteAt = (place: Extract<Place, { kind: 'sqlite' }>): Database.Database =>
    at(
      place,
      () => openSqlite(place.file),
      (db) => {
        db.close()
      }
    )
  const postgresAt = (place: Extract<Place, { kind: 'postgres' }>): Pool =>
    at(
      place,
      () => openPostgres(place.url),
      async (pool) => {
        await pool.end()
      }
    )

  return {
    options: {
      state:
        state.kind === 'sqlite'
          ? sqliteState(sqliteAt(state))
          : state.kind === 'postgres'
            ? postgresState(postgresAt(state))
            : redisState(redisAt(state)),
      users: users.kind === 'sqlite' ? sqliteUserStore(sqliteAt(users)) : postgresUserStore(postgresAt(users)),
      ...(limits === undefined ? {} : { redis: redisAt(limits) })
    },
    async close() {
      for (const { close } of opened.values()) await close()
    }
  }
}

const USER_WRITES = ['create', 'setPasswordHash', 'setEmailVerified', 'update', 'remove']

/** The stores, with every nth write of the user store done and its answer lost. */
export const losing = ({ users, ...rest }: Stores['options'], everyAnswer = 0): Stores['options'] => ({
  ...rest,
  users: losesAnswers(users, { methods: USER_WRITES, everyAnswer })
})

/** The stores with one planted fault. If two mechanisms protect against it, both are removed. */
export function broken({ state, users, ...rest }: Stores['options'], planted: PlantedInStores): Stores['options'] {
  if (state === undefined) throw new TypeError('The state must be a store.')
  return { ...rest, state: brokenState(state, planted), users: brokenUsers(users, planted) }
}

function brokenUsers(users: UserStore, planted: PlantedInStores): UserStore {
  const { setPasswordHash } = users
  if (planted === 'one-time-twice' && setPasswordHash !== undefined) {
    // Replaces a hash without comparing it, and takes its time, so that both of two parallel calls succeed.
    const blindly: UserStore['setPasswordHash'] = async (id, hash) => {
      await wait(100)
      return await setPasswordHash.call(users, id, hash)
    }
    return { ...users, setPasswordHash: blindly }
  }
  if (planted !== 'reset-leaves-codes') return users
  const forgetful = (user: User | null): User | null => (user === null ? null : { ...user, passwordChangedAt: null })
  return {
    ...users,
    findById: async (id) => forgetful(await users.findById(id)),
    findByUsername: async (username) => forgetful(await users.findByUsername(username))
  }
}

function brokenState(state: State, planted: PlantedInStores): State {
  const { tokens, oneTimeTokens } = state
  switch (planted) {
    case 'revokes-nothing':
      return { ...state, tokens: { ...tokens, revokeFamily: async () => true } }
    case 'spares-replays': {
      const isReplay = async (use: TokenUse): Promise<boolean> =>
        (await tokens.findFamily(use.sid, use.now)) !== null && (await tokens.peekToken(use)) === null
      return {
        ...state,
        tokens: {
          ...tokens,
          useToken: async (use) => ((await isReplay(use)) ? { outcome: 'unknown' } : await tokens.useToken(use)),
          rotateToken: async (use, next) =>
            (await isReplay(use)) ? { outcome: 'unknown' } : await tokens.rotateToken(use, next)
        }
      }
    }
    case 'reset-leaves-codes':
      return {
        ...state,
        tokens: {
          ...tokens,
          // The list has only families: codes stay.
          async revokeFamiliesOfUser(userId, exceptSid) {
            const sids = (await tokens.listFamiliesOfUser(userId, Date.now()))
              .map(({ sid }) => sid)
              .filter((sid) => sid !== exceptSid)
            for (const sid of sids) await tokens.revokeFamily(sid, userId)
            return sids
          }
        }
      }
    case 'sign-out-leaves-families':
      return {
        ...state,
        tokens: {
          ...tokens,
          revokeSession: async (userId, sid) => ({
            session:
              (await state.browserSessions.listSessionsOfUser(userId, 0)).find((session) => session.sid === sid) ??
              null,
            sids: []
          })
        }
      }
    case 'one-time-twice':
      return {
        ...state,
        oneTimeTokens: {
          ...oneTimeTokens,
          consume: async (purpose, digest, now) => await oneTimeTokens.find(purpose, digest, now)
        }
      }
  }
}

function openSqlite(file: string): Database.Database {
  const db = new Database(file)
  // Without fsync, because a killed process loses nothing and the machine's disk is not tested here.
  db.exec('PRAGMA busy_timeout = 5000; PRAGMA synchronous = OFF')
  return db
}

function openPostgres(url: string): Pool {
  const pool = new Pool({ connectionString: url, max: POOL_SIZE, connectionTimeoutMillis: 2000 })
  pool.on('error', () => {})
  return pool
}

function openRedis(place: RedisPlace): Redis | Cluster {
  const client =
    place.kind === 'redis'
      ? new Redis(place.url)
      : place.kind === 'sentinel'
        ? new Redis({ sentinels: place.sentinels, name: place.name })
        : new Cluster(place.nodes)
  client.on('error', () => {})
  return client
}
