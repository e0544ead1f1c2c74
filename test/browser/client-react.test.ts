/** `useAuth` of the React entry in Chromium, in StrictMode: effects run twice, and the sign-in ends once. */
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
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

async function reactApp (t: Test): Promise<{ origin: string, provider: Provider }> {
  let body = ''
  const { origin } = await staticServer(t, '127.0.0.1', (path) => path === '/app.js'
    ? { type: 'text/javascript', body }
    : { type: 'text/html', body: '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>App</title><main></main><script type="module" src="/app.js"></script>' })
  const provider = await startProvider(t, { clock: steppedClock(Date.now()), clients: [{ clientId: 'app', redirectUris: [`${origin}/callback`] }] })
  const { outputFiles } = await build({
    stdin: { contents: CODE(provider.origin), resolveDir: fileURLToPath(new URL('../../lib/client/', import.meta.url)) },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    // With what React finds wrong in development.
    define: { 'process.env.NODE_ENV': '"development"' },
    write: false
  })
  body = outputFiles[0]?.text ?? ''
  return { origin, provider }
}

t.test('StrictMode: one sign-in, one state for all components, no render without a change', async (t) => {
  const { origin, provider } = await reactApp(t)
  const page = await chromium.newPage(t)
  const token = await intercept(page, `${provider.origin}/auth/token`)
  const shown = async (text: string): Promise<void> => { for (const id of ['a', 'b']) await page.locator(`#${id}`, { hasText: text }).waitFor() }
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
