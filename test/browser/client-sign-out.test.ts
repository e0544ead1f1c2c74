/**
 * D1: signing out in the browser client, in Chromium, with requests held back, in one tab and in two, on protected
 * routes.
 */
import type { Page, Route } from 'playwright-core'
import t, { type Test } from '../support/tap.ts'
import { AT_NIGHT } from '../support/at-night.ts'
import { clientSubject, signIn, type Subject } from './support/client-app.ts'
import { withChromium } from './support/chromium.ts'
import { heading, signInOn } from './support/journeys.ts'

/** A typical protected route, which redirects a visitor without a session to the sign-in. */
const GUARD = `
  auth.on('unauthenticated', async () => {
    if (await auth.getUser() !== null) return
    globalThis.asked = settle(() => auth.loginWithRedirect())
    console.info('asked')
  })
`
/** Chromium's message on failed requests. */
const FAILED = /Failed to load resource/
const LOGOUT = "auth.logout({ returnTo: location.origin + '/signed-out' })"

const chromium = await withChromium(t)

interface Held {
  routes: Route[]
  seen: Promise<void>
  release(): Promise<void>
}

/** Holds back requests to this address until it is released. */
async function hold(page: Page, url: string, method?: string): Promise<Held> {
  let see = (): void => {}
  let open = false
  const held: Held = {
    routes: [],
    seen: new Promise((resolve) => {
      see = resolve
    }),
    async release() {
      open = true
      // The requests of a closed page may be gone too.
      for (const route of held.routes.splice(0)) await route.continue().catch(() => {})
    }
  }
  await page.context().route(`${url}*`, async (route) => {
    if (open || (method !== undefined && route.request().method() !== method)) return await route.continue()
    held.routes.push(route)
    see()
  })
  return held
}

interface SignedIn extends Subject {
  page: Page
  /** `prompt` of the authorization requests from now on. */ prompts: Array<string | null>
}

async function signedIn(t: Test, client = '{}', script = GUARD): Promise<SignedIn> {
  const subject = await clientSubject(t, { client, script })
  const page = await chromium.newPage(t, { allow: [FAILED] })
  await signIn(page, subject)
  const prompts: Array<string | null> = []
  page.context().on('request', (request) => {
    const url = new URL(request.url())
    if (url.pathname === '/auth/authorize' && !url.searchParams.has('consent'))
      prompts.push(url.searchParams.get('prompt'))
  })
  return { ...subject, page, prompts }
}

/** Sign-out works the same in each storage. `client-storage` tests the persistence of `session`. */
const STORAGES = AT_NIGHT ? ['local', 'session', 'memory'] : ['local', 'memory']

const isSignInPage = (url: URL): boolean => url.pathname === '/auth/login'

for (const storage of STORAGES) {
  // covers D1
  t.test(
    `one tab, ${storage}: signs out without an authorization request of a protected route in between`,
    async (t) => {
      const { app, provider, page, prompts } = await signedIn(t, `{ storage: '${storage}' }`)
      const revoked = await hold(page, `${provider.origin}/auth/revoke`)
      const ended = await hold(page, `${provider.origin}/auth/logout`)
      // The console is the only report from a page that is navigating away.
      const asked = page.waitForEvent('console', (message) => message.text() === 'asked')
      await app.leave(page, LOGOUT)
      await Promise.all([revoked.seen, ended.seen, asked])
      t.same(prompts, [], 'the protected route waits')
      await ended.release()
      await page.waitForURL(`${app.origin}/signed-out`)
      t.same(prompts, [])
      t.equal(
        (await provider.app.authority.sessions(provider.ann.id)).length,
        0,
        'signed out at the provider, with the revocation still under way'
      )
      await revoked.release()
      await app.leave(page, 'auth.loginWithRedirect()')
      await page.waitForURL(isSignInPage)
      t.equal(await heading(page), 'Sign in to Example Accounts')
    }
  )
}

// covers D1
t.test('emits no event and keeps the tokens while the discovery before a sign-out is delayed', async (t) => {
  const { app, provider, page, prompts } = await signedIn(t)
  const discovery = await hold(page, `${provider.origin}/.well-known/openid-configuration`)
  await page.goto(`${app.origin}/`)
  const other = await page.context().newPage()
  await other.goto(`${app.origin}/`)
  await app.leave(page, LOGOUT)
  await discovery.seen
  for (const tab of [page, other]) {
    t.match(await app.value(tab, 'auth.getUser()'), { sub: provider.ann.id })
    t.type(await app.value(tab, 'auth.getAccessToken()'), 'string')
    await app.leave(tab, 'globalThis.early = settle(() => auth.loginWithRedirect())')
  }
  t.same(
    (await app.events(other)).map(([name]) => name),
    ['authenticated']
  )
  await discovery.release()
  await page.waitForURL(`${app.origin}/signed-out`)
  await other.waitForURL(isSignInPage)
  t.equal(await heading(other), 'Sign in to Example Accounts')
  t.same(new Set(prompts), new Set(['login']), 'the other tab waited, and asks for a sign-in')
  t.equal((await provider.app.authority.sessions(provider.ann.id)).length, 0)
})

