/** The browser client, unchanged, against another OpenID provider: oidc-provider. */
import t from '../support/tap.ts'
import { intercept, startClientApp } from './support/client-app.ts'
import { withChromium } from './support/chromium.ts'
import { ACCOUNT, startForeignProvider } from './support/foreign-provider.ts'

const chromium = await withChromium(t)

t.test('signs in, refreshes and signs out at a provider of another vendor', async (t) => {
  let domain = ''
  const app = await startClientApp(t, () => domain)
  const provider = await startForeignProvider(t, {
    redirectUris: [`${app.origin}/callback`],
    signedOutUris: [`${app.origin}/signed-out`]
  })
  domain = provider.origin
  const page = await chromium.newPage(t)
  const token = await intercept(page, `${provider.origin}/token`)
  const revoked = await intercept(page, `${provider.origin}/token/revocation`)
  // The page unloads before the response arrives.
  const isRevoked = new Promise<void>((resolve, reject) => {
    revoked.answer = async (route) => {
      await route.fetch().then(() => {
        resolve()
      }, reject)
    }
  })
  await page.goto(`${app.origin}/`)
  await app.leave(page, "auth.loginWithRedirect({ appState: { from: '/cart' } })")
  t.same(await app.arrived(page), { value: { appState: { from: '/cart' } } })
  t.equal(page.url(), `${app.origin}/callback`)
  t.same(await app.value(page, 'auth.getUser()'), ACCOUNT)
  const first = await app.value(page, 'auth.getAccessToken()')
  const next = (await app.value(
    page,
    'Promise.all([1, 2, 3].map(() => auth.getAccessToken({ force: true })))'
  )) as string[]
  t.not(next[0], first)
  t.same(next, [next[0], next[0], next[0]])
  t.same(
    token.forms.map(({ grant_type: grant }) => grant),
    ['authorization_code', 'refresh_token']
  )

  await app.leave(page, "auth.logout({ returnTo: location.origin + '/signed-out' })")
  await page.getByRole('button', { name: 'Yes' }).click()
  await page.waitForURL((url) => url.href === `${app.origin}/signed-out`)
  t.equal(await app.value(page, 'auth.getUser()'), null)
  await isRevoked
  const refreshed = await fetch(`${provider.origin}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: 'app',
      refresh_token: revoked.forms[0]?.token ?? ''
    })
  })
  t.match(await refreshed.json(), { error: 'invalid_grant' })
})
