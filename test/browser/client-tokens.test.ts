/** Access tokens of the browser client in Chromium: one refresh for all callers, and no accidental sign-out. */
import type { Page } from 'playwright-core'
import t, { type Test } from '../support/tap.ts'
import {
  type Calls,
  changed,
  clientSubject,
  CORS,
  intercept,
  respond,
  signIn,
  type Subject,
  toSignIn,
  withClaims
} from './support/client-app.ts'
import { withChromium } from './support/chromium.ts'
import { signInOn } from './support/journeys.ts'

/** Chromium's message on an answer to a script, or on a missing one. */
const FAILED = /Failed to load resource/
/** Longer than an access token lives. */
const LIFE = 900_000

const chromium = await withChromium(t)

interface SignedIn extends Subject {
  page: Page
  token: Calls
  later(): Promise<void>
  refreshes(): Array<Record<string, string>>
}

/** A signed-in user; the page's clock can be stepped. */
async function signedIn(t: Test, before?: (page: Page) => Promise<unknown>): Promise<SignedIn> {
  const subject = await clientSubject(t)
  const page = await chromium.newPage(t, { allow: [FAILED] })
  await page.clock.install()
  await before?.(page)
  const token = await intercept(page, `${subject.provider.origin}/auth/token`)
  await signIn(page, subject)
  return {
    ...subject,
    page,
    token,
    later: async () => {
      await page.clock.fastForward(LIFE)
    },
    refreshes: () => token.forms.filter(({ grant_type: grant }) => grant === 'refresh_token')
  }
}

/** The number of equal values. */
const distinct = (values: unknown): number => new Set(values as unknown[]).size

async function tabs(page: Page, origin: string, count: number): Promise<Page[]> {
  return [
    page,
    ...(await Promise.all(
      Array.from({ length: count - 1 }, async () => {
        const tab = await page.context().newPage()
        await tab.goto(origin)
        return tab
      })
    ))
  ]
}

t.test('returns an unexpired token without a request, and replaces an expired one once for ten callers', async (t) => {
  const { app, page, later, refreshes } = await signedIn(t)
  const first = await app.value(page, 'auth.getAccessToken()')
  t.equal(await app.value(page, 'auth.getAccessToken()'), first)
  t.equal(refreshes().length, 0)
  await later()
  const all = (await app.value(
    page,
    'Promise.all(Array.from({ length: 10 }, (_, i) => (i % 2 ? auth : createClient()).getAccessToken()))'
  )) as string[]
  t.equal(distinct(all), 1)
  t.not(all[0], first)
  t.equal(refreshes().length, 1, 'one for ten')
  t.not(await app.value(page, 'auth.getAccessToken({ force: true })'), all[0])
  t.equal(refreshes().length, 2)
  t.same(
    (await app.events(page)).map(([name]) => name),
    ['authenticated', 'token_refreshed', 'token_refreshed']
  )
})

t.test('refreshes once for five tabs at the same time', async (t) => {
  const { app, page, later, refreshes } = await signedIn(t)
  const all = await tabs(page, app.origin, 5)
  await later()
  t.equal(distinct(await Promise.all(all.map(async (tab) => await app.value(tab, 'auth.getAccessToken()')))), 1)
  t.equal(refreshes().length, 1)
})

t.test('keeps five parallel tabs signed in without Web Locks', async (t) => {
  const { app, page, later, provider } = await signedIn(
    t,
    async (first) =>
      await first.context().addInitScript("Object.defineProperty(navigator, 'locks', { value: undefined })")
  )
  const all = await tabs(page, app.origin, 5)
  await later()
  // Without Web Locks, tabs share only a mark in the storage. On a busy machine two may find it free, and both refresh
  // (test/unit/client/locks).
  const tokens = await Promise.all(all.map(async (tab) => await app.value(tab, 'auth.getAccessToken()')))
  for (const token of tokens)
    t.equal(
      (await fetch(`${provider.origin}/auth/userinfo`, { headers: { authorization: `Bearer ${String(token)}` } }))
        .status,
      200
    )
  for (const tab of all) {
    t.match(await app.value(tab, 'auth.getUser()'), { sub: provider.ann.id })
    t.type(await app.value(tab, 'auth.getAccessToken({ force: true })'), 'string')
    t.notOk((await app.events(tab)).some(([name]) => name === 'unauthenticated'))
  }
})

