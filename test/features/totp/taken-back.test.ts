/**
 * Removes an invalid factor after a lost first factor, an outage, a reset or a removed account, and keeps the time of a
 * connection sign-in.
 */
import { cookieName } from '../../support/cookies.ts'
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryState, memoryUserStore, type UserStore } from '../../../lib/index.ts'
import type { FactorStore } from '../../../lib/ports/factor-store.ts'
import { testApp, signUp } from '../../support/app.ts'
import { testBrowser, type TestBrowser } from '../../support/browser.ts'
import { codeFor, formOf, logIn, makesCodes } from '../../support/factors.ts'
import { logLines } from '../../support/log-lines.ts'
import { connectApp } from '../../http/connect/support.ts'
import { ask, emailApp, enter } from '../email-codes/support.ts'

const SET_UP = '/auth/second-factor/set-up'
const KEY = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
const secretIn = (body: string): string => (/<code dir="ltr">([A-Z2-7 ]+)</.exec(body)?.[1] ?? '').replaceAll(' ', '')

/** Runs a task before or after a method of a store, once. */
function hooked<Store extends object>(store: Store) {
  const hooks = new Map<string, () => Promise<void>>()
  const once = async (name: string): Promise<void> => {
    const act = hooks.get(name)
    hooks.delete(name)
    await act?.()
  }
  return {
    store: new Proxy(store, {
      get(target, name: string) {
        const act = Reflect.get(target, name) as unknown
        if (typeof act !== 'function') return act
        return async (...given: unknown[]) => {
          await once(`before ${name}`)
          const done = await (act as (...of: unknown[]) => Promise<unknown>).apply(target, given)
          await once(`after ${name}`)
          return done
        }
      }
    }),
    on: (when: string, act: () => Promise<void>) => {
      hooks.set(when, act)
    }
  }
}

/** The form of an enrolment. Resolves to a function that sends it. */
async function prepared(browser: TestBrowser, clock: { now(): number }, page: string) {
  const { body } = await browser.get(page)
  const { action, fields } = formOf(body)
  return async () => await browser.submit(action, { ...fields, code: codeFor(secretIn(body), clock.now()), name: '' })
}

t.test('stores no factor if the identity link or the mailbox changes during its set-up', async (t) => {
  const left = async (factors: FactorStore, userId: string) =>
    await factors.findFactors(userId).then(({ totp, recoveryCodesLeft }) => [totp.length, recoveryCodesLeft])
  {
    const { store, on } = hooked(memoryFactorStore())
    const test = await connectApp(t, { factors: store, mfa: { required: true } })
    await test.through()
    const sub = String(test.events.find(({ name }) => name === 'registered')?.payload.userId)
    await test.app.authority.changePassword(sub, 'correct horse battery staple')
    const browser = testBrowser(test.app)
    await test.through('', browser)
    const send = await prepared(browser, test.clock, SET_UP)
    on('before addTotp', async () => {
      const [link] = await test.app.authority.identities(sub)
      t.equal(await test.app.authority.unlinkIdentity(sub, link?.id ?? ''), 'unlinked')
    })
    t.match(await send(), { statusCode: 401, body: /^(?![^]*<li><code>)/ }, 'no recovery codes either')
    t.same(await left(store, sub), [0, 0], 'a connection that was unlinked')
  }
  const { store, on } = hooked(memoryFactorStore())
  const users = memoryUserStore()
  const test = await emailApp(t, { factors: store, users, mfa: { required: true } })
  await ask(test.browser)
  await enter(test.browser, (await test.mail()).code)
  const send = await prepared(test.browser, test.clock, SET_UP)
  on('before addTotp', async () => {
    await users.update?.(test.sub, { email: 'new@mail.example', username: 'new@mail.example', emailVerified: true })
  })
  t.match(await send(), { statusCode: 401 })
  t.same(await left(store, test.sub), [0, 0], 'a mailbox that is not theirs any more')
})

t.test('removes a factor after the store recovers, if the check after its addition failed', async (t) => {
  for (const what of ['findFactors', 'findById', 'removeFactor', 'revokeFamiliesOfUser']) {
    let isDown = false
    const breaking = <Store extends object>(store: Store): Store =>
      new Proxy(store, {
        get: (target, name, receiver) =>
          name === what && isDown
            ? async () => {
                throw Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED' })
              }
            : (Reflect.get(target, name, receiver) as unknown)
      })
    const { store, on } = hooked(breaking(memoryFactorStore()))
    // A set-up before the sign-in ends the other sign-ins of the user by this call.
    const isSetUp = what === 'revokeFamiliesOfUser'
    const state = memoryState()
    const { app, clock, events, close } = await testApp({
      factors: store,
      users: breaking(memoryUserStore() as UserStore),
      state: { ...state, tokens: breaking(state.tokens) },
      mfa: { required: isSetUp }
    })
    const { sub } = await signUp(app)
    const browser = testBrowser(app)
    await logIn(browser)
    const send = await prepared(browser, clock, isSetUp ? SET_UP : '/auth/security/totp')
    if (!isSetUp)
      on('before addTotp', async () => {
        await app.authority.changePassword(sub, 'correct horse battery staple')
      })
    on('after addTotp', async () => {
      isDown = true
    })
    t.equal((await send()).statusCode, 503, what)
    isDown = false
    // Resolves after background work.
    await close()
    t.match(await store.findFactors(sub), { totp: [], recoveryCodesLeft: 0 }, what)
    t.notOk(events.some(({ name }) => name === 'factor_added'))
  }
})

