import { cookieName } from '../support/cookies.ts'
import Fastify from 'fastify'
import t from '../support/tap.ts'
import authPlugin, { memoryState, memoryUserStore } from '../../lib/index.ts'
import { REPLACED_SECRET_MS } from '../../lib/ports/session-store.ts'
import { fastHasher, steppedClock } from '../../lib/testing/index.ts'
import { bearer, PASSWORD, signUp } from '../support/app.ts'
import {
  answerOf,
  authorizeAs,
  authorizePath,
  CLIENTS,
  KEYS,
  openidApp,
  type OpenidApp,
  redeem,
  tokensOf
} from '../support/openid.ts'
import { testBrowser } from '../support/browser.ts'

const COOKIE = cookieName('session')

/** True if a `Cookie` header signs a user in. */
async function opens({ app }: Pick<OpenidApp, 'app'>, cookie: string): Promise<boolean> {
  const reply = await app.inject({ url: authorizePath({ prompt: 'none' }), headers: { cookie } })
  const { code, error } = answerOf(String(reply.headers.location))
  if (code === undefined && error !== 'login_required')
    throw new Error(`${reply.statusCode} ${String(reply.headers.location)}`)
  return code !== undefined
}

// covers ASVS-7.2.4 ADV-CVE-2023-29019
t.test('issues a new session id at sign-in instead of adopting a planted cookie value', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const planted = [
    'planted',
    '',
    '"planted"',
    '.',
    `${'A'.repeat(38)}.${'A'.repeat(43)}`,
    `${'A'.repeat(38)}.`,
    `.${'A'.repeat(43)}`,
    'A'.repeat(4000),
    '__proto__',
    'constructor.prototype',
    '%00',
    '../../etc',
    "' OR 1=1 --",
    `${'A'.repeat(38)}.${'A'.repeat(43)}.${'A'.repeat(43)}`,
    'null',
    'undefined',
    '{}',
    'é'
  ]
  for (const value of planted) {
    const reply = await subject.app.inject({
      method: 'POST',
      url: '/auth/login',
      headers: {
        cookie: `${COOKIE}=${value}`,
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin'
      },
      payload: new URLSearchParams({ username: 'ann', password: PASSWORD }).toString()
    })
    t.equal(reply.statusCode, 303, value.slice(0, 30))
    const given = reply.cookies.find(({ name }) => name === COOKIE)
    t.match(given?.value, /^[\w-]{38}\.[\w-]{43}$/)
    t.not(given?.value.split('.')[0], value.split('.')[0], 'no part of it')
    t.match(given, { httpOnly: true, sameSite: 'Lax', path: '/', domain: undefined })
    t.equal(await opens(subject, `${COOKIE}=${value}`), false)
    t.equal(await opens(subject, `${COOKIE}=${given?.value}`), true)
  }
})

// covers ASVS-7.2.4
t.test('does not sign a victim in to the planted session of an attacker', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const mallory = await signUp(subject.app, 'mallory')
  const attacker = testBrowser(subject.app)
  await authorizeAs(attacker, authorizePath(), { username: 'mallory' })
  const planted = attacker.cookies.get(COOKIE) ?? ''
  const victim = testBrowser(subject.app)
  victim.cookies.set(COOKIE, planted)
  const reply = await victim.submit('/auth/login', { username: 'ann', password: PASSWORD })
  t.equal(reply.statusCode, 303)
  t.not(victim.cookies.get(COOKIE)?.split('.')[0], planted.split('.')[0], 'not even the id')
  t.equal(await opens(subject, `${COOKIE}=${planted}`), false, 'the attacker is not signed in as anybody')
  t.strictSame(await subject.app.authority.sessions(mallory.sub), [])
  t.match(await subject.app.authority.sessions(subject.ann.sub), [{ kind: 'browser' }])
})

