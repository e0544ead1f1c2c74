/**
 * Compares the trips to the server of the state over one journey in this checkout and another one:
 * node --import ./scripts/typescript-loader.mjs bench/beside/trips.ts CHECKOUT [redis] [postgres]
 * The journey: a person signs in on one of four instances, the code is redeemed on the next one, and the refresh token
 * is rotated ten times, either on the same instance (sticky) or on all four in turn. A trip is one write to Redis,
 * which carries all scripts of a turn of the event loop, or one query to PostgreSQL. Limits are off.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Pool } from 'pg'
import type * as libraryModule from '../../lib/index.ts'
import type * as appModule from '../../test/support/app.ts'
import type * as browserModule from '../../test/support/browser.ts'
import type * as openidModule from '../../test/support/openid.ts'
import { startPostgres } from '../../test/support/postgres-server.ts'
import { startRedis } from '../../test/support/redis-server.ts'

const INSTANCES = 4
const PEOPLE = 8
const ROTATIONS = 10
const STEPS = ['sign-in and code', 'redemption', `${ROTATIONS} rotations`] as const

interface Modules {
  library: typeof libraryModule
  app: typeof appModule
  openid: typeof openidModule
  browser: typeof browserModule
}

/** Makes one state for each instance, and counts the trips of all of them. */
interface Database {
  stateOf(library: Modules['library'], name: string): Promise<ReturnType<typeof libraryModule.memoryState>>
  trips(): number
  stop(): Promise<void>
}

async function redisDatabase(): Promise<Database> {
  const server = await startRedis()
  let trips = 0
  return {
    async stateOf(library, name) {
      const client = server.client()
      await client.ping()
      const write = client.stream.write.bind(client.stream)
      client.stream.write = ((...args: Parameters<typeof write>) => {
        trips++
        return write(...args)
      }) as typeof client.stream.write
      return library.redisState(client, { prefix: `${name}:` })
    },
    trips: () => trips,
    stop: async () => await server.stop()
  }
}

async function postgresDatabase(): Promise<Database> {
  const server = await startPostgres()
  const databases = new Map<string, Awaited<ReturnType<typeof server.database>>>()
  let trips = 0
  const counted = (pool: Pool): Pool =>
    pool.on('connect', (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => unknown
      client.query = ((...args: unknown[]) => {
        trips++
        return query(...args)
      }) as typeof client.query
    })
  return {
    async stateOf(library, name) {
      const database = databases.get(name) ?? (await server.database())
      databases.set(name, database)
      return library.postgresState(counted(database.pool({ max: 2 })))
    },
    trips: () => trips,
    stop: async () => await server.stop()
  }
}

async function modulesOf(checkout: string): Promise<Modules> {
  const load = async <Module>(file: string): Promise<Module> =>
    (await import(pathToFileURL(resolve(checkout, file)).href)) as Module
  return {
    library: await load('lib/index.ts'),
    app: await load('test/support/app.ts'),
    openid: await load('test/support/openid.ts'),
    browser: await load('test/support/browser.ts')
  }
}

/** The trips of each step, all people together. */
async function tripsOf(modules: Modules, database: Database, name: string, isSticky: boolean): Promise<number[]> {
  const { library, app, openid, browser } = modules
  const users = library.memoryUserStore()
  const instances: appModule.TestApp[] = []
  while (instances.length < INSTANCES) {
    const state = await database.stateOf(library, name)
    instances.push(await app.testApp({ keys: openid.KEYS, clients: openid.CLIENTS, users, state }))
  }
  const on = (turn: number): appModule.TestApp['app'] => (instances[turn % INSTANCES] as appModule.TestApp).app

  async function journey(turn: number, count: (step: number, work: () => Promise<void>) => Promise<void>) {
    const username = `person-${turn}`
    await app.signUp(on(turn), username)
    let code = ''
    let token = ''
    await count(0, async () => {
      const path = openid.authorizePath({ scope: 'openid offline_access' })
      code = (await openid.authorizeAs(browser.testBrowser(on(turn), app.ISSUER), path, { username })).code ?? ''
    })
    await count(1, async () => {
      token = refreshTokenIn(await openid.redeem(on(turn + 1), code))
    })
    await count(2, async () => {
      for (let rotation = 0; rotation < ROTATIONS; rotation++) {
        const payload = { grant_type: 'refresh_token', refresh_token: token, client_id: 'spa' }
        const instance = on(isSticky ? turn + 1 : turn + 2 + rotation)
        token = refreshTokenIn(await instance.inject({ method: 'POST', url: '/auth/token', payload }))
      }
    })
  }

  const trips = STEPS.map(() => 0)
  // Each instance loads its scripts and makes its connections first.
  for (let turn = 0; turn < INSTANCES; turn++) await journey(turn, async (_step, work) => await work())
  for (let turn = INSTANCES; turn < INSTANCES + PEOPLE; turn++)
    await journey(turn, async (step, work) => {
      const before = database.trips()
      await work()
      trips[step] = (trips[step] ?? 0) + database.trips() - before
    })
  for (const { close } of instances) await close()
  return trips
}

function refreshTokenIn(reply: { statusCode: number; body: string }): string {
  const token = (JSON.parse(reply.body) as { refresh_token?: string }).refresh_token
  if (token === undefined) throw new Error(`no refresh token: ${reply.statusCode} ${reply.body}`)
  return token
}

const [checkout, ...stores] = process.argv.slice(2)
if (checkout === undefined) throw new Error('Name the checkout to compare with.')
const sides = { before: await modulesOf(checkout), now: await modulesOf('.') }
for (const store of stores.length === 0 ? ['redis', 'postgres'] : stores) {
  const database = await (store === 'redis' ? redisDatabase() : postgresDatabase())
  for (const isSticky of [true, false]) {
    const name = isSticky ? 'sticky' : 'in_turn'
    const before = await tripsOf(sides.before, database, `before_${name}`, isSticky)
    const now = await tripsOf(sides.now, database, `now_${name}`, isSticky)
    const each = STEPS.map((step, at) => `${step} ${before[at]} → ${now[at]}`).join(', ')
    const sum = (trips: readonly number[]): number => trips.reduce((total, one) => total + one, 0)
    console.log(
      `${store}, ${isSticky ? 'sticky' : 'in turn'}: ratio ${(sum(now) / sum(before)).toFixed(2)} (${each}; ` +
        `${PEOPLE} people)`
    )
  }
  await database.stop()
}
process.exit()
