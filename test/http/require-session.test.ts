import Fastify from 'fastify'
import t, { type Test } from '../support/tap.ts'
import { messagesOf } from '../../lib/pages/texts.ts'
import authPlugin, { type AuthorityOptions, type AuthRequirements, StartError } from '../../lib/index.ts'
import { sessionAs } from '../../lib/testing/index.ts'
import { ISSUER, PASSWORD, signUp, tellCode, type TestApp, testApp } from '../support/app.ts'
import { formAction, type TestBrowser, testBrowser } from '../support/browser.ts'
import { ownOptions } from './coexistence/support/host.ts'

interface Subject extends TestApp {
  sub: string
  browser: TestBrowser
  /** Gives the browser a session that the host made. Its methods are unknown. */
  byHost(): Promise<void>
}

async function subjectOf(t: Test, options: Partial<AuthorityOptions> = {}): Promise<Subject> {
  const subject = await testApp(options, {}, (host) => {
    const page = (url: string, required: AuthRequirements): void => {
      host.route({
        method: ['GET', 'POST', 'DELETE'],
        url,
        errorHandler: tellCode,
        onRequest: (...args) => {
          host.authority.requireSession(required)(...args)
        },
        handler: async (request) => request.authSession
      })
    }
    page('/recent', { maxAge: 300 })
    page('/password', { acr: 'password' })
    page('/both', { maxAge: 300, acr: 'password' })
    page('/*', { maxAge: 300 })
  })
  t.teardown(subject.close)
  const { sub } = await signUp(subject.app)
  const browser = testBrowser(subject.app)
  return {
    ...subject,
    sub,
    browser,
    async byHost() {
      const { cookie } = await sessionAs(subject.app, { id: sub })
      const at = cookie.indexOf('=')
      browser.cookies.set(cookie.slice(0, at), cookie.slice(at + 1))
    }
  }
}

/** The sign-in page and its parameters. */
function told(reply: { statusCode: number; headers: Record<string, unknown> }): unknown {
  const url = new URL(String(reply.headers['location']), ISSUER)
  return [
    reply.statusCode,
    url.origin + url.pathname,
    Object.fromEntries(url.searchParams),
    reply.headers['cache-control']
  ]
}
const led = (params: { prompt?: string; return_to?: string }): unknown => {
  // A signed-in user authenticates again, and others sign in.
  const { prompt, ...rest } = params
  return [303, `${ISSUER}/auth/${prompt === undefined ? 'login' : 'reauthenticate'}`, rest, 'no-store']
}

t.test('requireSession redirects to the sign-in page and back after maxAge, without the submitted form', async (t) => {
  const { browser, clock, sub } = await subjectOf(t)
  t.strictSame(
    told(await browser.get('/recent?a=1&b=%2F')),
    led({ return_to: '/recent?a=1&b=%2F' }),
    'nobody is signed in'
  )
  const signIn = async (url: string): Promise<void> => {
    const page = await browser.get(String((await browser.get(url)).headers.location))
    const reply = await browser.submit(formAction(page.body), {
      username: 'ann',
      password: PASSWORD,
      current_password: PASSWORD
    })
    t.match([reply.statusCode, reply.headers.location], [303, url])
  }
  await signIn('/recent?a=1')
  t.match((await browser.get('/recent?a=1')).json(), {
    sub,
    acr: 'password',
    amr: ['pwd'],
    authenticatedAt: new Date(clock.now()).toISOString()
  })
  clock.step(300_000)
  for (const url of ['/recent', '/both', '/password'])
    t.equal((await browser.get(url)).statusCode, 200, `the last moment of ${url}`)
  clock.step(1)
  for (const url of ['/recent', '/both'])
    t.strictSame(told(await browser.get(url)), led({ return_to: url, prompt: 'login' }), `a moment later: ${url}`)
  t.equal((await browser.get('/password')).statusCode, 200, 'any time ago')
  const form = { referer: `${ISSUER}/recent?step=2#x` }
  t.strictSame(
    told(await browser.submit('/recent', { amount: '5' }, form)),
    led({ return_to: '/recent?step=2', prompt: 'login' }),
    'back to the page of the form'
  )
  t.strictSame(told(await browser.submit('/recent', { amount: '5' })), led({ prompt: 'login' }), 'which nobody named')
  t.match(
    (await browser.follow(await browser.get('/recent'))).url,
    /\/auth\/reauthenticate\?/,
    'a session is no reason to go past the page'
  )
  await signIn('/recent')
  t.equal((await browser.get('/recent')).statusCode, 200)
  clock.step(7_200_000)
  t.strictSame(
    told(await browser.get('/password')),
    led({ return_to: '/password' }),
    'a session that was left idle for too long'
  )
})

