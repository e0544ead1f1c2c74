/**
 * `useAuth` and `RequireAuth` of the React entry in Chromium, in StrictMode: effects run twice, and the sign-in ends
 * once.
 */
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Route } from 'playwright-core'
import t, { type Test } from '../support/tap.ts'
import { steppedClock } from '../../lib/testing/index.ts'
import { withChromium } from './support/chromium.ts'
import { intercept } from './support/client-app.ts'
import { signInOn } from './support/journeys.ts'
import { type Provider, startProvider } from './support/provider.ts'
import { staticServer } from './support/static-server.ts'

const chromium = await withChromium(t)

const CODE = (domain: string): string => `
  import { createElement as h, StrictMode, useEffect } from 'react'
  import { createRoot } from 'react-dom/client'
  import { renderToString } from 'react-dom/server'
  import { createAuthClient } from './index.ts'
  import { useAuth } from './react.ts'
  const auth = createAuthClient({ clientId: 'app', domain: ${JSON.stringify(domain)}, redirectUri: location.origin + '/callback' })
  let renders = 0, effects = 0
  function Who ({ id }) {
    const { user, isLoading, error } = useAuth(auth)
    useEffect(() => {
      effects++
      if (location.pathname === '/callback') auth.handleRedirectCallback().catch(() => {})
    }, [])
    return h('p', { id }, isLoading ? 'loading' : error ? error.error : user ? user.preferred_username : 'nobody')
  }
  function Counted () {
    const state = useAuth(auth)
    renders++
    return state.user?.sub
  }
  const onServer = renderToString(h(Who, { id: 'a' }))
  const root = createRoot(document.querySelector('main'))
  root.render(h(StrictMode, null, h(Who, { id: 'a' }), h(Who, { id: 'b' }), h(Counted)))
  Object.assign(globalThis, { auth, onServer, counts: () => ({ renders, effects }), unmount: () => root.unmount() })
`

/** An app with only pages for signed-in users and no other code for the sign-in. */
const PRIVATE = (domain: string): string => `
  import { createElement as h, StrictMode } from 'react'
  import { createRoot } from 'react-dom/client'
  import { createAuthClient } from './index.ts'
  import { RequireAuth, useAuth } from './react.ts'
  const auth = createAuthClient({ clientId: 'app', domain: ${JSON.stringify(domain)}, redirectUri: location.origin + '/callback' })
  const Who = () => h('p', { id: 'who' }, useAuth(auth).user.preferred_username)
  const Why = () => h('p', { id: 'why' }, useAuth(auth).error?.error ?? '')
  const guarded = (key) => h(RequireAuth, { key, client: auth, login: { appState: { from: location.pathname } }, fallback: h(Why) }, h(Who))
  createRoot(document.querySelector('main')).render(h(StrictMode, null, guarded('a'), guarded('b')))
  Object.assign(globalThis, { auth })
`

async function reactApp(t: Test, code = CODE): Promise<{ origin: string; provider: Provider }> {
  let body = ''
  const { origin } = await staticServer(t, '127.0.0.1', (path) =>
    path === '/app.js'
      ? { type: 'text/javascript', body }
      : {
          type: 'text/html',
          body:
            '<!doctype html><html lang="en"><link rel="icon" ' +
            'href="data:,"><title>App</title><main></main><script type="module" src="/app.js"></script>'
        }
  )
  const provider = await startProvider(t, {
    clock: steppedClock(Date.now()),
    clients: [
      { clientId: 'app', redirectUris: [`${origin}/callback`], postLogoutRedirectUris: [`${origin}/signed-out`] }
    ]
  })
  const { outputFiles } = await build({
    stdin: {
      contents: code(provider.origin),
      resolveDir: fileURLToPath(new URL('../../lib/client/', import.meta.url))
    },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    // With React's warnings of development.
    define: { 'process.env.NODE_ENV': '"development"' },
    write: false
  })
  body = outputFiles[0]?.text ?? ''
  return { origin, provider }
}

