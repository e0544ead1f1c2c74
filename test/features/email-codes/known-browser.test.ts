/** Strangers ask for a user's codes, or guess at them, while the user has a known browser. */
import { cookieName } from '../../support/cookies.ts'
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryState, memoryUserStore } from '../../../lib/index.ts'
import { testBrowser } from '../../support/browser.ts'
import { ANN, ask, emailApp, enter, hasSession, otherThan, PAGE, STRANGER } from './support.ts'

const SIGNED_OUT = [cookieName('session'), cookieName('waiting')]

/** Ann, signed out in a browser in which she had signed in by a code. */
async function annAtHome(t: Parameters<typeof emailApp>[0], options: Parameters<typeof emailApp>[1] = {}) {
  const subject = await emailApp(t, options)
  const { browser } = subject
  await ask(browser)
  await enter(browser, (await subject.mail()).code)
  if (!hasSession(browser)) throw new Error('Ann is not signed in')
  for (const name of SIGNED_OUT) browser.cookies.delete(name)
  return subject
}

t.test('accepts code requests from a known browser after strangers reached the limit', async (t) => {
  const subject = await annAtHome(t, { rateLimit: { emailCode: { windowMs: 3_600_000, max: 3 }, register: false } })
  const from = async (browser: typeof subject.browser, address: string, username = ANN) =>
    (
      await subject.app.inject({
        method: 'POST',
        url: '/auth/email-code',
        remoteAddress: address,
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'sec-fetch-site': 'same-origin',
          origin: 'http://localhost:3000',
          cookie: [...browser.cookies].map((pair) => pair.join('=')).join('; ')
        },
        payload: new URLSearchParams({ username }).toString()
      })
    ).statusCode
  subject.clock.step(3_600_000)
  const stranger = testBrowser(subject.app)
  t.same(
    [
      await from(stranger, '192.0.2.1'),
      await from(stranger, '192.0.2.2'),
      await from(stranger, '192.0.2.3'),
      await from(stranger, '192.0.2.4')
    ],
    [303, 303, 303, 429]
  )
  t.same(
    [
      await from(subject.browser, '192.0.2.5'),
      await from(subject.browser, '192.0.2.6'),
      await from(subject.browser, '192.0.2.7'),
      await from(subject.browser, '192.0.2.8')
    ],
    [303, 303, 303, 429],
    'it has three of its own'
  )
  t.equal(await from(subject.browser, '192.0.2.9', STRANGER), 303, 'of others')
  t.same(
    [
      await from(subject.browser, '192.0.2.10', STRANGER),
      await from(subject.browser, '192.0.2.11', STRANGER),
      await from(stranger, '192.0.2.12', STRANGER)
    ],
    [303, 303, 429],
    'it is a stranger as any'
  )
})

t.test('forgets a known browser when the password changes, and rejects a made-up cookie', async (t) => {
  const subject = await annAtHome(t)
  const stranger = testBrowser(subject.app)
  const device = subject.browser.cookies.get(cookieName('device')) ?? ''
  const spend = async (): Promise<void> => {
    await ask(stranger)
    const { code } = await subject.mail()
    for (let index = 0; index < 5; index++) await enter(stranger, otherThan(code, index))
  }
  await spend()
  for (const made of [
    device.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    device.split('.')[0] ?? '',
    'x',
    ''
  ]) {
    subject.browser.cookies.set(cookieName('device'), made)
    await ask(subject.browser)
    t.match((await enter(subject.browser, (await subject.mail()).code)).body, /Too many wrong codes/, made.slice(0, 5))
  }
  subject.browser.cookies.set(cookieName('device'), device)
  t.equal(
    await subject.users.setPasswordHash?.(subject.sub, '$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAA'),
    true
  )
  await ask(subject.browser)
  t.match((await enter(subject.browser, (await subject.mail()).code)).body, /Too many wrong codes/)
})

t.test('keeps the code and the guesses of a known browser after requests and guesses of a stranger', async (t) => {
  const subject = await annAtHome(t)
  const stranger = testBrowser(subject.app)
  await ask(subject.browser)
  const own = await subject.mail()
  await ask(stranger)
  const theirs = await subject.mail()
  for (let index = 0; index < 5; index++)
    t.match((await enter(stranger, otherThan(theirs.code, index))).body, /This code is wrong/)
  t.match((await enter(stranger, theirs.code)).body, /Too many wrong codes/)
  t.equal((await enter(stranger, own.code)).statusCode, 400)
  t.equal((await enter(subject.browser, theirs.code)).statusCode, 400, 'and that of the stranger is not theirs')
  t.equal((await enter(subject.browser, own.code)).statusCode, 303)
  t.ok(hasSession(subject.browser))
})

