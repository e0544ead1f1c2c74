/** The browser client in Chromium: from a page of another site to the hosted pages and back. */
import type { Page } from 'playwright-core'
import t from '../support/tap.ts'
import { changed, clientSubject, intercept, signIn, type Subject, toSignIn, withClaims } from './support/client-app.ts'
import { withChromium } from './support/chromium.ts'
import { answerOf } from '../support/openid.ts'
import { signInOn, signUpOn, USERNAME, valuesOf } from './support/journeys.ts'

const chromium = await withChromium(t)

/** The address of a response of the provider that no page has used yet. */
async function answerFor(page: Page, subject: Subject, options = ''): Promise<string> {
  await toSignIn(page, subject, `{ redirectUri: location.origin + '/', ${options} }`)
  await signInOn(page)
  await page.waitForURL((url) => url.searchParams.has('code'))
  return page.url()
}

t.test('returns appState and the profile after a sign-in, and cleans the URL', async (t) => {
  const subject = await clientSubject(t)
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  await toSignIn(page, subject, "{ appState: { from: '/cart' }, loginHint: 'ann' }")
  t.same(await valuesOf(page, USERNAME), ['ann'])
  await signInOn(page)
  t.same(await app.arrived(page), { value: { appState: { from: '/cart' } } })
  t.equal(page.url(), `${app.origin}/callback`)
  t.match(
    await app.value(page, 'auth.getUser()'),
    { sub: provider.ann.id, preferred_username: 'ann', email: 'ann@example.com' },
    'the claims of userinfo too'
  )
  t.same(
    await app.value(
      page,
      "auth.getUser().then((user) => Object.keys(user).filter((name) => ['iss', 'aud', 'exp', " +
        "'iat', 'nonce', 'sid'].includes(name)))"
    ),
    []
  )
  t.equal(
    await app.value(page, 'Promise.all([auth.getUser(), auth.getUser()]).then(([a, b]) => a === b)'),
    true,
    'the same object'
  )
  t.type(await app.value(page, 'auth.getAccessToken()'), 'string')
  await page.reload()
  t.match(await app.value(page, 'auth.getUser()'), { sub: provider.ann.id }, 'still there after a reload')
})

t.test('opens the sign-up page for screen: signup, also if a session exists', async (t) => {
  const subject = await clientSubject(t)
  const { app } = subject
  const page = await chromium.newPage(t)
  for (const name of ['first', 'second']) {
    await page.goto(`${app.origin}/`)
    await page.evaluate("void auth.loginWithRedirect({ screen: 'signup', appState: 'new' })")
    await page.waitForURL((url) => url.pathname === '/auth/signup')
    await signUpOn(page, name)
    t.same(await app.arrived(page), { value: { appState: 'new' } })
    t.match(await app.value(page, 'auth.getUser()'), { preferred_username: name })
  }
})

t.test('returns no user and login_required before a sign-in', async (t) => {
  const { app } = await clientSubject(t)
  const page = await chromium.newPage(t)
  await page.goto(`${app.origin}/`)
  t.same(await app.call(page, 'auth.getUser()'), { value: null })
  t.match(await app.call(page, 'auth.getAccessToken()'), { error: 'login_required', retryable: false, typed: true })
  t.match(await app.call(page, 'auth.handleRedirectCallback()'), {
    error: 'missing_transaction',
    retryable: false,
    typed: true
  })
})