t.test('useAuth in StrictMode: signs in once, shares one state, and renders only on changes', async (t) => {
  const { origin, provider } = await reactApp(t)
  const page = await chromium.newPage(t)
  const token = await intercept(page, `${provider.origin}/auth/token`)
  const shown = async (text: string): Promise<void> => {
    for (const id of ['a', 'b']) await page.locator(`#${id}`, { hasText: text }).waitFor()
  }
  await page.goto(`${origin}/`)
  await shown('nobody')
  t.equal(await page.evaluate('onServer'), '<p id="a">loading</p>', 'what a server renders')
  await page.evaluate('void auth.loginWithRedirect()')
  await page.waitForURL((url) => url.pathname === '/auth/login')
  await signInOn(page)
  await page.waitForURL((url) => url.pathname === '/callback')
  await shown('ann')
  t.match(await page.evaluate('counts()'), { effects: 4 }, 'effects ran twice in both')
  t.equal(token.forms.length, 1)
  t.equal(page.url(), `${origin}/callback`)

  const before = await page.evaluate('counts()')
  await page.evaluate('auth.getAccessToken({ force: true })')
  await page.evaluate('auth.getUser()')
  t.same(await page.evaluate('counts()'), before, 'a refresh that says nothing new of the user renders nothing')

  const other = await page.context().newPage()
  await other.goto(`${origin}/`)
  await other.locator('#a', { hasText: 'ann' }).waitFor()
  await other.evaluate('auth.logout({ returnTo: false })')
  await shown('nobody')
  await page.evaluate('unmount()')
  t.equal(await page.locator('main').innerText(), '')
})

// covers D1
t.test(
  'RequireAuth in StrictMode: starts one sign-in, completes it, and sends prompt=login after a sign-out',
  async (t) => {
    const { origin, provider } = await reactApp(t, PRIVATE)
    const page = await chromium.newPage(t)
    const authorize = await intercept(page, `${provider.origin}/auth/authorize`)
    const prompts: Array<string | null> = []
    const count = async (route: Route): Promise<void> => {
      prompts.push(new URL(route.request().url()).searchParams.get('prompt'))
      await route.continue()
    }
    authorize.answer = count
    await page.goto(`${origin}/cart`)
    await page.waitForURL((url) => url.pathname === '/auth/login')
    t.same(prompts, [null], 'two views, whose effects run twice: one sign-in')
    await signInOn(page)
    await page.locator('#who').first().waitFor()
    t.equal(await page.locator('#who').count(), 2)
    t.equal(page.url(), `${origin}/callback`)
    t.same(
      await page.evaluate('auth.handleRedirectCallback()'),
      { appState: { from: '/cart' } },
      'where the app may go on'
    )

    prompts.length = 0
    const other = await page.context().newPage()
    await other.goto(`${origin}/cart`)
    await other.locator('#who').first().waitFor()
    await page.evaluate("void auth.logout({ returnTo: location.origin + '/signed-out' })")
    for (const tab of [page, other]) {
      await tab.waitForURL((url) => url.pathname === '/auth/login')
      await tab.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    }
    t.same(new Set(prompts), new Set(['login']))
    t.equal((await provider.app.authority.sessions(provider.ann.id)).length, 0)
  }
)

t.test('RequireAuth: shows the error of a rejected sign-in, and does not retry', async (t) => {
  const { origin, provider } = await reactApp(t, PRIVATE)
  const page = await chromium.newPage(t)
  const authorize = await intercept(page, `${provider.origin}/auth/authorize`)
  let asked = 0
  authorize.answer = async (route) => {
    asked++
    const { searchParams: params } = new URL(route.request().url())
    await route.fulfill({
      status: 303,
      headers: {
        location: `${origin}/callback?${new URLSearchParams({ error: 'access_denied', state: params.get('state') ?? '', iss: provider.origin }).toString()}`
      }
    })
  }
  await page.goto(`${origin}/cart`)
  await page.locator('#why', { hasText: 'access_denied' }).first().waitFor()
  t.equal(asked, 1)
})