// covers EC-07
t.test('gives a known browser five guesses, also after it asks for a new code', async (t) => {
  const subject = await annAtHome(t)
  await ask(subject.browser)
  const { code } = await subject.mail()
  const cookies = new Map(subject.browser.cookies)
  const guesses = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const one = testBrowser(subject.app)
      for (const [name, value] of cookies) one.cookies.set(name, value)
      return await enter(one, otherThan(code, index))
    })
  )
  t.equal(guesses.filter(({ body }) => body.includes('This code is wrong')).length, 5)
  await ask(subject.browser)
  t.match((await enter(subject.browser, (await subject.mail()).code)).body, /Too many wrong codes/)
})

t.test('accepts the link in the known browser that asked, after later requests of strangers', async (t) => {
  const subject = await annAtHome(t)
  await ask(subject.browser)
  const { url } = await subject.mail()
  await ask(testBrowser(subject.app))
  const token = new URL(url).searchParams.get('token') ?? ''
  t.equal((await subject.browser.submit('/auth/email-link', { token })).statusCode, 303)
  t.ok(hasSession(subject.browser))
})

t.test('queries no user for a limited browser without a device cookie, and answers 503 during an outage', async (t) => {
  const subject = await annAtHome(t, { rateLimit: { emailCode: { windowMs: 3_600_000, max: 1 }, register: false } })
  let lookUps = 0
  const { findByUsername } = subject.users
  const broken = { on: false }
  subject.users.findByUsername = async (name) => {
    lookUps++
    if (broken.on) throw Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED' })
    return await findByUsername.call(subject.users, name)
  }
  const counted = async (browser: typeof subject.browser, name: string): Promise<[number, number]> => {
    lookUps = 0
    return [(await ask(browser, name)).statusCode, lookUps]
  }
  t.same(await counted(testBrowser(subject.app), ANN), [429, 0], 'over the limit nothing is asked of the store')
  subject.clock.step(3_600_000)
  broken.on = true
  t.same(await counted(subject.browser, ANN), [503, 2])
  broken.on = false
  t.same(await counted(subject.browser, ANN), [303, 2], 'an outage is counted nowhere')
})

// covers EC-06
t.test('makes the same store calls for an unknown address, also in a browser known for another user', async (t) => {
  const calls: string[] = []
  const told = <Store extends object>(name: string, store: Store): Store =>
    new Proxy(store, {
      get(target, method, receiver) {
        const found: unknown = Reflect.get(target, method, receiver)
        if (typeof found !== 'function') return found
        return (...args: unknown[]): unknown => {
          calls.push(`${name}.${String(method)}`)
          return Reflect.apply(found, target, args)
        }
      }
    })
  const state = memoryState()
  const subject = await emailApp(t, {
    users: told('users', memoryUserStore()),
    state: {
      ...state,
      oneTimeTokens: told('oneTimeTokens', state.oneTimeTokens),
      browserSessions: told('browserSessions', state.browserSessions),
      tokens: told('tokens', state.tokens)
    },
    factors: told('factors', memoryFactorStore()),
    rateLimit: { emailCode: { windowMs: 3_600_000, max: 100 } }
  })
  await ask(subject.browser)
  await enter(subject.browser, (await subject.mail()).code)
  const device = subject.browser.cookies.get(cookieName('device')) ?? ''
  const bob = 'bob@mail.example'
  await subject.users.create?.({ username: bob, email: bob, emailVerified: true, passwordHash: null })
  const callsOf = async (username: string, cookie: string | null): Promise<string[][]> => {
    const browser = testBrowser(subject.app)
    if (cookie !== null) browser.cookies.set(cookieName('device'), cookie)
    const found: string[][] = []
    for (const step of [
      async () => await ask(browser, username),
      async () => await browser.get(PAGE),
      async () => await enter(browser, '00000000'),
      async () => await browser.submit(PAGE, { decision: 'resend' })
    ]) {
      calls.length = 0
      await step()
      found.push([...calls])
    }
    return found
  }
  for (const cookie of [null, device, 'made-up']) {
    const known = await callsOf(bob, cookie)
    t.match(known[0], ['users.findByUsername'])
    t.same(await callsOf(STRANGER, cookie), known)
  }
})