t.test('accepts a callback that is handled repeatedly, in parallel or by two clients, until a reload', async (t) => {
  const subject = await clientSubject(t, { script: 'globalThis.started = true' })
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  const token = await intercept(page, `${provider.origin}/auth/token`)
  await toSignIn(page, subject, "{ appState: 'a' }")
  await signInOn(page)
  await page.waitForURL((url) => url.pathname === '/callback')
  const same = { value: { appState: 'a' } }
  t.same(
    await app.call(page, 'Promise.all([auth, auth, createClient()].map((client) => client.handleRedirectCallback()))'),
    { value: [same.value, same.value, same.value] }
  )
  t.same(await app.call(page, 'auth.handleRedirectCallback()'), same, 'again, when the address has no code any more')
  t.same(await app.call(page, 'createClient().handleRedirectCallback()'), same, 'by a client that is made later')
  t.equal(token.forms.length, 1, 'one code, one request')
  await page.evaluate("history.replaceState(null, '', '/?state=open')")
  t.same(await app.call(page, 'auth.handleRedirectCallback()'), same, 'on a page with a state of its own')
  t.equal(page.url(), `${app.origin}/?state=open`)
  await page.reload()
  t.match(await app.call(page, 'auth.handleRedirectCallback()'), { error: 'missing_transaction' })
  t.match(await app.value(page, 'auth.getUser()'), { sub: provider.ann.id })
})

t.test('removes the response from the URL before it redeems the code, and keeps other parts', async (t) => {
  const subject = await clientSubject(t, { script: 'globalThis.started = true' })
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  const url = new URL(await answerFor(page, subject))
  url.searchParams.set('tab', '2')
  url.hash = '#top'
  const token = await intercept(page, `${provider.origin}/auth/token`)
  let seen = ''
  token.answer = async (route) => {
    seen = page.url()
    await route.continue()
  }
  await page.goto(url.href)
  await page.evaluate("history.replaceState({ mine: 1 }, '')")
  t.same(await app.call(page, 'auth.handleRedirectCallback()'), { value: { appState: undefined } })
  t.equal(seen, `${app.origin}/?tab=2#top`)
  t.equal(page.url(), seen)
  t.same(await page.evaluate('history.state'), { mine: 1 })
})

t.test('completes a sign-in in another tab by its response URL, also after a second sign-in', async (t) => {
  const subject = await clientSubject(t)
  const { app } = subject
  const page = await chromium.newPage(t)
  const other = await page.context().newPage()
  const first = await answerFor(page, subject, "appState: 'one'")
  await other.goto(`${app.origin}/`)
  await app.leave(other, "auth.loginWithRedirect({ appState: 'two' })")
  t.same(await app.arrived(other), { value: { appState: 'two' } }, 'signed in at the provider already')
  t.same(await app.call(other, `auth.handleRedirectCallback(${JSON.stringify(first)})`), { value: { appState: 'one' } })
  t.equal(other.url(), `${app.origin}/callback`)
})

t.test('rejects a tampered state, a code without a transaction and a used response', async (t) => {
  const subject = await clientSubject(t, { script: 'globalThis.started = true' })
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  const answer = await answerFor(page, subject)
  const token = await intercept(page, `${provider.origin}/auth/token`)
  const tampered = new URL(answer)
  tampered.searchParams.set('state', 'x')
  await page.goto(tampered.href)
  t.match(await app.call(page, 'auth.handleRedirectCallback()'), {
    error: 'state_mismatch',
    retryable: false,
    typed: true
  })
  await page.goto(`${app.origin}/?code=foreign`)
  t.match(await app.call(page, 'auth.handleRedirectCallback()'), { error: 'missing_transaction', typed: true })
  t.equal(page.url(), `${app.origin}/?code=foreign`, 'a code that is not ours is left alone')
  await page.goto(`${app.origin}/?state=open`)
  t.match(await app.call(page, 'auth.handleRedirectCallback()'), { error: 'missing_transaction', typed: true })
  t.equal(page.url(), `${app.origin}/?state=open`, 'so is the state of a page')
  await page.goto(`${app.origin}/`)
  t.same(await app.call(page, `auth.handleRedirectCallback(${JSON.stringify(answer)})`), {
    value: { appState: undefined }
  })
  await page.goto(`${app.origin}/`)
  t.match(await app.call(page, `auth.handleRedirectCallback(${JSON.stringify(answer)})`), { error: 'state_mismatch' })
  t.equal(token.forms.length, 1)
})

