/**
 * Rotation of shared signing keys without a refused token, while instances start and stop, the store fails and clocks
 * differ.
 */
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import Database from 'libsql'
import t, { type Test } from '../support/tap.ts'
import { AT_NIGHT } from '../support/at-night.ts'
import { type Clock, memoryUserStore, redisState, sqliteState } from '../../lib/index.ts'
import type { State } from '../../lib/ports/state.ts'
import { steppedClock, type SteppedClock } from '../../lib/testing/index.ts'
import { bearer, signIn, signUp, testApp, type TestApp } from '../support/app.ts'
import { decodeJwt } from '../support/jwt.ts'
import { settled, watchKeys } from '../support/settled.ts'
import { startRedis } from '../support/redis-server.ts'
import { patiently, publishedKids } from './support/published.ts'

const SECRET = 'of all the instances, of 32 bytes at least'
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const ROTATE_EVERY_MS = 90 * DAY_MS
const TOKEN_LIFETIME_MS = 15 * MINUTE_MS

interface Signed {
  kid: string
  diesAt: number
}
interface Copy {
  fetchedAt: number
  kids: string[]
}

t.teardown(watchKeys())

/** One SQLite file, with a connection for each instance. */
function sharedFile(t: Test): () => State {
  const file = join(t.testdir(), 'shared.db')
  return () => {
    const db = new Database(file)
    db.exec('PRAGMA synchronous = OFF')
    t.teardown(() => {
      db.close()
    })
    return sqliteState(db)
  }
}

function tokenMaker(clock: Clock, userId: string): (app: FastifyInstance) => Promise<{ token: string } & Signed> {
  return async (app) => {
    const { access_token: token } = await app.authority.issueTokens(userId)
    return { token, kid: String(decodeJwt(token).header['kid']), diesAt: clock.now() + TOKEN_LIFETIME_MS }
  }
}

/**
 * Steps the clock to `until`: by a minute around events of a key (announced, signs, retired), by six hours on the days
 * around a rotation, and by two days between them.
 */
function stepsTo(until: number): number[] {
  const steps: number[] = []
  const edges = [-DAY_MS, 0, 15 * MINUTE_MS, 25 * MINUTE_MS]
  const isNear = (at: number): boolean =>
    edges.some((edge) => {
      const offBy = (((at - edge) % ROTATE_EVERY_MS) + ROTATE_EVERY_MS) % ROTATE_EVERY_MS
      return offBy < 6 * MINUTE_MS || offBy > ROTATE_EVERY_MS - 6 * MINUTE_MS
    })
  for (let at = 0; at < until;) {
    const toRotation = ROTATE_EVERY_MS - (at % ROTATE_EVERY_MS)
    const longest =
      toRotation < 3 * DAY_MS || toRotation > ROTATE_EVERY_MS - DAY_MS
        ? 6 * HOUR_MS
        : Math.min(2 * DAY_MS, toRotation - 2 * DAY_MS)
    let step = MINUTE_MS
    while (step < longest && !isNear(at + step)) step += MINUTE_MS
    steps.push(step)
    at += step
  }
  return steps
}

t.test('accepts new tokens and publishes keys of unexpired ones at all instances across two rotations', async (t) => {
  const connect = sharedFile(t)
  const clock = steppedClock()
  const users = memoryUserStore()
  const start = async (): Promise<TestApp> => {
    const instance = await testApp({ clock, users, secret: SECRET, state: connect() })
    t.teardown(instance.close)
    return instance
  }
  const instances = await Promise.all([start(), start(), start()])
  const sign = tokenMaker(clock, (await signUp((instances[0] as TestApp).app)).sub)
  const beganAt = clock.now()
  /** Third parties that cache the key set, some as long as the route allows and some far longer. */
  const ages = [5 * MINUTE_MS, HOUR_MS, 23 * HOUR_MS]
  let copies: Copy[] = []
  let alive: Signed[] = []
  const signers = new Set<string>()
  const failures: string[] = []
  const fail = (what: string): void => {
    failures.push(`${((clock.now() - beganAt) / DAY_MS).toFixed(4)} d: ${what}`)
  }

  const steps = stepsTo(2 * ROTATE_EVERY_MS + HOUR_MS)
  for (const [index, step] of steps.entries()) {
    clock.step(step)
    // On every other step, the work that the clock has started is still running while tokens are signed and verified.
    if (index % 2 === 0) await settled()
    if (index % 7 === 0) {
      await instances.shift()?.close()
      instances.push(await start())
    }
    const now = clock.now()
    alive = alive.filter(({ diesAt }) => diesAt > now)
    const fresh = await Promise.all(instances.map(async ({ app }) => await sign(app)))
    for (const { app } of instances) {
      for (const { token, kid } of fresh)
        await app.authority.verify(token).catch((error: Error) => {
          fail(`${kid} refused: ${error.message}`)
        })
    }
    alive.push(...fresh.map(({ kid, diesAt }) => ({ kid, diesAt })))
    for (const { kid } of fresh) signers.add(kid)
    await settled()
    const published = await Promise.all(instances.map(async ({ app }) => await publishedKids(app)))
    for (const { kid } of alive)
      if (!published.every((kids) => kids.includes(kid))) fail(`${kid} is not published while a token of it lives`)
    for (const { kid } of fresh) {
      for (const age of ages) {
        const oldest = copies.filter(({ fetchedAt }) => fetchedAt >= now - age)
        const first = oldest[0]?.fetchedAt
        if (oldest.some(({ fetchedAt, kids }) => fetchedAt === first && !kids.includes(kid)))
          fail(`${kid} signs and is not in a copy of ${age / MINUTE_MS} minutes`)
      }
    }
    copies = [
      ...copies.filter(({ fetchedAt }) => fetchedAt >= now - DAY_MS),
      ...published.map((kids) => ({ fetchedAt: now, kids }))
    ]
  }
  t.strictSame(failures.slice(0, 10), [])
  t.equal(signers.size, 3, 'two rotations')
  t.equal((await publishedKids((instances[0] as TestApp).app)).length, 1, 'the former keys are retired')
})

