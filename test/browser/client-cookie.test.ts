/**
 * The browser client in `cookie` mode in Chromium: pages of the provider's own origin, where no token ever reaches a
 * script.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { transformSync } from 'esbuild'
import type { FastifyInstance } from 'fastify'
import type { Page } from 'playwright-core'
import t, { type Test } from '../support/tap.ts'
import { changed, intercept } from './support/client-app.ts'
import { signInOn, signUpOn } from './support/journeys.ts'
import { type Provider, startProvider } from './support/provider.ts'
import { withChromium } from './support/chromium.ts'

const CLIENT = new URL('../../lib/client/', import.meta.url)
const PAGE =
  '<!doctype html><html lang="en"><title>Shop</title><h1>Shop</h1><script type="module" src="/shop.js"></script>'
const SCRIPT = `
  import { createAuthClient } from '/client/index.ts'
  const auth = createAuthClient({ clientId: 'shop', domain: location.origin, mode: 'cookie', redirectUri: location.origin + '/shop' })
  const events = []
  for (const name of ['authenticated', 'unauthenticated', 'token_refreshed']) auth.on(name, () => { events.push(name) })
  const outcome = (promise) => promise.then((value) => ({ value }), ({ error, retryable }) => ({ error, retryable }))
  Object.assign(globalThis, { auth, events, outcome })
  globalThis.started = outcome(location.search === '' ? auth.getUser() : auth.handleRedirectCallback())
`
/** Chromium's message on an answer with 401 to a script. */
const FAILED = /Failed to load resource/

const chromium = await withChromium(t)

function shop(host: FastifyInstance): void {
  host.get('/shop', async (_request, reply) => await reply.type('text/html').send(PAGE))
  host.get('/shop.js', async (_request, reply) => await reply.type('text/javascript').send(SCRIPT))
  for (const name of readdirSync(CLIENT).filter((file) => file.endsWith('.ts'))) {
    const { code } = transformSync(readFileSync(new URL(name, CLIENT), 'utf8'), { loader: 'ts', target: 'es2022' })
    host.get(`/client/${name}`, async (_request, reply) => await reply.type('text/javascript').send(code))
  }
  // Looked up at the request, because the hook exists only after the plugin is registered.
  host.get(
    '/orders',
    {
      onRequest: (request, reply, done) => {
        host.authority.readSession(request, reply, done)
      }
    },
    async (request, reply) =>
      request.authSession === null
        ? await reply.code(401).send({ error: 'login_required' })
        : { sub: request.authSession.sub, authorization: request.headers.authorization ?? null }
  )
}

async function signedIn(t: Test): Promise<{ provider: Provider; page: Page }> {
  const provider = await startProvider(t, {}, shop)
  const page = await chromium.newPage(t, { allow: [FAILED] })
  await page.goto(`${provider.origin}/shop`)
  t.same(await page.evaluate('started'), { value: null })
  await page.evaluate("void auth.loginWithRedirect({ appState: { from: '/cart' } })")
  await page.waitForURL((url) => url.pathname === '/auth/login')
  await signInOn(page)
  await page.waitForURL((url) => url.pathname === '/shop')
  t.same(await page.evaluate('started'), { value: { appState: { from: '/cart' } } })
  t.equal(page.url(), `${provider.origin}/shop`, 'nothing stays in the address')
  return { provider, page }
}

t.test('opens the sign-up page for screen: signup, and returns signed in', async (t) => {
  const provider = await startProvider(t, {}, shop)
  const page = await chromium.newPage(t, { allow: [FAILED] })
  await page.goto(`${provider.origin}/shop`)
  await page.evaluate("void auth.loginWithRedirect({ screen: 'signup', appState: 'new' })")
  await page.waitForURL((url) => url.pathname === '/auth/signup')
  await signUpOn(page, 'first')
  await page.waitForURL((url) => url.pathname === '/shop')
  t.same(await page.evaluate('started'), { value: { appState: 'new' } })
  t.match(await page.evaluate('auth.getUser()'), { preferred_username: 'first' })
})

t.test('exposes the user but no token to the page after a sign-in', async (t) => {
  const { provider, page } = await signedIn(t)
  const { sub } = await page.evaluate<{ sub: string }>('auth.getUser()')
  t.equal(sub, provider.ann.id)
  t.same(await page.evaluate('events'), ['authenticated'])
  const kept = await page.evaluate<string>('JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie')
  t.match(kept, sub)
  t.notMatch(kept, /access_token|refresh_token|id_token|authority_session/)
  t.same(await page.evaluate("auth.fetch('/orders').then((response) => response.json())"), { sub, authorization: null })
})

t.test('signs a user with a session in without showing a page', async (t) => {
  const { provider, page } = await signedIn(t)
  const other = await page.context().newPage()
  await page.evaluate('localStorage.clear()')
  await other.goto(`${provider.origin}/shop`)
  t.same(await other.evaluate('started'), { value: null })
  await other.evaluate('void auth.loginWithRedirect()')
  await other.waitForURL((url) => url.pathname === '/shop')
  // The former page has the same path, and the next one has no `events` before its script has run.
  await other.waitForFunction('globalThis.events?.includes("authenticated")')
  t.match(await other.evaluate('auth.getUser()'), { sub: provider.ann.id })
})

t.test('ends the session in all tabs at the first 401 after a revocation', async (t) => {
  const { provider, page } = await signedIn(t)
  const other = await page.context().newPage()
  await other.goto(`${provider.origin}/shop`)
  await provider.app.authority.revokeUser(provider.ann.id)
  t.equal(await page.evaluate("auth.fetch('/orders').then(({ status }) => status)"), 401)
  t.equal(await page.evaluate('auth.getUser()'), null)
  await other.waitForFunction('events.includes("unauthenticated")')
})