t.test('returns the error of the provider with the appState', async (t) => {
  const subject = await clientSubject(t)
  const { app } = subject
  const page = await chromium.newPage(t)
  await page.goto(`${app.origin}/`)
  await app.leave(
    page,
    "auth.loginWithRedirect({ appState: { from: '/cart' }, authorizationParams: { prompt: 'none' } })"
  )
  t.match(await app.arrived(page), {
    error: 'login_required',
    retryable: false,
    typed: true,
    appState: { from: '/cart' }
  })
  t.equal(page.url(), `${app.origin}/callback`, 'clean after an error too')
  t.same(await app.events(page), [['error', 'login_required']])
})

t.test('rejects a response with a wrong iss, or without iss if the provider supports it', async (t) => {
  const subject = await clientSubject(t, { script: 'globalThis.started = true' })
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  const token = await intercept(page, `${provider.origin}/auth/token`)
  for (const iss of ['https://other.example', undefined]) {
    await page.context().clearCookies()
    const url = new URL(await answerFor(page, subject))
    t.equal(answerOf(url.href).iss, provider.origin)
    if (iss === undefined) url.searchParams.delete('iss')
    else url.searchParams.set('iss', iss)
    await page.goto(url.href)
    t.match(await app.call(page, 'auth.handleRedirectCallback()'), {
      error: 'issuer_mismatch',
      retryable: false,
      typed: true
    })
  }
  t.same(token.forms, [], 'no code was sent to anybody')
})

t.test('rejects provider metadata with another issuer', async (t) => {
  const { app, provider } = await clientSubject(t)
  const page = await chromium.newPage(t)
  const discovery = await intercept(page, `${provider.origin}/.well-known/openid-configuration`)
  discovery.answer = changed((metadata) => ({ ...metadata, issuer: 'https://other.example' }))
  await page.goto(`${app.origin}/`)
  t.match(await app.call(page, 'auth.loginWithRedirect()'), { error: 'issuer_mismatch', retryable: false, typed: true })
  discovery.answer = null
  await app.leave(page, 'auth.loginWithRedirect()')
  await page.waitForURL((url) => url.pathname === '/auth/login')
})

t.test('rejects a missing ID token, one with a wrong nonce, aud or iss, and one without sub', async (t) => {
  const subject = await clientSubject(t)
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  const token = await intercept(page, `${provider.origin}/auth/token`)
  for (const claims of [
    { nonce: 'x' },
    { nonce: undefined },
    { aud: 'other' },
    { iss: 'https://other.example' },
    { sub: undefined }
  ]) {
    token.answer = changed((tokens) => ({ ...tokens, id_token: withClaims(tokens.id_token, claims) }))
    await page.context().clearCookies()
    await toSignIn(page, subject)
    await signInOn(page)
    t.match(await app.arrived(page), {
      error: 'invalid_token',
      typed: true,
      retryable: false,
      description: `ID token: ${Object.keys(claims)[0] ?? ''}`
    })
    t.equal(await app.value(page, 'auth.getUser()'), null)
  }
  token.answer = changed((tokens) => ({ ...tokens, id_token: undefined }))
  await page.context().clearCookies()
  await toSignIn(page, subject)
  await signInOn(page)
  t.match(await app.arrived(page), { error: 'invalid_token', typed: true }, 'none at all')
})

t.test('ignores missing userinfo and userinfo of another user', async (t) => {
  const subject = await clientSubject(t)
  const { app, provider } = subject
  const page = await chromium.newPage(t, { allow: [/status of 503/] })
  const userinfo = await intercept(page, `${provider.origin}/auth/userinfo`)
  userinfo.answer = changed((claims) => ({ ...claims, sub: 'bob', email: 'bob@example.com' }))
  await signIn(page, subject)
  t.same(await app.value(page, 'auth.getUser()'), { sub: provider.ann.id })
  userinfo.answer = async (route) => {
    await route.fulfill({ status: 503 })
  }
  await app.leave(page, 'auth.loginWithRedirect()')
  await page.waitForURL((url) => url.searchParams.has('code'))
  t.match(await app.arrived(page), { value: {} })
  t.same(await app.value(page, 'auth.getUser()'), { sub: provider.ann.id })
})