t.test('refreshes after five seconds although another tab keeps the lock', async (t) => {
  const { app, page, provider } = await signedIn(t)
  const [, other] = (await tabs(page, app.origin, 2)) as [Page, Page]
  await other.evaluate(
    `new Promise((held) => { void navigator.locks.request('authority.app.${provider.origin} ` +
      `lock', () => { held(); return new Promise(() => {}) }) })`
  )
  // The token has expired, and the clock stands still until a tab waits for the lock.
  await page.clock.pauseAt(Date.now() + 2 * LIFE)
  await app.leave(page, 'globalThis.waiting = settle(() => auth.getAccessToken())')
  await page.waitForFunction('navigator.locks.query().then(({ pending }) => pending.length === 1)')
  await page.clock.runFor(5000)
  await page.clock.resume()
  t.match(await page.evaluate('waiting'), { value: String })
})

t.test('reports outages, proxies, limits and network errors as retryable, and keeps the session', async (t) => {
  const { app, page, token, later } = await signedIn(t)
  await later()
  const outages: Array<[Calls['answer'], Record<string, unknown>]> = [
    [respond(503, { error: 'temporarily_unavailable' }), { error: 'temporarily_unavailable' }],
    [respond(503, { error: 'invalid_grant' }), { error: 'invalid_grant' }],
    [respond(429, { error: 'too_many_requests' }), { error: 'too_many_requests' }],
    [
      async (route) => {
        await route.fulfill({ status: 502, headers: CORS, contentType: 'text/html', body: '<h1>Bad gateway' })
      },
      { error: 'request_error' }
    ],
    [
      async (route) => {
        await route.fulfill({ status: 200, headers: CORS, contentType: 'text/html', body: '<h1>Pay for the wifi' })
      },
      { error: 'request_error' }
    ],
    [
      async (route) => {
        await route.abort('internetdisconnected')
      },
      { error: 'request_error' }
    ]
  ]
  for (const [answer, error] of outages) {
    token.answer = answer
    t.match(await app.call(page, 'auth.getAccessToken()'), { ...error, retryable: true, typed: true })
    t.not(await app.value(page, 'auth.getUser()'), null)
  }
  token.answer = null
  t.type(await app.value(page, 'auth.getAccessToken()'), 'string')
  const names = (await app.events(page)).map(([name]) => name)
  t.same(names, ['authenticated', ...outages.map(() => 'error'), 'token_refreshed'], 'nobody was told of a sign-out')
})

t.test('rejects with a timeout within 15 seconds if the provider does not answer', async (t) => {
  const { app, page, token, later, provider } = await signedIn(t)
  await later()
  const hang = async (): Promise<void> => {}
  token.answer = hang
  const slow = await intercept(page, `${provider.origin}/auth/revoke`)
  slow.answer = hang
  await page.context().route(`${app.origin}/api`, hang)
  const asked = page.waitForRequest(`${app.origin}/api`)
  const calls = Promise.all(
    [
      'auth.getAccessToken()',
      "createClient({ clientId: 'other' }).fetch('/api')",
      'auth.getAccessToken({ force: true })'
    ].map(async (expression) => await app.call(page, expression))
  )
  await asked
  await page.clock.fastForward(14_500)
  for (const outcome of await calls) t.match(outcome, { error: 'timeout', retryable: true, typed: true })
  t.not(await app.value(page, 'auth.getUser()'), null)
  token.answer = null
  t.type(await app.value(page, 'auth.getAccessToken()'), 'string', 'and it goes on when the provider does')
})

