/**
 * Trips to the server of the state over one journey: a person signs in on one of four instances, the code is redeemed
 * on the next one, and the refresh token is rotated ten times, either on the same instance (sticky) or on all four in
 * turn. A trip is one write to Redis, which carries all scripts of a turn of the event loop, or one query to PostgreSQL.
 * Limits are off.
 */
import type { Redis } from 'ioredis'
import type { Pool } from 'pg'
import { memoryUserStore, postgresState, redisState } from '../lib/index.ts'
import type { State } from '../lib/ports/state.ts'
import { ISSUER, signUp, type TestApp, testApp } from '../test/support/app.ts'
import { testBrowser } from '../test/support/browser.ts'
import { authorizeAs, authorizePath, CLIENTS, KEYS, redeem } from '../test/support/openid.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { startRedis } from '../test/support/redis-server.ts'
import { some } from './quick.ts'
import type { Table } from './report.ts'

const INSTANCES = 4
const PEOPLE = 8
const ROTATIONS = 10
const STEPS = ['sign-in and code', 'redemption', `${ROTATIONS} rotations`] as const

interface Counted {
  trips: number
  calls: number
}

/** Makes one state for each instance, and counts the trips of all of them. */
interface Server {
  stateOf(name: string, counted: Counted): Promise<State>
  stop(): Promise<void>
}

/** Counts what is written to the server: one write is one trip, however many scripts it carries. */
export function countWrites({ stream }: Redis, onWrite: () => void): void {
  const write = stream.write.bind(stream)
  stream.write = ((...args: Parameters<typeof write>) => {
    onWrite()
    return write(...args)
  }) as typeof stream.write
}

async function redisServer(): Promise<Server> {
  const server = await startRedis()
  return {
    async stateOf(name, counted) {
      const client = server.client()
      await client.ping()
      countWrites(client, () => {
        counted.trips++
      })
      return redisState(client, { prefix: `${name}:` })
    },
    stop: async () => await server.stop()
  }
}

async function postgresServer(): Promise<Server> {
  const server = await startPostgres()
  const { pool } = await server.database()
  const countQueries = (counted: Counted): Pool =>
    pool({ max: 2 }).on('connect', (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => unknown
      client.query = ((...args: unknown[]) => {
        counted.trips++
        return query(...args)
      }) as typeof client.query
    })
  return {
    stateOf: async (schema, counted) => postgresState(countQueries(counted), { schema }),
    stop: async () => await server.stop()
  }
}

/** The same state, whose calls are counted: each method of each of its stores. */
function countCalls(state: State, counted: Counted): State {
  const ofStore = <Store extends object>(store: Store): Store =>
    Object.fromEntries(
      Object.entries(store).map(([name, method]) => [
        name,
        typeof method !== 'function'
          ? method
          : (...args: unknown[]) => {
              counted.calls++
              return (method as (...args: unknown[]) => unknown)(...args)
            }
      ])
    ) as Store
  return Object.fromEntries(
    Object.entries(state).map(([name, member]) => [
      name,
      typeof member === 'object' ? ofStore(member as object) : member
    ])
  ) as unknown as State
}

/** The trips and the calls of each step, all people together. */
async function walk(server: Server, name: string, isSticky: boolean): Promise<Counted[]> {
  const counted = { trips: 0, calls: 0 }
  const users = memoryUserStore()
  const instances: TestApp[] = []
  while (instances.length < INSTANCES) {
    const state = countCalls(await server.stateOf(name, counted), counted)
    instances.push(await testApp({ keys: KEYS, clients: CLIENTS, users, state }))
  }
  const on = (turn: number): TestApp['app'] => (instances[turn % INSTANCES] as TestApp).app

  async function journey(turn: number, count: (step: number, work: () => Promise<void>) => Promise<void>) {
    const username = `person-${turn}`
    await signUp(on(turn), username)
    let code = ''
    let token = ''
    await count(0, async () => {
      const path = authorizePath({ scope: 'openid offline_access' })
      code = (await authorizeAs(testBrowser(on(turn), ISSUER), path, { username })).code ?? ''
    })
    await count(1, async () => {
      token = refreshTokenIn(await redeem(on(turn + 1), code))
    })
    await count(2, async () => {
      for (let rotation = 0; rotation < ROTATIONS; rotation++) {
        const payload = { grant_type: 'refresh_token', refresh_token: token, client_id: 'spa' }
        const instance = on(isSticky ? turn + 1 : turn + 2 + rotation)
        token = refreshTokenIn(await instance.inject({ method: 'POST', url: '/auth/token', payload }))
      }
    })
  }

  const steps = STEPS.map((): Counted => ({ trips: 0, calls: 0 }))
  // Each instance loads its scripts and makes its connections first.
  for (let turn = 0; turn < INSTANCES; turn++) await journey(turn, async (_step, work) => await work())
  const people = Math.min(PEOPLE, some(PEOPLE))
  for (let turn = INSTANCES; turn < INSTANCES + people; turn++)
    await journey(turn, async (step, work) => {
      const before = { ...counted }
      await work()
      const { trips, calls } = steps[step] as Counted
      steps[step] = { trips: trips + counted.trips - before.trips, calls: calls + counted.calls - before.calls }
    })
  for (const { close } of instances) await close()
  return steps
}

function refreshTokenIn(reply: { statusCode: number; body: string }): string {
  const token = (JSON.parse(reply.body) as { refresh_token?: string }).refresh_token
  if (token === undefined) throw new Error(`no refresh token: ${reply.statusCode} ${reply.body}`)
  return token
}

/** Trips to the server for each call of the state. */
export async function journeyTable(): Promise<Table> {
  const rows: string[][] = []
  for (const [name, start] of [
    ['Redis', redisServer],
    ['PostgreSQL', postgresServer]
  ] as const) {
    const server = await start()
    for (const isSticky of [true, false]) {
      const steps = await walk(server, isSticky ? 'sticky' : 'in_turn', isSticky)
      const sum = (which: keyof Counted): number => steps.reduce((total, step) => total + step[which], 0)
      rows.push([
        `${name}, ${isSticky ? 'one instance' : 'four instances in turn'}`,
        ...steps.map(({ trips, calls }) => `${trips} / ${calls}`),
        (sum('trips') / sum('calls')).toFixed(2),
        isSticky ? '≤ 1.10' : '≤ 2.00'
      ])
    }
    await server.stop()
  }
  return {
    title: `trips / calls of the state on the way of ${PEOPLE} people, and trips a call`,
    columns: ['', ...STEPS, 'trips a call', 'goal'],
    rows
  }
}
