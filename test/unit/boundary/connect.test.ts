/** The clock of the store server, and the start of the plugin while a store does not answer. */
import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t from '../../support/tap.ts'
import authPlugin, { memoryState, memoryUserStore } from '../../../lib/index.ts'
import type { State } from '../../../lib/ports/state.ts'
import { OutageError } from '../../../lib/ports/outage.ts'
import { createEvents } from '../../../lib/events/emitter.ts'
import { connectStores } from '../../../lib/composition/stores.ts'
import { settingsOf } from '../../../lib/composition/compose.ts'
import { fastHasher } from '../../../lib/testing/index.ts'
import { ISSUER, signIn, signUp, testApp } from '../../support/app.ts'
import { settlesWithin } from '../../support/in-time.ts'
import { decodeJwt } from '../../support/jwt.ts'

const SKEW_MS = 300_000
/** The difference that the tests allow for the time that a request to the server takes. */
const SLACK_MS = 5000
const SECRET = 'of a shared state, of 32 bytes at least'

function stateWithTime(time: () => Promise<number>): State {
  return { ...memoryState(), kind: 'test', shared: true, time }
}

/** True if the token that `work` returns was issued during the work by a clock that is off by `skewMs`. */
async function issuedMeanwhile(skewMs: number, work: () => Promise<string>): Promise<boolean> {
  const before = Date.now()
  const { claims } = decodeJwt(await work())
  const issuedAt = Number(claims['iat']) * 1000 - skewMs
  return issuedAt > before - SLACK_MS && issuedAt < Date.now() + SLACK_MS
}

async function realApp(state: State, log: Array<Record<string, unknown>> = []): Promise<FastifyInstance> {
  const app = Fastify({
    logger: {
      level: 'warn',
      stream: {
        write: (line: string) => {
          log.push(JSON.parse(line) as Record<string, unknown>)
        }
      }
    }
  }) as unknown as FastifyInstance
  await app.register(authPlugin, {
    issuer: ISSUER,
    users: memoryUserStore(),
    state,
    secret: SECRET,
    rateLimit: false,
    registration: { username: 'any' },
    password: { hasher: fastHasher() }
  })
  await app.ready()
  return app
}

for (const skewMs of [SKEW_MS, -SKEW_MS]) {
  t.test(`signs with the time of a server that is ${skewMs / 1000} s off, and logs the difference`, async (t) => {
    const log: Array<Record<string, unknown>> = []
    const app = await realApp(
      stateWithTime(async () => Date.now() + skewMs),
      log
    )
    t.teardown(async () => {
      await app.close()
    })
    await signUp(app)
    t.equal(await issuedMeanwhile(skewMs, async () => (await signIn(app)).access_token), true)
    t.match(
      log.find(({ skewMs: told }) => told !== undefined),
      { msg: /clock differs/ }
    )
  })
}

t.test('does not ask the store server for the time when the option clock is set', async (t) => {
  let asked = 0
  const subject = await testApp({
    secret: SECRET,
    state: stateWithTime(async () => {
      asked++
      return 0
    })
  })
  t.teardown(subject.close)
  subject.clock.step(180_000)
  for (let turn = 0; turn < 20; turn++) await setImmediate()
  await signUp(subject.app)
  const { claims } = decodeJwt((await signIn(subject.app)).access_token)
  t.equal(Number(claims['iat']), Math.floor(subject.clock.now() / 1000))
  t.equal(asked, 0)
})

for (const [what, time] of [
  [
    'rejects',
    async () => {
      throw new Error('down')
    }
  ],
  ['hangs', async () => await new Promise<never>(() => {})]
] as const) {
  t.test(`starts with the local clock when the request for the server time ${what}`, async (t) => {
    // Keep the process alive, because the timers of the plugin do not.
    const alive = setInterval(() => {}, 1000)
    t.teardown(() => {
      clearInterval(alive)
    })
    const starting = realApp(stateWithTime(time))
    t.equal(await settlesWithin(6000, starting), true)
    const app = await starting
    t.teardown(async () => {
      await app.close()
    })
    await signUp(app)
    t.equal(await issuedMeanwhile(0, async () => (await signIn(app)).access_token), true)
  })
}

t.test('sweeps the state even when the clock of the server hangs', async (t) => {
  let sweeps = 0
  const state: State = {
    ...stateWithTime(async () => await new Promise<never>(() => {})),
    sweep() {
      sweeps++
    }
  }
  const stores = connectStores(settingsOf({ issuer: ISSUER, users: memoryUserStore(), state }), {
    redis: null,
    owner: { issuer: ISSUER, prefix: '/auth' },
    events: createEvents(
      () => 0,
      () => {}
    ),
    log: Fastify().log
  })
  // Keep the process alive, because the timers of the plugin do not.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => {
    clearInterval(alive)
  })
  t.equal(await settlesWithin(4000, Promise.resolve(stores.sweep())), true)
  t.equal(sweeps, 1)
})

// covers B11
t.test('signs no token with the time of a wrong local clock after a start during an outage', async (t) => {
  const isDown = { state: true }
  const real = memoryState()
  const guarded = <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get:
        (target, name, receiver) =>
        (...args: unknown[]): unknown => {
          if (isDown.state) throw new OutageError('down')
          return Reflect.apply(Reflect.get(target, name, receiver) as (...given: unknown[]) => unknown, target, args)
        }
    })
  const behindMs = 3_600_000
  const state: State = {
    ...real,
    kind: 'test',
    shared: true,
    tokens: guarded(real.tokens),
    keys: guarded(real.keys),
    browserSessions: guarded(real.browserSessions),
    time: async () => {
      if (isDown.state) throw new OutageError('down')
      return Date.now() - behindMs
    }
  }
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => {
    clearInterval(alive)
  })
  const app = await realApp(state)
  t.teardown(async () => {
    await app.close()
  })
  const body = { username: 'ann@example.com', password: 'correct horse battery staple' }
  await app.inject({ method: 'POST', url: '/auth/register', payload: body })
  isDown.state = false
  for (let tries = 0; tries < 100; tries++) {
    const before = Date.now()
    const reply = await app.inject({ method: 'POST', url: '/auth/token', payload: { grant_type: 'password', ...body } })
    if (reply.statusCode !== 200) {
      t.equal(reply.statusCode, 503)
      await delay(50)
      continue
    }
    const { claims } = decodeJwt(reply.json<{ access_token: string }>().access_token)
    const issuedAt = Number(claims['iat']) * 1000 + behindMs
    t.ok(
      issuedAt > before - SLACK_MS && issuedAt < Date.now() + SLACK_MS,
      'the first token bears the time of the server'
    )
    return
  }
  t.fail('it never signed anything')
})