t.test('redirects a session without the required acr to reauthentication at each request', async (t) => {
  const { browser, byHost, clock } = await subjectOf(t)
  await byHost()
  t.strictSame(told(await browser.get('/both')), led({ return_to: '/both', prompt: 'login' }), 'at once')
  clock.step(60_000)
  t.strictSame(told(await browser.get('/both')), led({ return_to: '/both', prompt: 'login' }))
  t.equal((await browser.get('/recent')).statusCode, 200, 'recent it is')
  const page = await browser.get(String((await browser.get('/both')).headers.location))
  t.equal(
    (await browser.follow(await browser.submit(formAction(page.body), { current_password: PASSWORD }))).reply
      .statusCode,
    200
  )
})

t.test('answers 403 after a recent sign-in at a host page that did not meet the requirement', async (t) => {
  const { browser, byHost, clock } = await subjectOf(t, { pages: { loginUrl: '/sign-in' } })
  await byHost()
  clock.step(59_999)
  const reply = await browser.get('/both')
  t.match(
    [reply.statusCode, reply.json().error, reply.headers.location],
    [403, 'unmet_authentication_requirements', undefined]
  )
  t.match(String(reply.headers['content-type']), /^application\/json/)
  clock.step(1)
  t.match(await browser.get('/both'), { statusCode: 303, headers: { location: /login/ } })
})

t.test('answers browsers with a page in their language, and JSON clients with JSON', async (t) => {
  const { app, browser, byHost } = await subjectOf(t, { pages: { loginUrl: '/sign-in' } })
  await byHost()
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const get = async (accept: string, language = 'de') =>
    await app.inject({ url: '/both', headers: { cookie, accept, 'accept-language': language } })
  const html = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const page = await get(html)
  t.equal(page.statusCode, 403)
  t.match(page.headers, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'x-frame-options': 'DENY'
  })
  t.match(String(page.headers['content-security-policy']), "default-src 'none'")
  t.match(page.body, messagesOf('de').errorSignInTooWeak)
  t.match((await get(html, 'ja')).body, messagesOf('ja').errorSignInTooWeak)
  const refused = [
    'text/html;q=0',
    'text/html; q=0.000, */*',
    'TEXT/HTML ;charset=utf-8; Q=0.0 ,*/*',
    '*/*;q=0',
    '*/*;q=0, text/html;q=0',
    'text/html;q='
  ]
  for (const accept of [
    'text/html;q=0.001',
    'text/html;level=1;q=0.4',
    'text/html, */*;q=0',
    'application/json;q=0, text/html',
    'text/html;q=0, text/html;level=1',
    ' Text/HTML'
  ])
    t.match((await get(accept)).headers, { 'content-type': /^text\/html/ }, accept)
  for (const accept of [
    ...refused,
    '*/*',
    '',
    'application/json',
    'application/json, text/html;q=0.5',
    'application/xhtml+xml',
    'x-text/htmlx',
    'text/html/x'
  ])
    t.match((await get(accept)).json(), { error: 'unmet_authentication_requirements' }, accept)
  const crossSite = await app.inject({
    method: 'POST',
    url: '/recent',
    headers: { cookie, accept: html, 'sec-fetch-site': 'cross-site' }
  })
  t.equal(crossSite.statusCode, 403)
  t.match(crossSite.body, messagesOf('en').errorCrossSite)
})

