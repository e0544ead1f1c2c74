import { cookieName } from '../support/cookies.ts'
import t from '../support/tap.ts'
import { memoryState, type UserStore } from '../../lib/index.ts'
import type { State } from '../../lib/ports/state.ts'
import { parallel, tally } from '../../lib/testing/contract.ts'
import { PASSWORD, testApp, type TestApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import {
  answerOf,
  authorizeAs,
  authorizePath,
  CHALLENGE,
  CLIENTS,
  KEYS,
  openidApp,
  redeem,
  tokensOf
} from '../support/openid.ts'

/** The number of calls of the state's methods that wrote something. */
function counted(state: State): { state: State; writes: () => Record<string, number> } {
  const calls: string[] = []
  const watch = <Store extends object>(store: Store, path: string): Store =>
    new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name)
        if (typeof member === 'object' && member !== null) return watch(member, `${String(name)}.`)
        if (typeof member !== 'function') return member
        return (...args: unknown[]): unknown => {
          if (!/^(?:find|list|peek)/.test(String(name))) calls.push(`${path}${String(name)}`)
          return Reflect.apply(member, target, args) as unknown
        }
      }
    })
  return { state: watch(state, ''), writes: () => tally(calls) }
}

const REQUESTS = 5000

t.test('writes nothing to the store for 5000 authorization and sign-in requests without a session', async (t) => {
  const { state, writes } = counted(memoryState())
  const subject = await openidApp({ state })
  t.teardown(subject.close)
  const before = writes()
  for (let index = 0; index < REQUESTS; index++) {
    const path = authorizePath({ state: `state-${index}`, nonce: `nonce-${index}` })
    const reply = await subject.app.inject({
      url: index % 2 === 0 ? path : path.replace('authorize', 'login'),
      headers: { cookie: `${cookieName('session')}=planted-${index}` }
    })
    if (reply.statusCode !== (index % 2 === 0 ? 303 : 200) || reply.headers['set-cookie'] !== undefined)
      t.fail(`${reply.statusCode}`)
  }
  t.strictSame(writes(), before)
})

// covers ASVS-2.3.1
t.test('grants no consent, code or session when forms are posted out of order', async (t) => {
  const { state, writes } = counted(memoryState())
  const subject = await openidApp({ state })
  t.teardown(subject.close)
  const { browser, app } = subject
  const third = authorizePath({ client_id: 'third', redirect_uri: 'https://third.example/cb', prompt: 'consent' })
  const before = writes()
  const consent = await browser.submit(third.replace('authorize', 'consent'), { decision: 'allow' })
  t.match([consent.statusCode, consent.headers.location], [303, /^\/auth\/login\?/], 'a consent of nobody')
  for (const query of [
    'client_id=nobody&redirect_uri=https%3A%2F%2Fevil.example',
    'client_id=spa&redirect_uri=https%3A%2F%2Fevil.example%2Fcb',
    'client_id=spa',
    'client_id=third&redirect_uri=https%3A%2F%2Fapp.example%2Fcb'
  ]) {
    const reply = await browser.submit(`/auth/login?${query}`, { username: 'ann', password: PASSWORD })
    t.match([reply.statusCode, reply.headers.location, reply.headers['set-cookie']], [400, undefined, undefined], query)
  }
  for (const path of ['reset-password', 'verify-email'])
    t.equal((await browser.submit(`/auth/${path}`, { password: PASSWORD })).statusCode, 400, path)
  t.match((await redeem(app, `${'A'.repeat(38)}.${CHALLENGE}`)).json(), { error: 'invalid_grant' })
  t.strictSame(
    Object.keys(writes()).filter((name) => !(name in before)),
    ['tokens.redeemCode']
  )
  await authorizeAs(browser, authorizePath())
  const foreign = await browser.submit(`${third.replace('authorize', 'consent')}&session=of-another`, {
    decision: 'allow'
  })
  t.equal(foreign.statusCode, 200, 'a consent on a page of another session is asked for again')
  t.strictSame(await app.authority.consents(subject.ann.sub), [])
})

// covers RL-18
t.test('counts guesses on the login page and by the password grant in one limit', async (t) => {
  const subject = await openidApp({ rateLimit: {} })
  t.teardown(subject.close)
  const { app } = subject
  const page = async (password: string): Promise<number> =>
    (await testBrowser(app).submit('/auth/login', { username: 'ann', password })).statusCode
  const grant = async (password: string): Promise<number> =>
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann', password }
      })
    ).statusCode
  t.strictSame(
    [await page('wrong'), await page('wrong'), await page('wrong'), await grant('wrong'), await grant('wrong')],
    [400, 400, 400, 400, 400]
  )
  t.strictSame([await page(PASSWORD), await grant(PASSWORD)], [429, 429], 'the right one too')
  subject.clock.step(900_000)
  const verified = subject.hasher.calls.verify
  const statuses = await parallel(50, async () => await page('wrong'))
  t.strictSame(tally(statuses.map(String)), { 400: 5, 429: 45 })
  t.equal(subject.hasher.calls.verify - verified, 5, 'no more were even tried')
})

