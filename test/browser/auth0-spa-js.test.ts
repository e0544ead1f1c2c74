/**
 * `@auth0/auth0-spa-js` in Chromium, unchanged except for `domain` and `clientId`, against the paths and the issuer of
 * Auth0: signs in, calls an API, renews silently, signs out.
 */
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t from '../support/tap.ts'
import { steppedClock } from '../../lib/testing/index.ts'
import { withChromium } from './support/chromium.ts'
import { intercept } from './support/client-app.ts'
import { heading, press, signInOn } from './support/journeys.ts'
import { startProvider } from './support/provider.ts'
import { staticServer } from './support/static-server.ts'

const chromium = await withChromium(t)

const CODE = (domain: string): string => `
  import { createAuth0Client } from '@auth0/auth0-spa-js'
  const page = async () => {
    const auth0 = await createAuth0Client({
      domain: ${JSON.stringify(domain)},
      clientId: 'spa',
      useRefreshTokens: true,
      cacheLocation: 'localstorage',
      authorizationParams: { redirect_uri: location.origin + '/callback', scope: 'openid profile email' }
    })
    globalThis.auth0 = auth0
    if (!location.search.includes('state=')) return undefined
    const { appState } = await auth0.handleRedirectCallback()
    history.replaceState({}, '', location.pathname)
    return { appState }
  }
  globalThis.started = page()
`

// covers C8
t.test('signs in, calls an API, renews silently and signs out with auth0-spa-js at the paths of Auth0', async (t) => {
  let body = ''
  const { origin } = await staticServer(t, 'localhost', (path) =>
    path === '/app.js'
      ? { type: 'text/javascript', body }
      : {
          type: 'text/html',
          body:
            '<!doctype html><html lang="en"><link rel="icon" ' +
            'href="data:,"><title>App</title><h1>App</h1><script type="module" src="/app.js"></script>'
        }
  )
  const provider = await startProvider(t, {
    issuerSlash: true,
    clock: steppedClock(Date.now()),
    paths: { authorize: '/authorize', token: '/oauth/token', logout: '/v2/logout' },
    idToken: { claims: 'scopes' },
    clients: [
      { clientId: 'spa', redirectUris: [`${origin}/callback`], postLogoutRedirectUris: [`${origin}/signed-out`] }
    ]
  })
  const { outputFiles } = await build({
    stdin: { contents: CODE(provider.origin), resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false
  })
  body = outputFiles[0]?.text ?? ''

  const page = await chromium.newPage(t)
  const token = await intercept(page, `${provider.origin}/oauth/token`)
  await page.goto(`${origin}/`)
  await page.evaluate('started')
  await page.evaluate("void auth0.loginWithRedirect({ appState: { from: '/cart' } })")
  await page.waitForURL((url) => url.pathname === '/auth/login')
  await signInOn(page)
  await page.waitForURL((url) => url.origin === origin && url.pathname === '/callback')
  t.same(await page.evaluate('started'), { appState: { from: '/cart' } })
  t.match(await page.evaluate('auth0.getUser()'), {
    sub: provider.ann.id,
    preferred_username: 'ann',
    email: 'ann@example.com'
  })
  t.match(await page.evaluate('auth0.getIdTokenClaims()'), { iss: `${provider.origin}/`, aud: 'spa' })

  const first = await page.evaluate<string>('auth0.getTokenSilently()')
  const call = async (bearer: string): Promise<unknown> =>
    await (await fetch(`${provider.origin}/me`, { headers: { authorization: `Bearer ${bearer}` } })).json()
  t.match(await call(first), { sub: provider.ann.id })

  const next = await page.evaluate<string>("auth0.getTokenSilently({ cacheMode: 'off' })")
  t.not(next, first)
  t.match(await call(next), { sub: provider.ann.id })
  t.same(
    token.forms.map(({ grant_type: grant }) => grant),
    ['authorization_code', 'refresh_token']
  )
  await page.reload()
  await page.evaluate('started')
  t.equal(await page.evaluate('auth0.isAuthenticated()'), true)

  await page.evaluate("void auth0.logout({ logoutParams: { returnTo: location.origin + '/signed-out' } })")
  await page.waitForURL((url) => url.pathname === '/v2/logout')
  t.equal(new URL(page.url()).searchParams.get('returnTo'), `${origin}/signed-out`)
  t.match(await heading(page), /Sign out/, 'without an ID token to show, the person is asked')
  await press(page, 'Sign out')
  await page.waitForURL(`${origin}/signed-out`)
  await page.evaluate('started')
  t.equal(await page.evaluate('auth0.isAuthenticated()'), false)
  t.equal((await provider.app.authority.sessions(provider.ann.id)).length, 0)
  await page.evaluate('void auth0.loginWithRedirect()')
  await page.waitForURL((url) => url.pathname === '/auth/login')
  await signInOn(page)
  await page.waitForURL((url) => url.origin === origin && url.pathname === '/callback')
  await page.evaluate('started')
  await page.evaluate(
    'auth0.getIdTokenClaims().then(({ __raw }) => { void auth0.logout({ logoutParams: { ' +
      "returnTo: location.origin + '/signed-out', id_token_hint: __raw } }) })"
  )
  await page.waitForURL(`${origin}/signed-out`)
  t.equal((await provider.app.authority.sessions(provider.ann.id)).length, 0, 'with an ID token to show, at once')
})

// covers C8
t.test('rejects an unregistered returnTo at sign-out', async (t) => {
  const provider = await startProvider(t, { paths: { logout: '/v2/logout' } })
  const ask = async (params: Record<string, string>): Promise<Response> =>
    await fetch(`${provider.origin}/v2/logout?${new URLSearchParams(params).toString()}`, { redirect: 'manual' })
  t.equal((await ask({ client_id: 'spa', returnTo: 'https://evil.example/' })).status, 400)
  t.equal((await ask({ client_id: 'spa', returnTo: `${provider.client.origin}/logged-out` })).status, 200)
  t.equal(
    (
      await ask({
        client_id: 'spa',
        returnTo: `${provider.client.origin}/logged-out`,
        post_logout_redirect_uri: 'https://evil.example/'
      })
    ).status,
    400,
    'the name of the standard counts where both are there'
  )
})