// covers RFC9700-4.11
t.test('redirects back only to a path of this origin, also for hostile paths and referrers', async (t) => {
  const { app } = await subjectOf(t)
  for (const url of [
    '//evil.example/x',
    '/%0a/evil.example',
    '/..//evil.example',
    '/\\evil.example',
    `/x?${'a'.repeat(3000)}`
  ]) {
    const reply = await app.inject({ url: { pathname: url } })
    const { searchParams } = new URL(String(reply.headers.location), ISSUER)
    t.notMatch(searchParams.get('return_to') ?? '', /evil\.example(?!$)|^\/\/|^\/\\|^\/%0a|a{3000}/, url)
    t.equal(new URL(String(reply.headers.location), ISSUER).pathname, '/auth/login')
  }
  for (const referer of [
    'https://evil.example/recent',
    'http://localhost:3000.evil.example/',
    'http://localhost:3001/recent',
    'about:blank',
    'x',
    '',
    '//localhost:3000/recent',
    `${ISSUER}//evil.example`
  ]) {
    const reply = await app.inject({
      method: 'POST',
      url: '/recent',
      headers: { 'sec-fetch-site': 'same-origin', referer }
    })
    t.strictSame(told(reply), led({}), referer)
  }
})

t.test('rejects a post from another origin without revealing the signed-in user', async (t) => {
  const { app, browser } = await subjectOf(t)
  await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
  const signedIn = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const post = async (headers: Record<string, string>, cookie = signedIn) =>
    await app.inject({ method: 'POST', url: '/recent', headers: { ...headers, cookie } })
  t.equal((await post({ 'sec-fetch-site': 'same-origin' })).statusCode, 200)
  t.equal((await post({ origin: ISSUER })).statusCode, 200, 'a browser without Sec-Fetch-Site')
  for (const headers of [
    {},
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: 'http://app.localhost:3000' },
    { 'sec-fetch-site': 'none', origin: 'null' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'x' }
  ]) {
    const refused = await post(headers as Record<string, string>)
    t.match([refused.statusCode, refused.json().error], [403, 'access_denied'], JSON.stringify(headers))
    t.equal((await post(headers as Record<string, string>, 'x=y')).statusCode, 403, 'nor without a session')
  }
  t.equal((await browser.get('/recent', { 'sec-fetch-site': 'cross-site' })).statusCode, 200, 'a link from elsewhere')
  const head = async (cookie: string) =>
    await app.inject({ method: 'HEAD', url: '/recent?a=1', headers: { cookie, 'sec-fetch-site': 'cross-site' } })
  t.equal((await head(signedIn)).statusCode, 200, 'HEAD reads as GET does')
  t.strictSame(told(await head('x=y')), led({ return_to: '/recent?a=1' }), 'and is led back likewise')
})

t.test('passes the return path to the sign-in page of the host', async (t) => {
  const { browser, byHost, clock } = await subjectOf(t, { pages: { loginUrl: '/sign-in' } })
  await byHost()
  clock.step(301_000)
  const login = await browser.get(String((await browser.get('/recent')).headers.location))
  t.match([login.statusCode, login.headers.location], [303, '/sign-in?return_to=%2Frecent'])
})

t.test('requireSession throws for an invalid requirement, and without a sign-in page', async (t) => {
  const { app } = await subjectOf(t)
  for (const required of [
    undefined,
    null,
    {},
    { maxAge: 0 },
    { maxAge: '300' },
    { maxAge: Infinity },
    { acr: 'mfa' },
    { acr: null },
    { acrs: 'password' }
  ]) {
    t.throws(() => app.authority.requireSession(required as AuthRequirements), {
      code: 'FST_AUTHORITY_INVALID_OPTIONS',
      message: /^Invalid option "requireSession/,
      constructor: StartError
    } as never)
  }
  const bare = Fastify()
  t.teardown(async () => {
    await bare.close()
  })
  await bare.register(authPlugin, ownOptions({ pages: false }))
  t.throws(() => bare.authority.requireSession({ maxAge: 300 }), {
    code: 'FST_AUTHORITY_INVALID_OPTIONS',
    message: /"pages"/
  } as never)
})
