import { cookieName } from '../support/cookies.ts'
import t from '../support/tap.ts'
import { memoryState, memoryUserStore, type User, type UserStore } from '../../lib/index.ts'
import { bearer, PASSWORD, signIn, signUp } from '../support/app.ts'
import { answerOf, authorizeAs, authorizePath, openidApp, type OpenidApp, redeem, tokensOf } from '../support/openid.ts'
import { testBrowser } from '../support/browser.ts'

const MINUTE = 60_000

async function opens({ app }: Pick<OpenidApp, 'app'>, cookie: string): Promise<boolean> {
  const reply = await app.inject({
    url: authorizePath({ prompt: 'none' }),
    headers: { cookie: `${cookieName('session')}=${cookie}` }
  })
  return answerOf(String(reply.headers.location)).code !== undefined
}
const cookieOf = (browser: OpenidApp['browser']): string => browser.cookies.get(cookieName('session')) ?? ''

// covers ASVS-7.3.1
t.test('ends a session at its idle timeout to the millisecond, and extends it on use', async (t) => {
  const subject = await openidApp({ session: { expiresIn: 43200, idleTimeout: 7200 } })
  t.teardown(subject.close)
  await authorizeAs(subject.browser, authorizePath())
  const cookie = cookieOf(subject.browser)
  for (let use = 0; use < 3; use++) {
    subject.clock.step(120 * MINUTE - 1)
    t.equal(await opens(subject, cookie), true)
  }
  subject.clock.step(120 * MINUTE)
  t.equal(await opens(subject, cookie), false)
  t.match(await subject.browser.follow(await subject.browser.get(authorizePath())), {
    url: /\/auth\/login\?/,
    reply: { statusCode: 200 }
  })
})

// covers ASVS-7.3.2
t.test('ends a session at its expiry even if it is used', async (t) => {
  const subject = await openidApp({ session: { expiresIn: 3 * 3600, idleTimeout: 7200 } })
  t.teardown(subject.close)
  await authorizeAs(subject.browser, authorizePath())
  const cookie = cookieOf(subject.browser)
  for (let use = 0; use < 5; use++) {
    subject.clock.step(30 * MINUTE)
    t.equal(await opens(subject, cookie), true)
  }
  subject.clock.step(30 * MINUTE - 1)
  t.equal(await opens(subject, cookie), true)
  subject.clock.step(1)
  t.equal(await opens(subject, cookie), false)
})

// covers ASVS-7.4.1 ADV-CVE-2024-35220 ADV-CVE-2024-31999
t.test('rejects the session cookie, codes and tokens of a session after sign-out', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app, browser } = subject
  const tokens = await tokensOf(subject)
  const { code = '' } = await authorizeAs(browser, authorizePath({ scope: 'openid offline_access' }))
  const stolen = cookieOf(browser)
  await browser.submit('/auth/logout', { decision: 'sign_out' })
  t.notOk(browser.cookies.has(cookieName('session')), 'the browser forgets it')
  t.equal(await opens(subject, stolen), false, 'and the server')
  t.match((await redeem(app, code)).json(), { error: 'invalid_grant' })
  for (const url of ['/me', '/auth/userinfo', '/auth/sessions'])
    t.equal((await app.inject({ url, headers: bearer(tokens.access_token) })).statusCode, 401, url)
  const late = await app.inject({
    method: 'POST',
    url: '/auth/login',
    headers: {
      cookie: `${cookieName('session')}=${stolen}`,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded'
    },
    payload: new URLSearchParams({ username: 'ann', password: PASSWORD }).toString()
  })
  t.not(
    late.cookies.find(({ name }) => name === cookieName('session'))?.value.split('.')[0],
    stolen.split('.')[0],
    'an id that ended never comes back'
  )
})

// covers ASVS-7.4.2 ADV-GHSA-2vg6-77g8-24mp
t.test('refuses the session, password, code and tokens of a disabled or deleted user', async (t) => {
  for (const how of ['disabled', 'deleted'] as const) {
    const inner = memoryUserStore()
    const gone = new Set<string>()
    const seen = (user: User | null): User | null =>
      user === null || !gone.has(user.id) ? user : how === 'deleted' ? null : { ...user, disabled: true }
    const users: UserStore = {
      ...inner,
      findById: async (id) => seen(await inner.findById(id)),
      findByUsername: async (name) => seen(await inner.findByUsername(name))
    }
    const subject = await openidApp({ users }, {})
    t.teardown(subject.close)
    const { app, browser, ann } = subject
    const offline = await tokensOf(subject, { scope: 'openid offline_access' })
    const other = await tokensOf({ app, browser: testBrowser(app) }, { scope: 'openid offline_access' })
    const { code = '' } = await authorizeAs(browser, authorizePath({ scope: 'openid offline_access' }))
    gone.add(ann.sub)
    t.equal(await opens(subject, cookieOf(browser)), false, how)
    t.match(await browser.follow(await browser.get(authorizePath())), { url: /\/auth\/login\?/ })
    t.match((await redeem(app, code)).json(), { error: 'invalid_grant' })
    t.equal((await app.inject({ url: '/auth/userinfo', headers: bearer(offline.access_token) })).statusCode, 401)
    t.equal((await app.inject({ url: '/auth/sessions', headers: bearer(offline.access_token) })).statusCode, 401)
    t.match(
      (
        await app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'refresh_token', client_id: 'spa', refresh_token: offline.refresh_token }
        })
      ).json(),
      { error: 'invalid_grant' }
    )
    const reply = await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
    t.equal(reply.statusCode, 400)
    t.equal(
      (await browser.submit('/auth/login', { username: 'nobody', password: PASSWORD })).body.replaceAll(
        'nobody',
        'ann'
      ),
      reply.body,
      'as if there had never been one'
    )
    // The refused refresh ended all sessions, so enabling the user again restores none.
    gone.delete(ann.sub)
    t.equal(await opens(subject, cookieOf(browser)), false)
    t.equal((await app.inject({ url: '/auth/userinfo', headers: bearer(other.access_token) })).statusCode, 401)
  }
})