t.test('ends the session when the server answers invalid_grant', async (t) => {
  const { app, page, token, later } = await signedIn(t)
  await later()
  token.answer = respond(400, { error: 'invalid_grant' })
  t.match(await app.call(page, 'auth.getAccessToken()'), { error: 'login_required', retryable: false, typed: true })
  t.equal(await app.value(page, 'auth.getUser()'), null)
  t.same(
    (await app.events(page))
      .map(([name]) => name)
      .slice(1)
      .sort(),
    ['error', 'unauthenticated']
  )
})

t.test('takes over the tokens of another tab that used the refresh token first', async (t) => {
  const { app, page, token, later, provider } = await signedIn(t)
  await later()
  token.answer = async (route) => {
    // The other tab finishes at this moment.
    await page.evaluate(`{
      const name = 'authority.app.${provider.origin}', session = JSON.parse(localStorage.getItem(name))
      localStorage.setItem(name, JSON.stringify({ ...session, access_token: 'of the other tab', refresh_token: 'newer', at: Date.now(), until: Date.now() + 60000 }))
    }`)
    await respond(400, { error: 'invalid_grant' })(route)
  }
  t.equal(await app.value(page, 'auth.getAccessToken()'), 'of the other tab')
  t.not(await app.value(page, 'auth.getUser()'), null)
})

t.test('rejects a refresh response for another user', async (t) => {
  const { app, page, token, later, provider } = await signedIn(t)
  await later()
  token.answer = changed((tokens) => ({ ...tokens, id_token: withClaims(tokens.id_token, { sub: 'bob' }) }))
  t.match(await app.call(page, 'auth.getAccessToken()'), { error: 'invalid_token', retryable: false, typed: true })
  t.match(await app.value(page, 'auth.getUser()'), { sub: provider.ann.id })
})

t.test('accepts a refresh response without ID token, expires_in or new refresh token', async (t) => {
  const { app, page, token, later, refreshes } = await signedIn(t)
  token.answer = respond(200, { access_token: 'next' })
  for (let i = 0; i < 2; i++) {
    await page.clock.fastForward(3_600_000)
    t.equal(await app.value(page, 'auth.getAccessToken()'), 'next')
  }
  t.equal(refreshes()[0]?.refresh_token, refreshes()[1]?.refresh_token)
  await later()
  t.equal(refreshes().length, 2, 'an hour where the server does not say')
})

t.test('keeps the session without a refresh token, and reports missing_refresh_token', async (t) => {
  const subject = await clientSubject(t)
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  await page.clock.install()
  const token = await intercept(page, `${provider.origin}/auth/token`)
  token.answer = changed((tokens) => ({ ...tokens, refresh_token: undefined }))
  await signIn(page, subject)
  t.type(await app.value(page, 'auth.getAccessToken()'), 'string')
  await page.clock.fastForward(LIFE)
  t.match(await app.call(page, 'auth.getAccessToken()'), {
    error: 'missing_refresh_token',
    retryable: false,
    typed: true
  })
  t.match(await app.value(page, 'auth.getUser()'), { sub: provider.ann.id })
})

for (const [name, offset] of [
  ['a day behind', -86_400_000],
  ['ten minutes behind', -600_000],
  ['two hours ahead', 7_200_000]
] as const) {
  t.test(`signs in and refreshes if the clock of the device is ${name}`, async (t) => {
    const subject = await clientSubject(t)
    const { app } = subject
    const page = await chromium.newPage(t)
    await page.clock.install({ time: Date.now() + offset })
    await toSignIn(page, subject)
    await signInOn(page)
    t.match(await app.arrived(page), { value: {} })
    const first = await app.value(page, 'auth.getAccessToken()')
    t.equal(await app.value(page, 'auth.getAccessToken()'), first)
    await page.clock.fastForward(LIFE)
    t.not(await app.value(page, 'auth.getAccessToken()'), first)
  })
}