// covers ASVS-7.2.4
t.test('replaces the session cookie at every sign-in and re-authentication', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { browser } = subject
  const seen: string[] = []
  for (const params of [{}, { prompt: 'login' }, { prompt: 'select_account' }, { max_age: '0' }, { prompt: 'login' }]) {
    await authorizeAs(browser, authorizePath(params))
    const value = browser.cookies.get(COOKIE) ?? ''
    // Earlier requests of another tab are answered.
    subject.clock.step(REPLACED_SECRET_MS)
    for (const former of seen) t.equal(await opens(subject, `${COOKIE}=${former}`), false, JSON.stringify(params))
    t.equal(await opens(subject, `${COOKIE}=${value}`), true)
    seen.push(value)
  }
  t.equal(new Set(seen).size, 5)
})

// covers ASVS-7.2.1 ASVS-7.2.3
t.test('rejects an edited session cookie, one with a foreign secret and two of the same name', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  await signUp(subject.app, 'bob')
  const bob = testBrowser(subject.app)
  await authorizeAs(subject.browser, authorizePath())
  await authorizeAs(bob, authorizePath(), { username: 'bob' })
  const mine = subject.browser.cookies.get(COOKIE) ?? ''
  const [id = '', secret = ''] = mine.split('.')
  const [bobsId = '', bobsSecret = ''] = (bob.cookies.get(COOKIE) ?? '').split('.')
  const flip = (text: string, at: number): string =>
    text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
  const refused = [
    `${id}.${bobsSecret}`,
    `${bobsId}.${secret}`,
    `${id}.${flip(secret, 0)}`,
    `${id}.${flip(secret, 20)}`,
    `${flip(id, 3)}.${secret}`,
    id,
    `${id}.`,
    `.${secret}`,
    `${id}${secret}`,
    `${secret}.${id}`,
    `${mine}=`,
    `${mine}.`,
    `${mine}%20`,
    `"${mine}"`,
    mine.toUpperCase(),
    encodeURIComponent(`${mine} `),
    `${mine},${mine}`,
    `${mine}\t`.trim().slice(0, -1)
  ]
  for (const value of refused) t.equal(await opens(subject, `${COOKIE}=${value}`), false, value)
  for (const header of [
    `${COOKIE}=${mine}; ${COOKIE}=planted`,
    `${COOKIE}=planted; ${COOKIE}=${mine}`,
    `${COOKIE}=${mine}; ${COOKIE}=${bobsId}.${bobsSecret}`,
    `${COOKIE}=${mine}; ${COOKIE}=`,
    `${COOKIE.toUpperCase()}=${mine}`,
    `x${COOKIE}=${mine}`,
    `__Host-${COOKIE}=${mine}`
  ]) {
    t.equal(await opens(subject, header), false, header)
  }
  t.equal(await opens(subject, `a=b; ${COOKIE}=${mine}; c=d`), true, 'and with others beside it the good one does')
})

// covers ASVS-7.2.2
t.test('accepts no token as session cookie, and no session cookie as a token', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const tokens = await tokensOf(subject, { scope: 'openid offline_access' })
  const cookie = subject.browser.cookies.get(COOKIE) ?? ''
  for (const value of [tokens.access_token, tokens.refresh_token, tokens.id_token])
    t.equal(await opens(subject, `${COOKIE}=${value}`), false)
  for (const url of ['/me', '/auth/userinfo', '/auth/sessions']) {
    // The account's own endpoints take the browser session too, but not for a page of another site.
    const headers = {
      cookie: `${COOKIE}=${cookie}`,
      ...(url === '/auth/sessions' ? { 'sec-fetch-site': 'cross-site' } : {})
    }
    t.ok([401, 403].includes((await subject.app.inject({ url, headers })).statusCode), `${url} by cookie`)
    t.equal((await subject.app.inject({ url, headers: bearer(cookie) })).statusCode, 401, `${url} by bearer`)
  }
  for (const payload of [
    { grant_type: 'refresh_token', refresh_token: cookie, client_id: 'spa' },
    {
      grant_type: 'authorization_code',
      code: cookie,
      client_id: 'spa',
      redirect_uri: 'https://app.example/cb',
      code_verifier: 'v'.repeat(43)
    }
  ]) {
    t.match((await subject.app.inject({ method: 'POST', url: '/auth/token', payload })).json(), {
      error: 'invalid_grant'
    })
  }
  t.equal(await opens(subject, `${COOKIE}=${cookie}`), true, 'and all that did not end it')
})