t.test('keeps the user signed in during an outage', async (t) => {
  const { provider, page } = await signedIn(t)
  await page.route('**/auth/session', async (route) => {
    await route.fulfill({ status: 503, body: 'no' })
  })
  t.match(await page.evaluate('outcome(auth.getAccessToken({ force: true }))'), {
    error: 'request_error',
    retryable: true
  })
  t.match(await page.evaluate('auth.getUser()'), { sub: provider.ann.id })
  await page.unroute('**/auth/session')
  t.same(await page.evaluate('outcome(auth.getAccessToken({ force: true }))'), {}, 'there is no token to give')
  t.same(await page.evaluate('events'), ['authenticated', 'token_refreshed'])
})

t.test('ends the browser session at the server when signing out', async (t) => {
  const { provider, page } = await signedIn(t)
  await page.evaluate('auth.logout()')
  t.equal(await page.evaluate('auth.getUser()'), null)
  t.equal((await provider.app.authority.sessions(provider.ann.id)).length, 0)
  t.equal(await page.evaluate("fetch('/auth/session').then(({ status }) => status)"), 401)
})

// covers ASVS-3.5.1
t.test('refuses requests of other sites to read or end the session', async (t) => {
  const { provider, page } = await signedIn(t)
  const evil = await chromium.newPage(t, { allow: [FAILED, /CORS policy/, /ERR_FAILED/] })
  await evil.context().addCookies(await page.context().cookies())
  await evil.goto(`${provider.client.origin}/`)
  for (const method of ['GET', 'POST', 'DELETE']) {
    t.equal(
      await evil.evaluate(
        `fetch('${provider.origin}/auth/session', { method: '${method}', credentials: 'include' ` +
          `}).then(() => 'read', () => 'refused')`
      ),
      'refused',
      method
    )
  }
  t.equal((await provider.app.authority.sessions(provider.ann.id)).length, 1)
})

t.test('reports another user who signed in meanwhile, and removes the data of the former one', async (t) => {
  const { provider, page } = await signedIn(t)
  const { id } = await provider.addUser('bob')
  await page.context().clearCookies()
  const other = await page.context().newPage()
  await other.goto(`${provider.origin}/auth/login`)
  await signInOn(other, { username: 'bob' })
  const session = await intercept(page, `${provider.origin}/auth/session`)
  session.answer = changed(({ user, ...rest }) => ({ ...rest, user: { ...(user as object), email: undefined } }))
  await page.evaluate('auth.getAccessToken({ force: true })')
  const user = await page.evaluate<Record<string, unknown>>('auth.getUser()')
  t.match(user, { sub: id, preferred_username: 'bob' })
  t.notOk('email' in user, 'no claim of the former user')
  t.same(await page.evaluate('events'), ['authenticated', 'authenticated'])
})

// covers D3
t.test('keeps the query of the redirect URI after a sign-in', async (t) => {
  const provider = await startProvider(t, {}, shop)
  const page = await chromium.newPage(t, { allow: [FAILED] })
  await page.goto(`${provider.origin}/shop`)
  await page.evaluate("void auth.loginWithRedirect({ redirectUri: location.origin + '/shop?tab=2&lang=de' })")
  await page.waitForURL((url) => url.pathname === '/auth/login')
  await signInOn(page)
  await page.waitForURL((url) => url.pathname === '/shop')
  t.same(await page.evaluate('started'), { value: { appState: null } })
  t.equal(page.url(), `${provider.origin}/shop?tab=2&lang=de`)
})

/** A typical protected route, which redirects a visitor without a session to the sign-in. */
const GUARD = "auth.on('unauthenticated', () => { globalThis.asked = outcome(auth.loginWithRedirect()) })"

// covers D1
t.test('emits no event and starts no sign-in in any tab while a sign-out is delayed', async (t) => {
  const { provider, page } = await signedIn(t)
  const other = await page.context().newPage()
  await other.goto(`${provider.origin}/shop`)
  const pages: string[] = []
  page.context().on('request', (request) => {
    if (new URL(request.url()).pathname === '/auth/login') pages.push(request.url())
  })
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.context().route('**/auth/session', async (route) => {
    if (route.request().method() === 'DELETE') await held
    await route.continue()
  })
  for (const tab of [page, other]) await tab.evaluate(GUARD)
  await Promise.all([
    page.waitForRequest((request) => request.method() === 'DELETE'),
    page.evaluate('void auth.logout()')
  ])
  await other.evaluate('globalThis.early = outcome(auth.loginWithRedirect()); 0')
  for (const tab of [page, other]) t.same(await tab.evaluate('events'), ['authenticated'])
  t.same(pages, [])
  release()
  for (const tab of [page, other]) {
    await tab.waitForURL((url) => url.pathname === '/auth/login')
    await tab.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  }
  t.equal((await provider.app.authority.sessions(provider.ann.id)).length, 0)
})

// covers D1
t.test('signs out locally if the server is unreachable, and shows the sign-in page at the next sign-in', async (t) => {
  const { page } = await signedIn(t)
  await page.context().route('**/auth/session', async (route) => {
    await route.abort()
  })
  t.match(await page.evaluate('outcome(auth.logout())'), { error: 'request_error', retryable: true })
  t.equal(await page.evaluate('auth.getUser()'), null)
  await page.evaluate('void auth.loginWithRedirect()')
  await page.waitForURL((url) => url.pathname === '/auth/login')
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  t.equal(
    (await page.context().cookies()).some(({ name }) => name.includes('authority_session_')),
    true,
    'though the browser session is still there'
  )
})
