import { setImmediate } from 'node:timers/promises'
import t from '../support/tap.ts'
import { createHealth } from '../../lib/composition/health.ts'
import { memoryState } from '../../lib/index.ts'
import type { State } from '../../lib/ports/state.ts'
import { fastHasher } from '../../lib/testing/index.ts'
import { steppedClock } from '../../lib/testing/doubles.ts'
import { settingsOf } from '../../lib/composition/compose.ts'
import { ISSUER, PASSWORD, signUp, testApp } from '../support/app.ts'
import { KEYS } from '../support/openid.ts'

const IDLE = { running: 0, waiting: 0, maxQueue: 64 }
const SECRET_PLACE = 'connect ECONNREFUSED redis://admin:hunter2@10.0.0.5:6379'

/** A state that tries a write by `tryWrite`. */
const stateWith = (tryWrite: State['tryWrite']): State => ({ ...memoryState(), tryWrite })

t.test('reports a working service as ready', async (t) => {
  const { app, close } = await testApp({ rateLimit: {} })
  t.teardown(close)
  await app.inject('/.well-known/jwks.json')
  t.strictSame(await app.authority.health(), {
    ready: true,
    state: 'up',
    counters: 'up',
    keys: 'ready',
    keyAges: { ES256: 0 },
    passwords: IDLE
  })
  const unlimited = await testApp({ keys: KEYS })
  t.teardown(unlimited.close)
  t.match(await unlimited.app.authority.health(), { ready: true, counters: 'off' })
})

t.test('reports a service as ready right after the start, when its first key is still being made', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  t.match(await app.authority.health(), { ready: true, keys: 'ready' })
})

t.test('reports a failing or hanging state as down after a second, without the reason', async (t) => {
  let mode: 'rejects' | 'throws' | 'hangs' | 'works' = 'rejects'
  const state = stateWith(() => {
    if (mode === 'throws') throw new Error(SECRET_PLACE)
    if (mode === 'hangs') return new Promise(() => {})
    return mode === 'works' ? Promise.resolve() : Promise.reject(new Error(SECRET_PLACE))
  })
  const { app, clock, close } = await testApp({ state, keys: KEYS })
  t.teardown(close)
  for (mode of ['rejects', 'throws', 'hangs'] as const) {
    const asked = app.authority.health()
    for (let turn = 0; turn < 5; turn++) await setImmediate()
    if (mode === 'hangs') clock.step(1000)
    t.strictSame(
      await asked,
      { ready: false, state: 'down', counters: 'off', keys: 'ready', keyAges: {}, passwords: IDLE },
      mode
    )
  }
  mode = 'works'
  t.match(await app.authority.health(), { ready: true, state: 'up' }, 'and up again by itself')
})

t.test('reports the service as not ready without a signing key', async (t) => {
  const clock = steppedClock()
  const hashing = { load: () => ({ running: 1, waiting: 2 }) }
  const noKey = {
    ages: () => ({}),
    algs: () => ['ES256', 'RS256'],
    ready: async () => {},
    signingKey(alg?: string): never {
      if (alg === 'RS256') throw new Error(SECRET_PLACE)
      return undefined as never
    }
  }
  const health = createHealth(
    settingsOf({ issuer: ISSUER, users: { findById: async () => null, findByUsername: async () => null } }),
    {
      state: memoryState(),
      attempts: { reserve: () => ({ allowed: true, standings: [] }), refund() {} },
      ring: noKey,
      hashing,
      clock
    }
  )
  t.strictSame(await health(), {
    ready: false,
    state: 'up',
    counters: 'up',
    keys: 'missing',
    keyAges: {},
    passwords: { running: 1, waiting: 2, maxQueue: 64 }
  })
})

t.test('reports failing counters as not ready only when onStoreError is deny', async (t) => {
  const clock = steppedClock()
  const ring = { ages: () => ({}), algs: () => [], ready: async () => {}, signingKey: () => undefined as never }
  const hashing = { load: () => ({ running: 0, waiting: 0 }) }
  for (const [onStoreError, ready] of [
    ['local', true],
    ['allow', true],
    ['deny', false]
  ] as const) {
    for (const fails of ['throws', 'rejects', 'hangs'] as const) {
      const reserve = (): Promise<never> => {
        if (fails === 'throws') throw new Error(SECRET_PLACE)
        return fails === 'hangs' ? new Promise(() => {}) : Promise.reject(new Error(SECRET_PLACE))
      }
      const health = createHealth(
        settingsOf({
          issuer: ISSUER,
          users: { findById: async () => null, findByUsername: async () => null },
          rateLimit: { onStoreError }
        }),
        { state: memoryState(), attempts: { reserve, refund() {} }, ring, hashing, clock }
      )
      const asked = health()
      await setImmediate()
      clock.step(1000)
      t.strictSame(
        await asked,
        { ready, state: 'up', counters: 'down', keys: 'ready', keyAges: {}, passwords: IDLE },
        `${onStoreError}, ${fails}`
      )
    }
  }
})

t.test('shares one check among parallel health calls', async (t) => {
  let looks = 0
  const { app, close } = await testApp({
    state: stateWith(async () => {
      looks++
      await setImmediate()
    }),
    keys: KEYS
  })
  t.teardown(close)
  await Promise.all(Array.from({ length: 50 }, async () => await app.authority.health()))
  t.equal(looks, 1)
  await app.authority.health()
  t.equal(looks, 2, 'and the next one looks again')
})

t.test('reports the hashing queue, and stays ready when it is full', async (t) => {
  const fast = fastHasher()
  const held: Array<() => void> = []
  let holds = false
  const hasher = {
    ...fast,
    hash: async (...args: Parameters<typeof fast.hash>) => {
      if (holds)
        await new Promise<void>((resolve) => {
          held.push(resolve)
        })
      return await fast.hash(...args)
    }
  }
  const { app, close } = await testApp({ keys: KEYS, password: { hasher, concurrency: 1, maxQueue: 2 } })
  t.teardown(close)
  await signUp(app)
  holds = true
  const hashes = [1, 2, 3].map(async () => await app.authority.hashPassword(PASSWORD))
  await setImmediate()
  t.match(await app.authority.health(), { ready: true, passwords: { running: 1, waiting: 2, maxQueue: 2 } })
  holds = false
  held.splice(0).forEach((release) => {
    release()
  })
  await Promise.all(hashes)
  t.match(await app.authority.health(), { passwords: { running: 0, waiting: 0 } })
})