// covers RL-26
t.test('shares the limits of pages and API for sign-up and for reset requests', async (t) => {
  const subject = await openidApp({ rateLimit: {} })
  t.teardown(subject.close)
  const { app } = subject
  // The fixture has registered ann.
  t.equal((await testBrowser(app).submit('/auth/signup', { username: 'carl', password: PASSWORD })).statusCode, 303)
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/register', payload: { username: 'dora', password: PASSWORD } }))
      .statusCode,
    201
  )
  t.equal((await testBrowser(app).submit('/auth/signup', { username: 'emil', password: PASSWORD })).statusCode, 429)
  const forgot = async (): Promise<number> =>
    (await testBrowser(app).submit('/auth/forgot-password', { username: 'ann' })).statusCode
  const asked = async (): Promise<number> =>
    (await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: 'ann' } })).statusCode
  t.strictSame(
    [await forgot(), await asked(), await forgot(), await forgot(), await asked()],
    [303, 202, 303, 429, 429]
  )
})

// covers RL-24
t.test('counts login page and password grant in one account limit, and a known browser separately', async (t) => {
  const subject = await openidApp({ rateLimit: { login: false, account: { max: 4, windowMs: 900_000 } } })
  t.teardown(subject.close)
  const { app, browser } = subject
  await authorizeAs(browser, authorizePath())
  t.ok(browser.cookies.get(cookieName('device')))
  const stranger = testBrowser(app)
  for (let attempt = 0; attempt < 2; attempt++) {
    t.equal(
      (await stranger.submit('/auth/login', { username: attempt === 0 ? 'ANN' : 'ann', password: 'wrong' })).statusCode,
      400
    )
    t.equal(
      (
        await app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'password', username: 'ann', password: 'wrong' }
        })
      ).statusCode,
      400
    )
  }
  t.equal((await stranger.submit('/auth/login', { username: 'ann', password: PASSWORD })).statusCode, 429)
  t.equal(
    (await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })).statusCode,
    303,
    'ann is not locked out'
  )
})

t.test('rejects ended sessions and tokens at a second instance whose clock is 5 minutes off', async (t) => {
  for (const apart of [300_000, -300_000]) {
    const state = memoryState()
    const one = await openidApp({ state })
    const users = {
      findById: async (id: string) => (id === one.ann.sub ? { ...one.ann, id, passwordHash: null } : null),
      findByUsername: async () => null
    }
    const two = await secondInstance(state, users)
    t.teardown(one.close)
    t.teardown(two.close)
    two.clock.setWall(two.clock.now() + apart)
    const { code: early = '' } = await authorizeAs(one.browser, authorizePath())
    const answer = await redeem(two.app, early)
    t.equal(answer.statusCode, apart > 0 ? 400 : 200, 'a code is of 60 seconds by either clock')
    const tokens = await tokensOf(one, { scope: 'openid offline_access' })
    const cookie = `${cookieName('session')}=${one.browser.cookies.get(cookieName('session'))}`
    const there = await two.app.inject({
      url: authorizePath({ prompt: 'none', max_age: '600' }),
      headers: { cookie }
    })
    t.ok(answerOf(String(there.headers.location)).code, 'the session is good at both')
    const refreshed = await two.app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'refresh_token', client_id: 'spa', refresh_token: tokens.refresh_token }
    })
    t.equal(refreshed.statusCode, 200)
    t.equal(
      (await two.app.inject({ url: '/auth/userinfo', headers: { authorization: `Bearer ${tokens.access_token}` } }))
        .statusCode,
      apart > 0 ? 200 : 401,
      'of a token from the future more than a minute is refused'
    )
    await one.browser.submit('/auth/logout?client_id=spa', { decision: 'sign_out' })
    t.match(
      answerOf(
        String((await two.app.inject({ url: authorizePath({ prompt: 'none' }), headers: { cookie } })).headers.location)
      ),
      { error: 'login_required' }
    )
    t.match(
      (
        await two.app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: {
            grant_type: 'refresh_token',
            client_id: 'spa',
            refresh_token: refreshed.json<{ refresh_token: string }>().refresh_token
          }
        })
      ).json(),
      { error: 'invalid_grant' }
    )
    t.equal(
      (
        await two.app.inject({
          url: '/auth/userinfo',
          headers: { authorization: `Bearer ${refreshed.json<{ access_token: string }>().access_token}` }
        })
      ).statusCode,
      401
    )
  }
})

/** An instance that only reads its users. */
async function secondInstance(state: State, users: UserStore): Promise<TestApp> {
  return await testApp({ keys: KEYS, clients: CLIENTS, state, users })
}
