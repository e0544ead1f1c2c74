/** Users with a passkey and an authenticator app, or the choice between them. */
import t from '../../support/tap.ts'
import type { AuthorityOptions } from '../../../lib/index.ts'
import { authAs, softPasskey, totpCode } from '../../../lib/testing/index.ts'
import { ISSUER, PASSWORD, signIn } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import {
  codeFor,
  enrol,
  factorApp,
  type FactorApp,
  formOf,
  logIn,
  lose,
  signedInAnywhere,
  makesCodes
} from '../../support/factors.ts'
import { answerOf, authorizePath, CLIENTS, KEYS } from '../../support/openid.ts'
import { answer, answerOn, askingForm } from '../../support/passkey-pages.ts'
import { asked, finish, grant, MFA_GRANT, passkeyApp, post, signInOptions } from '../../support/passkeys.ts'

const SET_UP = '/auth/second-factor/set-up'
const OPENID = { keys: KEYS, clients: CLIENTS, pages: { title: 'Example' } }

const bare = async (
  t: { teardown(close: () => Promise<void>): void },
  options: Partial<AuthorityOptions> = {}
): Promise<FactorApp> =>
  await factorApp(t, { keys: KEYS, clients: CLIENTS, mfa: { required: true }, ...options }, { enrolled: false })

async function owing(subject: FactorApp, username = 'ann'): Promise<{ browser: TestBrowser; body: string }> {
  const browser = testBrowser(subject.app)
  await logIn(browser, username)
  return { browser, body: (await browser.get(SET_UP)).body }
}

function credentialFor(body: string): string {
  const form = askingForm(body)
  if (form === null) throw new Error('no form')
  return JSON.stringify(softPasskey({ origin: ISSUER }).create(form.options))
}

t.test('does not store an app if a passkey was set up or a reset came between its code and its commit', async (t) => {
  for (const meanwhile of ['a passkey', 'a reset'] as const) {
    const subject = await bare(t)
    const { app, sub, clock, store } = subject
    const [one, other] = [await owing(subject), await owing(subject)]
    const add = store.addTotp.bind(store)
    store.addTotp = async (addition) => {
      if (meanwhile === 'a passkey')
        t.ok(makesCodes(await other.browser.submit(SET_UP, { credential: credentialFor(other.body) })))
      const added = await add(addition)
      if (meanwhile === 'a reset') await store.removeFactorsOfUser(sub)
      return added
    }
    const secret = (/<code dir="ltr">([A-Z2-7 ]+)<\/code>/.exec(one.body)?.[1] ?? '').replaceAll(' ', '')
    t.equal(
      (await one.browser.submit(SET_UP, { ...formOf(one.body).fields, code: codeFor(secret, clock.now()) })).statusCode,
      400,
      meanwhile
    )
    t.match(
      (await app.authority.factors(sub)).factors.map(({ kind }) => kind),
      meanwhile === 'a passkey' ? ['passkey'] : []
    )
    t.same(await signedInAnywhere(one.browser), [])
  }
})

t.test('answers unmet_authentication_requirements to acr phr for a user with an app and no passkey', async (t) => {
  const { browser } = await factorApp(t, OPENID)
  const location = async (params: Record<string, string>): Promise<string> =>
    String((await browser.get(authorizePath(params))).headers.location)
  t.match(answerOf(await location({ acr_values: 'phr' })), { error: 'unmet_authentication_requirements' })
  t.match(answerOf(await location({ acr_values: 'phr mfa' })), { code: /./ })
  const owner = await passkeyApp(t, OPENID)
  const other = testBrowser(owner.app)
  const asked = await other.follow(await other.get(authorizePath({ acr_values: 'phr' })))
  t.equal((await answer(other, asked.reply.body, owner.passkey)).statusCode, 303)
  t.match(answerOf(String((await other.get(authorizePath({ acr_values: 'phr' }))).headers.location)), { code: /./ })
})

