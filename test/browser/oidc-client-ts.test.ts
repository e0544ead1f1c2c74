/**
 * An unchanged oidc-client-ts 3 in Chromium, in a single-page app on another origin. The person uses the hosted pages.
 */
import type { Page } from 'playwright-core'
import t, { type Test } from '../support/tap.ts'
import { steppedClock } from '../../lib/testing/index.ts'
import { PASSWORD } from '../support/app.ts'
import { withChromium } from './support/chromium.ts'
import { fill, heading, signInOn, USERNAME } from './support/journeys.ts'
import { type Provider, startProvider } from './support/provider.ts'
import { type Spa, startSpa } from './support/spa.ts'

const OFFLINE = 'openid profile email offline_access'
/** Chromium's message on an answer with 400 or 401 to a script. */
const REFUSED = /Failed to load resource: the server responded with a status of 40[01]/

const chromium = await withChromium(t)

interface Subject {
  provider: Provider
  spa: Spa
}

async function subjectOf(
  t: Test,
  { host = 'localhost', scope = OFFLINE }: { host?: 'localhost' | '127.0.0.1'; scope?: string } = {}
): Promise<Subject> {
  let authority = ''
  const spa = await startSpa(t, { host, clientId: 'app', scope, authority: () => authority })
  const provider = await startProvider(t, {
    clock: steppedClock(Date.now()),
    clients: [
      {
        clientId: 'app',
        redirectUris: [`${spa.origin}/callback`, `${spa.origin}/silent`],
        postLogoutRedirectUris: [`${spa.origin}/signed-out`]
      }
    ]
  })
  authority = provider.origin
  return { provider, spa }
}

/** From the app to the sign-in page and back. */
async function signIn(page: Page, { provider, spa }: Subject): Promise<unknown> {
  await page.goto(`${spa.origin}/`)
  await spa.leave(page, "manager.signinRedirect({ state: { from: '/cart' } })")
  await page.waitForURL((url) => url.origin === provider.origin && url.pathname === '/auth/login')
  await signInOn(page)
  const outcome = await spa.arrived(page, '/callback')
  if ('error' in outcome) throw new Error(outcome.error)
  return outcome.value
}

const signedInAs = ({ provider }: Subject): Record<string, unknown> => ({
  value: { access_token: String, token_type: 'Bearer', profile: { sub: provider.ann.id, preferred_username: 'ann' } }
})

t.test('signs in, renews with the refresh token and revokes it', async (t) => {
  const subject = await subjectOf(t)
  const { provider, spa } = subject
  const page = await chromium.newPage(t, { locale: 'en', allow: [REFUSED] })
  const user = (await signIn(page, subject)) as Record<string, string>
  t.match(user, {
    access_token: String,
    refresh_token: String,
    id_token: String,
    scope: OFFLINE,
    state: { from: '/cart' },
    profile: { iss: provider.origin, aud: 'app', sub: provider.ann.id, preferred_username: 'ann' }
  })

  const renewed = await spa.call(page, 'manager.signinSilent()')
  t.match(renewed, signedInAs(subject))
  const next = (renewed as { value: Record<string, string> }).value
  t.not(next.access_token, user.access_token)
  t.not(next.refresh_token, user.refresh_token, 'rotated')

  t.match(await spa.call(page, 'manager.revokeTokens()'), { value: undefined })
  t.same(
    await spa.call(
      page,
      'manager._client.useRefreshToken({ state: { refresh_token: ' +
        `${JSON.stringify(next.refresh_token)}, profile: {} } })`
    ),
    { error: 'invalid_grant' }
  )
  t.equal(await userinfo(provider, next.access_token), 401)
})

t.test('renews tokens in an iframe with prompt=none', async (t) => {
  const subject = await subjectOf(t, { scope: 'openid profile' })
  const page = await chromium.newPage(t, { locale: 'en' })
  const user = (await signIn(page, subject)) as Record<string, string>
  t.equal(user.refresh_token, undefined)
  const renewed = await subject.spa.call(page, 'manager.signinSilent()')
  t.match(renewed, signedInAs(subject))
  t.not((renewed as { value: Record<string, string> }).value.access_token, user.access_token)
})

