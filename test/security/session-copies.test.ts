/** A step that ends all other sign-ins also ends every copy of the cookie of the remaining one. */
import t from '../support/tap.ts'
import { softPasskey } from '../../lib/testing/index.ts'
import { bearer, ISSUER, PASSWORD, signUp, type TestApp, testApp } from '../support/app.ts'
import { type TestBrowser, testBrowser } from '../support/browser.ts'
import { codeFor, enrol, factorApp, type FactorApp, formOf, logIn, signedInAnywhere } from '../support/factors.ts'
import { answer } from '../support/passkey-pages.ts'
import { acrOf, copyOf, whoRoute } from './support/session-copies.ts'

const REDIRECT_URI = 'https://app.example.com/callback'
const CLIENT = { clientId: 'app', redirectUris: [REDIRECT_URI], requirePkce: false, clientSecret: 'a'.repeat(32) }
const NEXT = 'a better horse battery'
const SECONDS = 1000
const OWN = { 'sec-fetch-site': 'same-origin' }

const json = async (
  app: TestApp['app'],
  browser: TestBrowser,
  method: 'POST' | 'DELETE',
  url: string,
  payload: object = {}
) => {
  const reply = await app.inject({
    method,
    url,
    headers: { ...OWN, cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    payload
  })
  for (const { name, value, maxAge } of reply.cookies) {
    if (maxAge === 0) browser.cookies.delete(name)
    else browser.cookies.set(name, value)
  }
  return reply
}
/** Each way to end all other sign-ins and keep the current one, on pages and by JSON. */
const ENDS: Record<string, (browser: TestBrowser, subject: FactorApp) => Promise<number>> = {
  async 'ending all other sessions on the page'(browser) {
    const { action, fields } = formOf((await browser.get('/auth/account/sessions')).body)
    return (await browser.submit(action, { ...fields, decision: 'end_others' })).statusCode
  },
  async 'a password change on the page'(browser) {
    const { action, fields } = formOf((await browser.get('/auth/account/password')).body)
    return (await browser.submit(action, { ...fields, current_password: PASSWORD, password: NEXT })).statusCode
  },
  'a password change by JSON': async (browser, { app }) =>
    (await json(app, browser, 'POST', '/auth/password', { current_password: PASSWORD, new_password: NEXT })).statusCode,
  async 'the first authenticator app is added on the page'(browser, subject) {
    return (await enrol(subject, browser)).reply.statusCode
  },
  async 'the first authenticator app is added by JSON'(browser, { app, clock }) {
    const { enrolment, secret } = (await json(app, browser, 'POST', '/auth/factors/totp')).json() as Record<
      string,
      string
    >
    const code = codeFor(secret ?? '', clock.now())
    return (await json(app, browser, 'POST', '/auth/factors/totp/confirm', { enrolment, code })).statusCode
  },
  async 'the required authenticator app is set up'(browser, { clock }) {
    const { body } = await browser.get('/auth/second-factor/set-up')
    const secret = (/<code dir="ltr">([A-Z2-7 ]+)<\/code>/.exec(body)?.[1] ?? '').replaceAll(' ', '')
    const { action, fields } = formOf(body)
    return (await browser.submit(action, { ...fields, code: codeFor(secret, clock.now()) })).statusCode
  },
  async 'two-step sign-in is turned on, on the page'(browser) {
    await answer(browser, (await browser.get('/auth/security/passkeys')).body, softPasskey({ origin: ISSUER }))
    const { action } = formOf((await browser.get('/auth/security')).body)
    return (await browser.submit(action, { decision: 'two_step_on' })).statusCode
  },
  async 'two-step sign-in is turned on, by JSON'(browser, { app }) {
    await answer(browser, (await browser.get('/auth/security/passkeys')).body, softPasskey({ origin: ISSUER }))
    return (await json(app, browser, 'POST', '/auth/factors/two-step', { on: true })).statusCode
  },
  async 'the last factor is removed on the page'(browser, subject) {
    await enrol(subject, browser)
    const { action, fields } = formOf((await browser.get('/auth/security')).body)
    const [factor] = (await subject.app.authority.factors(subject.sub)).factors
    return (await browser.submit(action, { ...fields, factor: factor?.id ?? '', decision: 'remove' })).statusCode
  },
  async 'one of two factors is removed by JSON'(browser, subject) {
    await enrol(subject, browser)
    await enrol(subject, browser, 'another')
    const [factor] = (await subject.app.authority.factors(subject.sub)).factors
    return (await json(subject.app, browser, 'DELETE', `/auth/factors/${factor?.id ?? ''}`)).statusCode
  }
}
for (const [what, end] of Object.entries(ENDS)) {
  t.test(`rejects copies of the session cookie after ${what}`, async (t) => {
    const subject = await factorApp(t, {}, { enrolled: false, ...whoRoute })
    const { app, browser } = subject
    await logIn(browser)
    const copies = [copyOf(app, browser)]
    // Also copies the last secret before the step.
    const submit = browser.submit.bind(browser)
    browser.submit = async (...given) => {
      copies.push(copyOf(app, browser))
      return await submit(...given)
    }
    const elsewhere = testBrowser(app)
    await logIn(elsewhere)
    const status = await end(browser, subject)
    t.ok(status < 400, `${what}: ${status}`)
    t.not(await acrOf(browser), undefined, 'who asked goes on')
    for (const other of [...copies, elsewhere]) t.same(await signedInAnywhere(other), [])
    t.equal((await app.authority.sessions(subject.sub)).length, 1)
  })
}

t.test('gives a copied session cookie no working code during a password change', async (t) => {
  const { app, clock, close } = await testApp({ clients: [CLIENT] })
  t.teardown(close)
  await signUp(app)
  const owner = testBrowser(app)
  await logIn(owner)
  const thief = copyOf(app, owner)
  const query = new URLSearchParams({
    client_id: CLIENT.clientId,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: 'openid',
    prompt: 'none'
  }).toString()
  const [, ...codes] = await Promise.all([
    json(app, owner, 'POST', '/auth/password', { current_password: PASSWORD, new_password: NEXT }),
    ...Array.from({ length: 20 }, async () => await thief.get(`/auth/authorize?${query}`))
  ])
  clock.step(SECONDS)
  for (const { headers } of codes) {
    const code = new URL(String(headers.location)).searchParams.get('code')
    if (code === null) continue
    const redeemed = await app.inject({
      method: 'POST',
      url: '/auth/token',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(`app:${CLIENT.clientSecret}`).toString('base64')}`
      },
      payload: new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }).toString()
    })
    t.equal(redeemed.statusCode, 400, 'one from before has ended')
  }
  const late = await thief.get(`/auth/authorize?${query}`)
  t.match(late.headers.location, /error=login_required/)
})

t.test('rejects copies of the session cookie after a password change by an access token of the session', async (t) => {
  const { app, close } = await testApp({ clients: [{ ...CLIENT, firstParty: true }] })
  t.teardown(close)
  await signUp(app)
  for (const shows of [false, true]) {
    const owner = testBrowser(app)
    await logIn(owner, 'ann', shows ? NEXT : PASSWORD)
    const thief = copyOf(app, owner)
    const asked = await owner.get(
      `/auth/authorize?${new URLSearchParams({ client_id: 'app', redirect_uri: REDIRECT_URI, response_type: 'code', scope: 'openid' }).toString()}`
    )
    const code = new URL(String(asked.headers.location)).searchParams.get('code') ?? ''
    const tokens = await app.inject({
      method: 'POST',
      url: '/auth/token',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(`app:${CLIENT.clientSecret}`).toString('base64')}`
      },
      payload: new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }).toString()
    })
    const { access_token: token } = tokens.json() as { access_token: string }
    const cookie = [...owner.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const changed = await app.inject({
      method: 'POST',
      url: '/auth/password',
      headers: { ...bearer(token), ...(shows ? { cookie } : {}) },
      payload: shows
        ? { current_password: NEXT, new_password: PASSWORD }
        : { current_password: PASSWORD, new_password: NEXT }
    })
    t.equal(changed.statusCode, 204)
    t.equal((await app.inject({ url: '/auth/sessions', headers: bearer(token) })).statusCode, 200, 'the token stays')
    t.same(await signedInAnywhere(thief), [])
    for (const { name, value } of changed.cookies) owner.cookies.set(name, value)
    t.equal((await signedInAnywhere(owner)).length > 0, shows, 'a browser that shows the session goes on')
  }
})