/** A clock that is off by `skewMs` and steps with the other. */
function skewed(clock: SteppedClock, skewMs: number): Clock {
  return { ...clock, now: () => clock.now() + skewMs }
}

for (const apart of [
  [5 * MINUTE_MS, -5 * MINUTE_MS],
  [-5 * MINUTE_MS, 5 * MINUTE_MS],
  // Clocks with smaller differences.
  ...(AT_NIGHT ? [[5 * MINUTE_MS, 0] as const, [0, 5 * MINUTE_MS] as const] : [])
] as const) {
  t.test(
    `publishes keys of live tokens while two clocks are ${apart.map((ms) => ms / MINUTE_MS).join(' and ')} minutes off`,
    async (t) => {
      const connect = sharedFile(t)
      const truth = steppedClock()
      const users = memoryUserStore()
      const instances = await Promise.all(
        apart.map(async (skewMs) => {
          const clock = skewed(truth, skewMs)
          const instance = await testApp({ clock, users, secret: SECRET, state: connect() })
          t.teardown(instance.close)
          return { ...instance, clock }
        })
      )
      const { sub } = await signUp((instances[0] as TestApp).app)
      const signers = new Set<string>()
      const missing: string[] = []
      let alive: Signed[] = []
      for (const step of stepsTo(ROTATE_EVERY_MS + HOUR_MS)) {
        truth.step(step)
        await settled()
        const now = truth.now()
        alive = alive.filter(({ diesAt }) => diesAt > now)
        for (const { app, clock } of instances) {
          const { kid, diesAt } = await tokenMaker(clock, sub)(app)
          signers.add(kid)
          // The token lives longest by the slowest clock.
          alive.push({ kid, diesAt: diesAt - Math.min(...apart) })
        }
        const published = await Promise.all(instances.map(async ({ app }) => await publishedKids(app)))
        for (const { kid } of alive)
          if (!published.every((kids) => kids.includes(kid)))
            missing.push(`${kid} at ${(now % ROTATE_EVERY_MS) / MINUTE_MS}`)
      }
      t.strictSame(missing.slice(0, 5), [])
      t.equal(signers.size, 2, 'one rotation')
    }
  )
}

