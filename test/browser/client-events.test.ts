/** Events and sign-out of the browser client in Chromium, in one tab and in many. */
import t from '../support/tap.ts'
import { clientSubject, intercept, signIn } from './support/client-app.ts'
import { withChromium } from './support/chromium.ts'
import { heading } from './support/journeys.ts'

/** Chromium's message on an answer with 400 to a script. */
const REFUSED = /Failed to load resource: the server responded with a status of 40[01]/

const chromium = await withChromium(t)

t.test('reports the signed-in user to a late listener, even if others throw or were removed', async (t) => {
  const subject = await clientSubject(t)
  const { app, provider } = subject
  const page = await chromium.newPage(t, { allow: [/uncaught: mine/] })
  await signIn(page, subject)
  await page.goto(`${app.origin}/`)
  const told = await page.evaluate(`new Promise((resolve) => {
    const heard = []
    auth.on('authenticated', () => { throw new Error('mine') })
    const gone = () => { heard.push('gone') }
    auth.on('authenticated', gone)
    auth.off('authenticated', gone)
    auth.on('authenticated', gone)()
    auth.on('authenticated', async (user) => { heard.push(user === await auth.getUser()); resolve(heard) })
  })`)
  t.same(told, [true], 'with the same object that getUser gives')
  t.same(
    (await app.events(page)).map(([name]) => name),
    ['authenticated'],
    'and who was there before is not told again'
  )
  t.match((await app.events(page))[0]?.[1], { sub: provider.ann.id })
})

t.test('allows a listener to call the client', async (t) => {
  const subject = await clientSubject(t, {
    script: "auth.on('authenticated', async () => { globalThis.token = await auth.getAccessToken({ force: true }) })"
  })
  const { app } = subject
  const page = await chromium.newPage(t)
  await signIn(page, subject)
  await page.waitForFunction('globalThis.token')
  t.equal(await page.evaluate('token'), await app.value(page, 'auth.getAccessToken()'))
})

t.test('reports a sign-in to another tab, and a sign-out without a timer there', async (t) => {
  const subject = await clientSubject(t)
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  const other = await page.context().newPage()
  await other.goto(`${app.origin}/`)
  await signIn(page, subject)
  await other.waitForFunction("events.some(([name]) => name === 'authenticated')")
  t.match(await app.events(other), [['authenticated', { sub: provider.ann.id, email: 'ann@example.com' }]])
  t.match(await app.value(other, 'auth.getUser()'), { sub: provider.ann.id })

  // Stops all timers of the tab, so that it learns of changes by events only.
  await other.evaluate(
    'globalThis.setTimeout = globalThis.setInterval = () => 0; globalThis.heard = 0; ' +
      "createClient().on('unauthenticated', () => { heard++ })"
  )
  await app.value(page, 'auth.logout({ returnTo: false })')
  await other.waitForFunction("events.some(([name]) => name === 'unauthenticated') && heard > 0")
  t.equal(await app.value(other, 'auth.getUser()'), null)
  t.equal(await other.evaluate('heard'), 1, 'one who listens for nothing else is told too')
  t.match(await app.call(other, 'auth.getAccessToken()'), { error: 'login_required', typed: true })
  t.same(
    (await app.events(other)).map(([name]) => name),
    ['authenticated', 'unauthenticated']
  )
})

t.test('signs out in the app and at the provider, revokes the refresh token, and returns to the app', async (t) => {
  const subject = await clientSubject(t)
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  const token = await intercept(page, `${provider.origin}/auth/token`)
  const revoked = await intercept(page, `${provider.origin}/auth/revoke`)
  await signIn(page, subject)
  const access = (await app.value(page, 'auth.getAccessToken()')) as string
  await app.leave(page, "auth.logout({ returnTo: location.origin + '/signed-out' })")
  await page.waitForURL(`${app.origin}/signed-out`)
  t.equal(await app.value(page, 'auth.getUser()'), null)
  t.equal(revoked.forms.length, 1)
  const refreshed = await fetch(`${provider.origin}/auth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: 'app',
      refresh_token: revoked.forms[0]?.token ?? ''
    })
  })
  t.match(await refreshed.json(), { error: 'invalid_grant' })
  t.equal(
    (await fetch(`${provider.origin}/auth/userinfo`, { headers: { authorization: `Bearer ${access}` } })).status,
    401
  )
  t.equal(token.forms.length, 1)
  await app.leave(page, 'auth.loginWithRedirect()')
  await page.waitForURL((url) => url.pathname === '/auth/login')
  t.equal(await heading(page), 'Sign in to Example Accounts')
  await page.goBack()
  await page.waitForURL((url) => url.origin === app.origin)
  t.equal(await app.value(page, 'auth.getUser()'), null, 'back shows nobody')
})

t.test('signs out locally if the provider does not answer', async (t) => {
  const subject = await clientSubject(t)
  const { app, provider } = subject
  const page = await chromium.newPage(t, { allow: [/Failed to load resource/] })
  await signIn(page, subject)
  await page.context().route(`${provider.origin}/**`, async (route) => {
    await route.abort()
  })
  await page.reload()
  t.match(await app.call(page, 'auth.logout()'), { error: 'request_error', retryable: true, typed: true })
  t.equal(await app.value(page, 'auth.getUser()'), null)
})

t.test('discards a token response that arrives after the sign-out', async (t) => {
  const subject = await clientSubject(t)
  const { app, provider } = subject
  const page = await chromium.newPage(t, { allow: [REFUSED] })
  const token = await intercept(page, `${provider.origin}/auth/token`)
  await signIn(page, subject)
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  token.answer = async (route) => {
    const response = await route.fetch()
    await held
    await route.fulfill({ response })
  }
  await app.leave(page, 'globalThis.late = settle(() => auth.getAccessToken({ force: true }))')
  while (token.forms.length < 2) await page.waitForRequest(() => true, { timeout: 100 }).catch(() => {})
  await app.value(page, 'auth.logout({ returnTo: false })')
  release()
  t.match(await page.evaluate('late'), { error: 'login_required', typed: true })
  t.equal(await app.value(page, 'auth.getUser()'), null)
  t.equal(await page.evaluate('localStorage.length'), 0, 'nothing is left behind')
})