/** A user whose account is reset while they set up an app, and a store that fails this many of its removals. */
async function failing(times: number) {
  const refused = { count: 0 }
  const waiting = new Map<number, () => void>()
  const breaking = (store: FactorStore): FactorStore =>
    new Proxy(store, {
      get(target, name, receiver) {
        const act = Reflect.get(target, name, receiver) as unknown
        if (name !== 'removeFactor') return act
        return async (...given: Parameters<FactorStore['removeFactor']>) => {
          refused.count++
          // This call returns after the waiting code has continued.
          setImmediate(() => {
            waiting.get(refused.count)?.()
          })
          if (refused.count <= times) throw Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED' })
          return await target.removeFactor(...given)
        }
      }
    })
  const { store, on } = hooked(breaking(memoryFactorStore()))
  const { lines, stream } = logLines()
  const { app, clock, close } = await testApp({ factors: store }, { logger: { level: 'error', stream } })
  const { sub } = await signUp(app)
  const browser = testBrowser(app)
  await logIn(browser)
  const send = await prepared(browser, clock, '/auth/security/totp')
  on('before addTotp', async () => {
    await app.authority.changePassword(sub, 'correct horse battery staple')
  })
  return {
    store,
    sub,
    clock,
    send,
    close,
    called: async (count: number) => {
      if (refused.count < count)
        await new Promise<void>((resolve) => {
          waiting.set(count, resolve)
        })
    },
    calls: () => refused.count,
    told: () =>
      lines.filter(({ msg }) => String(msg).includes('could not be taken back')).map(({ code, level }) => [code, level])
  }
}

t.test('retries the removal of an invalid factor while the store is down, and logs a failure', async (t) => {
  const DELAYS = [1_000, 10_000, 60_000]
  {
    const { store, sub, clock, send, called, told, close } = await failing(4)
    t.equal((await send()).statusCode, 503)
    await called(2)
    for (const [index, delay] of DELAYS.entries()) {
      t.equal((await store.findFactors(sub)).totp.length, 1, `still there before attempt ${index + 2}`)
      clock.step(delay)
      await called(index + 3)
    }
    t.same((await store.findFactors(sub)).totp, [], 'once the store is up')
    await close()
    t.same(told(), [])
  }
  {
    const { store, sub, clock, send, called, calls, told, close } = await failing(Infinity)
    t.equal((await send()).statusCode, 503)
    await called(2)
    for (const [index, delay] of DELAYS.entries()) {
      clock.step(delay)
      await called(index + 3)
    }
    clock.step(3_600_000)
    await close()
    t.equal((await store.findFactors(sub)).totp.length, 1)
    t.same([calls(), told()], [5, [['FST_AUTHORITY_WORK_FAILED', 50]]], 'one attempt at once and four behind the reply')
  }
  {
    const { store, sub, send, called, told, close } = await failing(2)
    t.equal((await send()).statusCode, 503)
    await called(2)
    await close()
    t.same((await store.findFactors(sub)).totp, [], 'at the stop of the server, without waiting')
    t.same(told(), [])
  }
})

t.test('removes factors that a sign-in adds during a reset', async (t) => {
  const { store, on } = hooked(memoryFactorStore())
  const { app, clock, close } = await testApp({ factors: store })
  t.teardown(close)
  const { sub } = await signUp(app)
  await app.authority.importTotp(sub, { secret: KEY })
  const thief = testBrowser(app)
  on('before removeFactorsOfUser', async () => {
    await logIn(thief)
    await thief.submit('/auth/second-factor', { code: codeFor(KEY, clock.now()) })
  })
  on('after removeFactorsOfUser', async () => {
    const added = await (await prepared(thief, clock, '/auth/security/totp'))()
    t.ok(makesCodes(added), 'it is in time')
  })
  t.equal(await app.authority.resetFactors(sub), 2)
  t.match(await store.findFactors(sub), { totp: [], recoveryCodesLeft: 0 })
})

t.test('stores no imported app for a user removed meanwhile', async (t) => {
  const { store, on } = hooked(memoryFactorStore())
  const { app, close } = await testApp({ factors: store })
  t.teardown(close)
  const { sub } = await signUp(app)
  on('before addTotp', async () => {
    await app.authority.deleteUser(sub)
  })
  await t.rejects(app.authority.importTotp(sub, { secret: KEY }), { error: 'invalid_grant' } as unknown as Error)
  t.same((await store.findFactors(sub)).totp, [])
})

t.test('keeps the authentication time of the provider after a code or a change of factors', async (t) => {
  const test = await connectApp(t, { factors: memoryFactorStore(), mfa: { rememberDevice: {} } })
  const { app, browser, clock } = test
  const mayChange = async (): Promise<boolean> => secretIn((await browser.get('/auth/security/totp')).body) !== ''
  await test.through()
  const sub = (await test.who()) ?? ''
  await app.authority.importTotp(sub, { secret: KEY })
  await test.through()
  await browser.submit('/auth/second-factor', { code: codeFor(KEY, clock.now()), remember: 'on' })
  t.equal(await mayChange(), true, 'both just now')
  clock.step(60_000)
  browser.cookies.delete(cookieName('session'))
  await test.through()
  t.equal(await test.who(), sub, 'the browser is remembered')
  clock.step(3_600_000)
  t.equal(
    (await browser.submit('/auth/second-factor?return_to=%2Fx', { code: codeFor(KEY, clock.now()) })).statusCode,
    303
  )
  t.equal(await mayChange(), false, 'the code is of now, and the sign-in an hour old')

  const other = await connectApp(t, { factors: memoryFactorStore() })
  await other.through()
  other.clock.step(280_000)
  t.ok(makesCodes(await (await prepared(other.browser, other.clock, '/auth/security/totp'))()))
  other.clock.step(280_000)
  t.equal(
    secretIn((await other.browser.get('/auth/security/totp')).body),
    '',
    'more than five minutes after the sign-in'
  )
})