t.test('signs out, returns to the app, and refuses renewal afterwards', async (t) => {
  const subject = await subjectOf(t)
  const { provider, spa } = subject
  const page = await chromium.newPage(t, { locale: 'en', allow: [REFUSED] })
  const user = (await signIn(page, subject)) as Record<string, string>
  await spa.leave(page, "manager.signoutRedirect({ state: 'bye' })")
  t.match(await spa.arrived(page, '/signed-out'), { value: { userState: 'bye' } })
  t.same(await spa.call(page, 'manager.getUser()'), { value: null })
  t.same(await spa.call(page, 'manager.signinSilent()'), { error: 'login_required' })
  t.equal(await userinfo(provider, user.access_token), 401)

  await spa.leave(page, 'manager.signinRedirect()')
  await page.waitForURL((url) => url.pathname === '/auth/login')
  t.equal(await heading(page), 'Sign in to Example Accounts')
})

t.test('refuses renewal in a tab after a sign-out in another', async (t) => {
  const subject = await subjectOf(t)
  const { spa } = subject
  const page = await chromium.newPage(t, { locale: 'en' })
  await signIn(page, subject)
  const other = await page.context().newPage()
  await other.goto(`${spa.origin}/`)
  t.match(await spa.call(other, 'manager.signinSilent({ forceIframeAuth: true })'), signedInAs(subject))
  await spa.leave(page, 'manager.signoutRedirect()')
  await spa.arrived(page, '/signed-out')
  t.same(await spa.call(other, 'manager.signinSilent({ forceIframeAuth: true })'), { error: 'login_required' })
})

t.test('renews an app on another site only with the refresh token, not in an iframe', async (t) => {
  const subject = await subjectOf(t, { host: '127.0.0.1' })
  const { spa } = subject
  const page = await chromium.newPage(t, { locale: 'en' })
  await signIn(page, subject)
  t.same(await spa.call(page, 'manager.signinSilent({ forceIframeAuth: true })'), { error: 'login_required' })
  t.match(await spa.call(page, 'manager.signinSilent()'), signedInAs(subject))
})

t.test('renews in two tabs at the same time with the same refresh token', async (t) => {
  const subject = await subjectOf(t)
  const { spa } = subject
  const page = await chromium.newPage(t, { locale: 'en' })
  await signIn(page, subject)
  const other = await page.context().newPage()
  await other.goto(`${spa.origin}/`)
  const renewed = await Promise.all([page, other].map(async (tab) => await spa.call(tab, 'manager.signinSilent()')))
  for (const outcome of renewed) t.match(outcome, signedInAs(subject))
  t.match(await spa.call(page, 'manager.signinSilent()'), signedInAs(subject))
})

t.test('signs in by a popup', async (t) => {
  const subject = await subjectOf(t)
  const { spa } = subject
  const page = await chromium.newPage(t, { locale: 'en' })
  await page.goto(`${spa.origin}/`)
  const opened = page.waitForEvent('popup')
  const outcome = spa.call(page, 'manager.signinPopup()')
  const popup = await opened
  await popup.waitForURL((url) => url.pathname === '/auth/login')
  const closed = popup.waitForEvent('close')
  await fill(popup, { [USERNAME]: 'ann', Password: PASSWORD })
  await popup.getByRole('button', { name: 'Sign in', exact: true }).click()
  t.match(await outcome, signedInAs(subject))
  await closed
})

t.test('signs out in an iframe', async (t) => {
  const subject = await subjectOf(t)
  const { spa } = subject
  const page = await chromium.newPage(t, { locale: 'en' })
  await signIn(page, subject)
  t.match(await spa.call(page, "manager.signoutSilent({ state: 'bye' })"), { value: undefined })
  t.same(await spa.call(page, 'manager.signinSilent()'), { error: 'login_required' })
})

async function userinfo({ origin }: Provider, accessToken = ''): Promise<number> {
  return (await fetch(`${origin}/auth/userinfo`, { headers: { authorization: `Bearer ${accessToken}` } })).status
}
