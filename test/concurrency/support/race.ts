import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance, InjectOptions } from 'fastify'
import Database from 'libsql'
import {
  type AuthorityOptions,
  memoryState,
  memoryUserStore,
  sqliteState,
  sqliteUserStore
} from '../../../lib/index.ts'
import { delayed, steppedClock, type SteppedClock } from '../../../lib/testing/index.ts'
import { AT_NIGHT } from '../../support/at-night.ts'
import { bearer, type LightMyRequestResponse, signUp, testApp, type TestApp } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import { basic, CLIENTS, KEYS, SECRET } from '../../support/openid.ts'

export interface World {
  /** Takes turns between the instances, request by request. */
  app: FastifyInstance
  instances: TestApp[]
  clock: SteppedClock
  browser(): TestBrowser
  ann: { sub: string; username: string }
}

type Setup = { teardown(task: () => unknown): void }

/**
 * The places of a race: every call of a store takes several turns of the event loop, so that parallel requests overtake
 * each other.
 */
const ALL_WORLDS: ReadonlyArray<
  readonly [name: string, make: (t: Setup, options?: Partial<AuthorityOptions>) => Promise<World>]
> = [
  [
    'one instance, memory',
    async (t, options = {}) =>
      await worldOf(t, [{ state: delayed(memoryState()), users: delayed(memoryUserStore()), ...options }])
  ],
  [
    'two instances, one SQLite file',
    async (t, options = {}) => {
      const directory = mkdtempSync(join(tmpdir(), 'authority-race-'))
      const open = (): Partial<AuthorityOptions> => {
        const db = new Database(join(directory, 'shared.db'))
        db.exec('PRAGMA synchronous = OFF')
        t.teardown(() => {
          db.close()
        })
        return { state: delayed(sqliteState(db)), users: delayed(sqliteUserStore(db)), ...options }
      }
      const world = await worldOf(t, [open(), open()])
      t.teardown(() => rm(directory, { recursive: true, force: true }))
      return world
    }
  ]
]

/** The rules are the same in each. Memory, which has a single instance, is tested at night. */
export const WORLDS = ALL_WORLDS.filter(([name]) => AT_NIGHT || !name.endsWith('memory'))

async function worldOf(t: Setup, stores: ReadonlyArray<Partial<AuthorityOptions>>): Promise<World> {
  const clock = steppedClock()
  const instances: TestApp[] = []
  for (const store of stores) {
    const instance = await testApp({ keys: KEYS, clients: CLIENTS, clock, ...store })
    t.teardown(instance.close)
    instances.push(instance)
  }
  let turn = 0
  const inject = (options: InjectOptions): unknown => instances[turn++ % instances.length]?.app.inject(options)
  const app = { inject, authority: instances[0]?.app.authority } as unknown as FastifyInstance
  return { app, instances, clock, browser: () => testBrowser(app), ann: await signUp(app) }
}

/** The head starts in turns of the event loop: from before the other's first step to after its last. */
export const DELAYS = [0, 4, 8, 12, 16, 20, 28, 40, 60]

export async function later<T>(turns: number, work: () => Promise<T>): Promise<T> {
  for (let turn = 0; turn < turns; turn++) await setImmediate()
  return await work()
}

interface Given {
  access_token: string
  refresh_token?: string
}

/** The tokens of an answer that still work, at each endpoint. */
export async function aliveOf(
  world: World,
  tokens: Given,
  client: { id: string; secret?: string } = { id: 'spa' }
): Promise<string[]> {
  const alive: string[] = []
  for (const { app } of world.instances) {
    const userinfo = await app.inject({ url: '/auth/userinfo', headers: bearer(tokens.access_token) })
    if (userinfo.statusCode !== 401) alive.push(`userinfo ${userinfo.statusCode}`)
    const sessions = await app.inject({ url: '/auth/sessions', headers: bearer(tokens.access_token) })
    // 403: third-party clients have no rights there, with valid tokens or not.
    if (![401, 403].includes(sessions.statusCode)) alive.push(`sessions ${sessions.statusCode}`)
  }
  if (tokens.refresh_token !== undefined) {
    const refreshed = await refresh(world, tokens.refresh_token, client)
    if (refreshed.statusCode !== 400) alive.push(`refresh ${refreshed.statusCode}`)
  }
  return alive
}

export async function refresh(
  { app }: Pick<World, 'app'>,
  token: string,
  { id, secret }: { id: string; secret?: string } = { id: 'spa' }
): Promise<LightMyRequestResponse> {
  return await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: secret === undefined ? {} : basic(id, secret),
    payload: { grant_type: 'refresh_token', refresh_token: token, ...(secret === undefined ? { client_id: id } : {}) }
  })
}

export const THIRD = {
  client_id: 'third',
  redirect_uri: 'https://third.example/cb',
  scope: 'openid offline_access',
  prompt: 'consent'
}
export const THIRD_SECRET = { id: 'third', secret: SECRET }