for (const storage of STORAGES) {
  // covers D1
  t.test(`two tabs, ${storage}: shows the sign-in page in the other tab only after the sign-out`, async (t) => {
    const subject = await signedIn(t, `{ storage: '${storage}' }`)
    const { app, provider, page, prompts } = subject
    const other = await page.context().newPage()
    await other.goto(`${app.origin}/`)
    if (storage === 'session') {
      await app.leave(other, 'auth.loginWithRedirect()')
      await app.arrived(other)
    }
    await other.waitForFunction("events.some(([name]) => name === 'authenticated')")
    prompts.length = 0
    const ended = await hold(page, `${provider.origin}/auth/logout`)
    await app.leave(page, LOGOUT)
    await ended.seen
    await other.waitForFunction('globalThis.asked !== undefined')
    t.equal(await app.value(other, 'auth.getUser()'), null)
    t.match(await app.call(other, 'auth.getAccessToken()'), { error: 'login_required', typed: true })
    t.same(prompts, [])
    await ended.release()
    await page.waitForURL(`${app.origin}/signed-out`)
    await other.waitForURL(isSignInPage)
    t.same(new Set(prompts), new Set(['login']))
    t.equal((await provider.app.authority.sessions(provider.ann.id)).length, 0)
    // A later sign-in signs both tabs in.
    await signInOn(other)
    t.match(await app.arrived(other), { value: {} })
    t.match(await app.value(other, 'auth.getUser()'), { sub: provider.ann.id })
    t.type(await app.value(other, 'auth.getAccessToken({ force: true })'), 'string')
  })
}

// covers D1
t.test('shows the sign-in page at the next sign-in after a sign-out that did not reach the provider', async (t) => {
  const { app, provider, page, prompts } = await signedIn(t)
  await page.context().route(`${provider.origin}/auth/logout*`, async (route) => {
    await route.abort()
  })
  await app.leave(page, LOGOUT)
  await page.waitForURL((url) => url.protocol === 'chrome-error:').catch(() => {})
  const other = await page.context().newPage()
  await other.goto(`${app.origin}/`)
  t.match(
    await app.call(other, "auth.loginWithRedirect({ authorizationParams: { prompt: 'none' } })"),
    { error: 'login_required', typed: true },
    'and not silently'
  )
  await app.leave(other, 'auth.loginWithRedirect()')
  await other.waitForURL(isSignInPage)
  t.equal(await heading(other), 'Sign in to Example Accounts')
  t.equal(
    (await provider.app.authority.sessions(provider.ann.id)).length > 0,
    true,
    'though the provider would not have asked'
  )
  t.same(
    prompts.filter((prompt) => prompt !== 'login'),
    []
  )

  await other.goto(`${app.origin}/`)
  await other.evaluate(`localStorage.setItem('authority.app.${provider.origin}!', String(Date.now() - 31000))`)
  await app.leave(other, 'auth.loginWithRedirect()')
  await other.waitForURL((url) => url.pathname === '/callback')
  t.match(await app.arrived(other), { value: {} }, 'what a crash left counts no longer')
})

// covers D1
t.test('cancels a pending sign-in with login_required when another tab signs out', async (t) => {
  for (const released of ['before', 'after']) {
    const { app, provider, page } = await signedIn(t, '{}', '')
    const other = await page.context().newPage()
    const token = await hold(other, `${provider.origin}/auth/token`)
    await other.goto(`${app.origin}/`)
    await app.leave(other, "auth.loginWithRedirect({ appState: 'b' })")
    await token.seen
    const ended = await hold(page, `${provider.origin}/auth/logout`)
    await app.leave(page, LOGOUT)
    await ended.seen
    if (released === 'before') await token.release()
    else await ended.release()
    if (released === 'after') await page.waitForURL(`${app.origin}/signed-out`)
    await token.release()
    t.match(
      await app.arrived(other),
      { error: 'login_required', typed: true, appState: 'b' },
      `the token came ${released} the provider signed out`
    )
    t.equal(await app.value(other, 'auth.getUser()'), null)
    t.equal(
      await other.evaluate(
        'Object.keys(localStorage).some((name) => /access_token|refresh_token/.test(localStorage[name]))'
      ),
      false
    )
    await ended.release()
  }
})

// covers D1
t.test('sends one sign-out for two parallel calls', async (t) => {
  const { app, provider, page } = await signedIn(t)
  const ended = await hold(page, `${provider.origin}/auth/logout`)
  await app.leave(page, `[${LOGOUT}, settle(() => ${LOGOUT})]`)
  await ended.seen
  t.equal(ended.routes.length, 1)
  await ended.release()
  await page.waitForURL(`${app.origin}/signed-out`)
  t.equal((await provider.app.authority.sessions(provider.ann.id)).length, 0)
})

// covers D1
t.test('sends `prompt=login` from the open tab after a local sign-out', async (t) => {
  const { app, page, prompts } = await signedIn(t)
  await app.leave(page, 'auth.logout({ returnTo: false })')
  await page.waitForURL(isSignInPage)
  t.same(new Set(prompts), new Set(['login']))
})