// covers ASVS-7.4.3
t.test('ends all other sessions on a password change, and all sessions on a reset', async (t) => {
  const state = memoryState()
  const subject = await openidApp({ state })
  t.teardown(subject.close)
  const { app } = subject
  const [here, there] = [testBrowser(app), testBrowser(app)]
  const tokens = await tokensOf({ app, browser: here }, { scope: 'openid offline_access' })
  const others = await tokensOf({ app, browser: there }, { scope: 'openid offline_access' })
  const NEXT = 'a wholly new password'
  const changed = await app.inject({
    method: 'POST',
    url: '/auth/password',
    headers: { ...bearer(tokens.access_token), cookie: `${cookieName('session')}=${cookieOf(here)}` },
    payload: { current_password: PASSWORD, new_password: NEXT }
  })
  t.equal(changed.statusCode, 204)
  t.equal(await opens(subject, cookieOf(here)), false, 'the cookie that it had')
  for (const { name, value } of changed.cookies) here.cookies.set(name, value)
  t.equal(await opens(subject, cookieOf(here)), true, 'the browser it was changed in')
  t.equal(await opens(subject, cookieOf(there)), false)
  t.equal((await app.inject({ url: '/me', headers: bearer(others.access_token) })).statusCode, 401)
  t.equal((await app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode, 200)
  await app.authority.startPasswordReset(subject.ann.sub)
  const { token } = await subject.messages.next('password_reset')
  t.equal(
    (await here.submit(`/auth/reset-password?token=${token}`, { token, password: 'one more new password' })).statusCode,
    303
  )
  t.equal(await opens(subject, cookieOf(here)), false)
  t.equal((await app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode, 401)
  t.strictSame(await app.authority.sessions(subject.ann.sub), [])
})

// covers ASVS-8.2.2 ASVS-7.5.2
t.test('lists and ends only sessions of the signed-in user at /auth/sessions', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app } = subject
  await signUp(app, 'bob')
  const annTokens = await tokensOf(subject, { scope: 'openid offline_access' })
  const bobs = testBrowser(app)
  await authorizeAs(bobs, authorizePath(), { username: 'bob' })
  const bobTokens = await signIn(app, 'bob')
  interface Shown {
    id: string
    kind: string
    current: boolean
  }
  const list = async (token: string): Promise<Shown[]> =>
    (await app.inject({ url: '/auth/sessions', headers: bearer(token) })).json<{ sessions: Shown[] }>().sessions
  const mine = await list(annTokens.access_token)
  const theirs = await list(bobTokens.access_token)
  t.strictSame(
    [mine.map(({ kind }) => kind).toSorted(), theirs.map(({ kind }) => kind).toSorted()],
    [
      ['browser', 'token'],
      ['browser', 'token']
    ]
  )
  t.ok(
    mine.every(({ current }) => current),
    'this family, and the browser it came from'
  )
  const cookie = cookieOf(bobs)
  const guesses = [
    ...theirs.map(({ id }) => id),
    cookie,
    cookie.split('.')[0] ?? '',
    '__proto__',
    '%00',
    '..%2f',
    'x'.repeat(100)
  ]
  for (const id of guesses)
    t.equal(
      (
        await app.inject({
          method: 'DELETE',
          url: `/auth/sessions/${encodeURIComponent(id)}`,
          headers: bearer(annTokens.access_token)
        })
      ).statusCode,
      404,
      id
    )
  t.equal((await list(bobTokens.access_token)).length, 2)
  t.equal(await opens(subject, cookie), true)
  const [browserSession = ''] = theirs.filter(({ kind }) => kind === 'browser').map(({ id }) => id)
  t.equal(
    (
      await app.inject({
        method: 'DELETE',
        url: `/auth/sessions/${browserSession}`,
        headers: bearer(bobTokens.access_token)
      })
    ).statusCode,
    204
  )
  t.equal(await opens(subject, cookie), false, 'but their own they end')
  t.notOk(
    JSON.stringify(mine).includes(cookieOf(subject.browser).split('.')[0] ?? ''),
    'an id in the list is no part of a cookie'
  )
})