t.test('accepts either an app or a passkey after the password', async (t) => {
  const subject = await passkeyApp(t)
  const reply = await grant(subject, subject.passkey.get(await signInOptions(subject)))
  const { access_token: strong } = reply.json<{ access_token: string }>()
  const { enrolment, secret } = (await post(subject, '/auth/factors/totp', undefined, strong)).json<{
    enrolment: string
    secret: string
  }>()
  t.equal(
    (
      await post(
        subject,
        '/auth/factors/totp/confirm',
        { enrolment, code: totpCode(secret, subject.clock.now()) },
        strong
      )
    ).statusCode,
    201
  )
  const step = await asked(subject)
  t.same(step.methods, ['totp', 'passkey', 'recovery_code'])
  t.equal((await finish(subject, step.mfa_token, subject.passkey.get(step.passkey_options))).statusCode, 200)
  subject.clock.step(30_000)
  const { mfa_token } = await asked(subject)
  const otp = totpCode(secret, subject.clock.now())
  t.equal((await post(subject, '/auth/token', { grant_type: MFA_GRANT, mfa_token, otp })).statusCode, 200)
  t.equal(
    (await grant(subject, subject.passkey.get(await signInOptions(subject)))).statusCode,
    200,
    'alone it is asked for nothing else'
  )
  t.equal(
    (await post(subject, '/auth/token', { grant_type: 'password', username: 'ann', password: PASSWORD })).statusCode,
    400
  )
})

t.test('announces the end of other sessions only if the app turns two-step sign-in on', async (t) => {
  for (const twoStep of [true, false]) {
    const subject = await passkeyApp(t, {}, {}, undefined, { twoStep })
    const [browser, there] = [testBrowser(subject.app), testBrowser(subject.app)]
    for (const one of [browser, there]) await answerOn(one, '/auth/login', subject.passkey)
    const { body } = await browser.get('/auth/security/totp')
    t.equal(body.includes('You’ll be signed out on other devices.'), !twoStep, `two-step sign-in: ${twoStep}`)
    await enrol(subject, browser)
    t.equal((await signedInAnywhere(there)).length > 0, twoStep, `two-step sign-in: ${twoStep}`)
  }
})

t.test(
  'removes an authenticator app if the answer of the store to addTotp was lost, and emits no factor_added',
  async (t) => {
    const subject = await factorApp(t, {}, { enrolled: false })
    const { app, store, sub, clock } = subject
    const { access_token: token } = await signIn(app)
    lose(store, 'addTotp')
    const { enrolment, secret } = (await post(subject, '/auth/factors/totp', {}, token)).json<{
      enrolment: string
      secret: string
    }>()
    const code = totpCode(secret, clock.now())
    t.equal((await post(subject, '/auth/factors/totp/confirm', { enrolment, code }, token)).statusCode, 503)
    await app.close()
    t.match(await store.findFactors(sub), { totp: { length: 0 }, recoveryCodesLeft: 0 })
    t.notOk(subject.events.some(({ name }) => name === 'factor_added'))
  }
)

t.test('computes the codes of an app with totpCode, and rejects an invalid secret or time', async (t) => {
  const { app, sub, clock } = await factorApp(t, {}, { enrolled: false })
  const headers = await authAs(app, { id: sub }, { acr: 'password' })
  const { enrolment, secret, uri } = (await app.inject({ method: 'POST', url: '/auth/factors/totp', headers })).json<{
    enrolment: string
    secret: string
    uri: string
  }>()
  t.equal(totpCode(secret, clock.now()), totpCode(uri, clock.now()))
  for (const now of [NaN, Infinity, -1, '1' as never, null as never])
    t.throws(() => totpCode(secret, now), { name: 'TypeError', message: /milliseconds/ } as never, String(now))
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/factors/totp/confirm',
        headers,
        payload: { enrolment, code: totpCode(secret, clock.now()) }
      })
    ).statusCode,
    201
  )
  t.match(totpCode('JBSW Y3DP-EHPK 3PXP'), /^\d{6}$/)
  for (const bad of ['', '1', 'otpauth://totp/x', 'not base32!']) t.throws(() => totpCode(bad), TypeError, bad)
})