// covers ASVS-8.4.1
t.test('rejects cookies, codes and tokens of another plugin instance in the same app', async (t) => {
  const names = { authenticate: 'authenticateB', requireScope: 'requireScopeB', authority: 'authorityB', auth: 'authB' }
  for (const shared of [false, true]) {
    const app = Fastify() as unknown as OpenidApp['app']
    t.teardown(async () => {
      await app.close()
    })
    // Shared users are the harder case. A state can't be shared, because it belongs to one issuer.
    const users = memoryUserStore()
    const common = {
      clients: CLIENTS,
      rateLimit: false,
      registration: { username: 'any' },
      clock: steppedClock(),
      password: { hasher: fastHasher() }
    } as const
    const own = (): Pick<Parameters<typeof authPlugin>[1], 'users' | 'state'> => ({
      users: shared ? users : memoryUserStore(),
      state: memoryState()
    })
    await app.register(authPlugin, { ...common, ...own(), keys: KEYS, issuer: 'http://localhost:3000' })
    await app.register(authPlugin, {
      ...common,
      ...own(),
      keys: KEYS,
      issuer: 'http://localhost:3000/b',
      prefix: '/b',
      decorators: names
    })
    await app.ready()
    await signUp(app)
    if (!shared)
      await app.inject({ method: 'POST', url: '/b/register', payload: { username: 'ann', password: PASSWORD } })
    const a = testBrowser(app)
    const tokens = await tokensOf({ app, browser: a }, { scope: 'openid offline_access' })
    const { code = '' } = await authorizeAs(a, authorizePath())
    const value = a.cookies.get(COOKIE) ?? ''
    const login = await a.submit('/b/login', { username: 'ann', password: PASSWORD })
    const second = login.cookies.find(({ name }) => name !== COOKIE && name.startsWith('authority_session_'))
    t.ok(second, 'a cookie of its own name')
    t.equal(a.cookies.get(COOKIE), value, 'the other is left alone')
    const crossed = await app.inject({
      url: authorizePath({ prompt: 'none' }).replace('/auth/', '/b/'),
      headers: { cookie: `${COOKIE}=${value}` }
    })
    t.match(answerOf(String(crossed.headers.location)), { error: 'login_required', iss: 'http://localhost:3000/b' })
    if (!shared) {
      const renamed = await app.inject({
        url: authorizePath({ prompt: 'none' }).replace('/auth/', '/b/'),
        headers: { cookie: `${second?.name}=${value}` }
      })
      t.match(answerOf(String(renamed.headers.location)), { error: 'login_required' })
      const elsewhere = {
        grant_type: 'authorization_code',
        client_id: 'spa',
        redirect_uri: 'https://app.example/cb',
        code_verifier: 'a-verifier-of-at-least-43-characters-for-all-the-tests',
        code
      }
      t.match((await app.inject({ method: 'POST', url: '/b/token', payload: elsewhere })).json(), {
        error: 'invalid_grant'
      })
      t.match(
        (
          await app.inject({
            method: 'POST',
            url: '/b/token',
            payload: { grant_type: 'refresh_token', client_id: 'spa', refresh_token: tokens.refresh_token }
          })
        ).json(),
        { error: 'invalid_grant' }
      )
      t.equal((await redeem(app, code)).statusCode, 200, 'nothing of which used it up')
    }
    t.equal((await app.inject({ url: '/b/userinfo', headers: bearer(tokens.access_token) })).statusCode, 401)
    const hinted = await app.inject({
      url: authorizePath({ prompt: 'none', id_token_hint: tokens.id_token }).replace('/auth/', '/b/'),
      headers: { cookie: `${second?.name}=${second?.value}` }
    })
    t.equal(
      typeof answerOf(String(hinted.headers.location)).code,
      'string',
      'an ID token of the other issuer counts as none: the session of this one decides'
    )
  }
})
