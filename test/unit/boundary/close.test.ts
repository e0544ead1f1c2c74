/** A closed app leaves no timer and no abandoned call, whatever its stores do. */
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from '../../support/tap.ts'
import { memoryState, memoryUserStore } from '../../../lib/index.ts'
import { changedStores, type State } from '../../../lib/ports/state.ts'
import { bearer, signIn, signUp, testApp, type TestApp } from '../../support/app.ts'
import { countingClock } from './counting-clock.ts'

const SECRET = 'of an app that closes, of 32 bytes at least'

type Clock = ReturnType<typeof countingClock>

async function turns(count = 30): Promise<void> {
  for (let turn = 0; turn < count; turn++) await setImmediate()
}

function unhandled(t: Test): unknown[] {
  const found: unknown[] = []
  const listener = (reason: unknown): void => {
    found.push(reason)
  }
  process.on('unhandledRejection', listener)
  t.teardown(() => {
    process.off('unhandledRejection', listener)
  })
  return found
}

const never = async (): Promise<never> => await new Promise<never>(() => {})

/** A state that answers until it is told to hang. */
function hanging(): { state: State; hang(): void } {
  const memory = memoryState()
  let hangs = false
  const store = <Store extends object>(inner: Store): Store =>
    new Proxy(inner, {
      get:
        (target, name, receiver) =>
        async (...args: unknown[]) =>
          hangs
            ? await never()
            : await (Reflect.get(target, name, receiver) as (...given: unknown[]) => unknown).apply(target, args)
    })
  return {
    state: {
      kind: 'test',
      shared: true,
      ...changedStores(memory, store),
      tryWrite: memory.tryWrite,
      sweep: async (now) => {
        if (hangs) await never()
        await memory.sweep(now)
      }
    },
    hang() {
      hangs = true
    }
  }
}

async function closeWithin(subject: TestApp, clock: Clock, ms: number): Promise<boolean> {
  let closed = false
  const closing = subject.close().then(() => {
    closed = true
  })
  for (let waited = 0; waited < ms && !closed; waited += 100) {
    await turns(5)
    clock.step(100)
  }
  await turns()
  if (closed) await closing
  return closed
}

t.test('leaves no timer after an app was used and closed', async (t) => {
  const clock = countingClock()
  const rejections = unhandled(t)
  const subject = await testApp({ clock, secret: SECRET, rateLimit: {} })
  await signUp(subject.app)
  const { refresh_token: token } = await signIn(subject.app)
  await subject.app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(token) })
  await turns()
  t.ok(clock.waiting() > 0)
  await subject.close()
  await turns()
  t.equal(clock.waiting(), 0)
  t.strictSame(rejections, [])
})

t.test('schedules no other sweep when the app closes during a sweep', async (t) => {
  const clock = countingClock()
  const memory = memoryState()
  let finish = (): void => {}
  const subject = await testApp({
    clock,
    secret: SECRET,
    state: {
      ...memory,
      kind: 'test',
      sweep: async () => {
        await new Promise<void>((resolve) => {
          finish = resolve
        })
      }
    }
  })
  await turns()
  clock.step(60_000)
  await turns()
  await subject.close()
  finish()
  await turns()
  t.equal(clock.waiting(), 0)
})

t.test('schedules no other key check when the app closes during a key check', async (t) => {
  const clock = countingClock()
  const { state, hang } = hanging()
  const subject = await testApp({ clock, secret: SECRET, state })
  await turns()
  hang()
  clock.step(60_000)
  await turns()
  await subject.close()
  clock.step(10_000)
  await turns()
  t.equal(clock.waiting(), 0)
})

t.test('closes within six seconds and answers a running refresh with 503 when the state hangs', async (t) => {
  const clock = countingClock()
  const rejections = unhandled(t)
  const { state, hang } = hanging()
  const subject = await testApp({ clock, secret: SECRET, state })
  await signUp(subject.app)
  const { refresh_token: token } = await signIn(subject.app)
  await turns()
  hang()
  const refreshed = subject.app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(token) })
  await turns()
  t.ok(await closeWithin(subject, clock, 6000))
  clock.step(2000)
  t.equal((await refreshed).statusCode, 503)
  await turns()
  t.equal(clock.waiting(), 0)
  t.strictSame(rejections, [])
})

t.test('closes within six seconds when the user store hangs during background work', async (t) => {
  const clock = countingClock()
  const rejections = unhandled(t)
  const users = memoryUserStore()
  let hangs = false
  const subject = await testApp({
    clock,
    secret: SECRET,
    users: { ...users, findByUsername: async (name) => (hangs ? await never() : await users.findByUsername(name)) }
  })
  await signUp(subject.app)
  hangs = true
  t.equal(
    (await subject.app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: 'ann' } }))
      .statusCode,
    202
  )
  await turns()
  t.ok(await closeWithin(subject, clock, 6000))
  clock.step(10_000)
  await turns()
  t.equal(clock.waiting(), 0)
  t.strictSame(rejections, [])
})