t.test('signs and verifies with known keys while the store is down, and rotates afterwards', async (t) => {
  const connect = sharedFile(t)
  const clock = steppedClock()
  const users = memoryUserStore()
  const server = { isDown: false }
  const start = async (): Promise<TestApp> => {
    const state = connect()
    const flaky =
      <Args extends unknown[], Answer>(call: (...args: Args) => Promise<Answer>) =>
      async (...args: Args): Promise<Answer> => {
        if (server.isDown) throw new Error('down')
        return await call(...args)
      }
    const keys = {
      list: flaky(state.keys.list),
      addIfAbsent: flaky(state.keys.addIfAbsent),
      retire: flaky(state.keys.retire),
      remove: flaky(state.keys.remove)
    }
    const instance = await testApp({ clock, users, secret: SECRET, state: { ...state, keys } })
    t.teardown(instance.close)
    return instance
  }
  const statusAt = async ({ app }: TestApp, token: string): Promise<number> =>
    (await app.inject({ url: '/me', headers: bearer(token) })).statusCode
  const [one, two] = await Promise.all([start(), start()])
  const sign = tokenMaker(clock, (await signUp(one.app)).sub)
  const { kid: firstKid } = await sign(one.app)
  await settled()

  server.isDown = true
  const late = await start()
  const { token } = await sign(one.app)
  t.equal(await statusAt(two, token), 200)
  const refused = await late.app.inject({ url: '/me', headers: bearer(token) })
  t.equal(refused.statusCode, 503, "an instance that has no key yet can't say that a token is bad")
  t.match(refused.headers, { 'retry-after': /^[1-9]/ })
  t.equal(refused.headers['www-authenticate'], undefined)
  t.equal((await late.app.inject('/.well-known/jwks.json')).statusCode, 503)
  t.equal(
    (
      await late.app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann', password: 'correct horse battery' }
      })
    ).statusCode,
    503
  )
  await t.rejects(late.app.authority.verify(token), { error: 'temporarily_unavailable' } as unknown as Error)
  t.equal(await statusAt(late, 'no.jwt.atall'), 401, 'what is no token at all needs no key')

  for (const [at, what] of [
    [89 * DAY_MS, 'the announcement'],
    [2 * DAY_MS, 'the rotation']
  ] as const) {
    for (let part = 0; part < 10; part++) {
      clock.step(at / 10)
      await settled()
    }
    const signed = await Promise.all([one, two].map(async ({ app }) => await sign(app)))
    t.strictSame(
      signed.map(({ kid }) => kid),
      [firstKid, firstKid],
      `${what} has to wait`
    )
    t.strictSame(
      await Promise.all([two, one].map(async (other, index) => await statusAt(other, signed[index]?.token ?? ''))),
      [200, 200]
    )
  }

  server.isDown = false
  clock.step(MINUTE_MS)
  // Waits for work that the clock starts, because keys are made and opened in threads.
  const announcedBy = async ({ app }: TestApp): Promise<string[]> =>
    await patiently(async () => {
      const kids = await publishedKids(app)
      if (kids.length !== 2) throw new Error('it has not recovered, or no next key is announced')
      return kids
    })
  await announcedBy(late)
  for (let minute = 0; minute < 3; minute++) {
    clock.step(MINUTE_MS)
    await settled()
  }
  const copy = await announcedBy(one)
  t.equal((await sign(two.app)).kid, firstKid, 'a full day before it signs')
  clock.step(DAY_MS)
  const next = await patiently(async () => {
    const signed = await Promise.all([one, two, late].map(async ({ app }) => await sign(app)))
    if (signed.some(({ kid }) => kid === firstKid)) throw new Error('the first key still signs')
    return signed
  })
  t.equal(new Set(next.map(({ kid }) => kid)).size, 1)
  t.ok(copy.includes(next[0]?.kid ?? ''))
  for (const instance of [one, two, late])
    for (const { token: other } of next) t.equal(await statusAt(instance, other), 200)
})

t.test('verifies tokens while Redis is down, and recovers instances that started meanwhile', async (t) => {
  const server = await startRedis({ appendOnly: true })
  t.teardown(server.stop)
  const users = memoryUserStore()
  const clock = steppedClock(Date.now())
  const start = async (): Promise<TestApp> => {
    const client = server.client({ retryStrategy: () => 50 })
    const instance = await testApp({ clock, users, secret: SECRET, state: redisState(client) })
    t.teardown(instance.close)
    return instance
  }
  const statusAt = async ({ app }: TestApp, token: string): Promise<number> =>
    (await app.inject({ url: '/me', headers: bearer(token) })).statusCode
  const [one, two] = [await start(), await start()]
  await signUp(one.app)
  const { access_token: token } = await patiently(async () => await signIn(one.app))
  t.equal(await statusAt(two, token), 200)
  const { access_token: unseen } = await patiently(async () => await signIn(one.app))

  await server.kill()
  const late = await start()
  t.equal(await statusAt(two, unseen), 200, 'a token that it sees for the first time')
  t.equal(await statusAt(late, token), 503)
  await server.restart()
  await patiently(async () => {
    clock.step(MINUTE_MS)
    if ((await statusAt(late, token)) !== 200) throw new Error('not yet')
  })
  t.strictSame(await publishedKids(late.app), await publishedKids(one.app))
  const { access_token: fresh } = await patiently(async () => await signIn(late.app))
  t.strictSame(
    await Promise.all([one, two, late].map(async (instance) => await statusAt(instance, fresh))),
    [200, 200, 200]
  )
})
