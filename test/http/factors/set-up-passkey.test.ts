/** A passkey satisfies a required second factor, and is made before the user is signed in. */
import t from '../../support/tap.ts'
import { type AuthorityOptions, memoryUserStore } from '../../../lib/index.ts'
import { softPasskey } from '../../../lib/testing/index.ts'
import { ISSUER, signUp } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import {
  codeFor,
  factorApp,
  type FactorApp,
  formOf,
  logIn,
  saveCodes,
  signedInAnywhere,
  codesIn,
  codesPage,
  makesCodes
} from '../../support/factors.ts'
import { answer, answerOn, askingForm } from '../../support/passkey-pages.ts'
import { answerOf, authorizePath, CLIENTS, KEYS, redeem } from '../../support/openid.ts'
import { decodeJwt } from '../../support/jwt.ts'

const SET_UP = '/auth/second-factor/set-up'
const TO_LOGIN = { statusCode: 303, headers: { location: '/auth/login' } }
const passkeyOf = () => softPasskey({ origin: ISSUER })

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

function credentialFor(body: string, passkey = passkeyOf()): string {
  const form = askingForm(body)
  if (form === null) throw new Error('no form')
  return JSON.stringify(passkey.create(form.options))
}

// covers SF-01
t.test('sets up a required passkey instead of an authenticator app, and asks for it at the next sign-in', async (t) => {
  const subject = await bare(t)
  const { app, sub, clock } = subject
  const browser = testBrowser(app)
  t.equal((await logIn(browser, 'ann', undefined, '?return_to=/cart')).headers.location, `${SET_UP}?return_to=%2Fcart`)
  const page = await browser.get(`${SET_UP}?return_to=/cart`)
  const form = askingForm(page.body)
  t.match(form, {
    call: 'create',
    options: {
      user: { name: 'ann' },
      authenticatorSelection: { userVerification: 'required', residentKey: 'required' }
    }
  })
  t.match(page.headers['content-security-policy'], '/auth/passkeys.js;')
  t.same(await signedInAnywhere(browser), [])
  t.match(await app.authority.factors(sub), { factors: [] })
  const passkey = passkeyOf()
  const done = await answer(browser, page.body, passkey)
  const shown = await codesPage(browser, done)
  t.equal(codesIn(shown).length, 10)
  t.equal((await saveCodes(browser, shown)).headers.location, '/cart')
  t.match(subject.events.find(({ name }) => name === 'authenticated')?.payload, {
    method: 'password',
    methods: ['password', 'passkey']
  })
  const { code = '' } = answerOf(String((await browser.get(authorizePath())).headers.location))
  t.match(decodeJwt((await redeem(app, code)).json<{ access_token: string }>().access_token).claims, {
    acr: 'phr',
    amr: ['pop', 'user', 'mfa']
  })
  clock.step(30_000)
  const next = testBrowser(app)
  t.equal((await logIn(next)).headers.location, '/auth/second-factor')
  t.equal((await answerOn(next, '/auth/second-factor', passkey)).statusCode, 303)
})

// covers SF-02 PK-10
t.test('rejects a set-up with a challenge of another sign-in, a malformed passkey or an unverified user', async (t) => {
  const subject = await bare(t)
  const { app, clock } = subject
  const bob = await signUp(app, 'bob')
  const anns = await owing(subject)
  const again = await owing(subject)
  const bobs = await owing(subject, 'bob')
  const refused = { statusCode: 400, body: /The passkey was not accepted/ }
  t.match(await bobs.browser.submit(SET_UP, { credential: credentialFor(anns.body) }), refused, 'another person')
  t.match(
    await again.browser.submit(SET_UP, { credential: credentialFor(anns.body) }),
    refused,
    'another ticket of the same person'
  )
  t.match(await testBrowser(app).submit(SET_UP, { credential: credentialFor(anns.body) }), TO_LOGIN, 'nobody')
  for (const credential of ['x', '{}', 'null', '[]', '"x"'])
    t.match(await anns.browser.submit(SET_UP, { credential }), refused, credential)
  t.equal((await anns.browser.submit(SET_UP, { credential: 'x'.repeat(20_000) })).statusCode, 413)
  t.equal((await anns.browser.submit(SET_UP, { credential: '' })).statusCode, 400)
  t.equal(
    (
      await anns.browser.submit(
        SET_UP,
        { credential: credentialFor(anns.body) },
        { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
      )
    ).statusCode,
    403
  )
  // A credential without user verification is not a passkey here.
  const { options } =
    askingForm(anns.body) ??
    (() => {
      throw new Error('no form')
    })()
  const given = JSON.stringify(
    softPasskey({ origin: ISSUER, verifiesUser: false }).create({
      ...options,
      authenticatorSelection: { ...options.authenticatorSelection, userVerification: 'discouraged' }
    })
  )
  t.match(await anns.browser.submit(SET_UP, { credential: given }), refused)
  t.match(await app.authority.factors(subject.sub), { factors: [] })
  t.match(await app.authority.factors(bob.sub), { factors: [] })
  t.same(await signedInAnywhere(anns.browser), [])
  clock.step(600_000)
  t.match(await anns.browser.submit(SET_UP, { credential: credentialFor(anns.body) }), TO_LOGIN, 'ten minutes')
})

// covers SF-03
t.test('stores at most one factor and signs at most one browser in for fifty parallel set-ups', async (t) => {
  const subject = await bare(t)
  const { app, sub, clock } = subject
  const all = await Promise.all(Array.from({ length: 50 }, async () => await owing(subject)))
  const replies = await Promise.all(
    all.map(async ({ browser, body }, index) => {
      if (index % 2 === 0) return await browser.submit(SET_UP, { credential: credentialFor(body) })
      const secret = (/<code dir="ltr">([A-Z2-7 ]+)<\/code>/.exec(body)?.[1] ?? '').replaceAll(' ', '')
      return await browser.submit(SET_UP, { ...formOf(body).fields, code: codeFor(secret, clock.now()) })
    })
  )
  t.ok(replies.filter(makesCodes).length <= 1)
  const { factors } = await app.authority.factors(sub)
  t.ok(factors.length <= 1, `${factors.length} factors`)
  t.ok((await app.authority.sessions(sub)).length <= 1)
})

// covers SF-03

t.test('keeps the scanned app key after a wrong passkey', async (t) => {
  const subject = await bare(t)
  const { browser, body } = await owing(subject)
  const key = (html: string): string => /<code dir="ltr">([A-Z2-7 ]+)<\/code>/.exec(html)?.[1] ?? ''
  const again = await browser.submit(SET_UP, { ...formOf(body).fields, credential: '{}' })
  t.equal(again.statusCode, 400)
  t.equal(key(again.body), key(body))
  t.equal([...again.body.matchAll(/role="alert"/g)].length, 1)
})

t.test('removes the passkey and begins no session if the password changes during the set-up', async (t) => {
  const subject = await bare(t)
  const { app, sub, store } = subject
  const { browser, body } = await owing(subject)
  const add = store.addPasskey.bind(store)
  store.addPasskey = async (addition) => {
    const added = await add(addition)
    await app.authority.changePassword(sub, 'a better horse battery')
    return added
  }
  const reply = await answer(browser, body, passkeyOf())
  t.match(reply, { statusCode: 401, body: /login_required/ })
  t.match(await app.authority.factors(sub), { factors: { length: 0 }, recoveryCodesLeft: 0 })
  t.same(await signedInAnywhere(browser), [])
})

t.test('shows no passkey form and accepts none where passkeys are off or not among the methods', async (t) => {
  for (const options of [{ passkeys: false as const }, { mfa: { required: true, methods: ['totp' as const] } }]) {
    const subject = await bare(t, options)
    const other = await bare(t)
    const { browser, body } = await owing(subject)
    t.equal(askingForm(body), null)
    t.notMatch(body, 'passkeys.js')
    t.equal((await browser.submit(SET_UP, { credential: credentialFor((await owing(other)).body) })).statusCode, 400)
    t.match(await subject.app.authority.factors(subject.sub), { factors: [] })
  }
})

t.test('rejects a set-up if the address became unconfirmed after the page was opened', async (t) => {
  const users = memoryUserStore()
  const findById = users.findById.bind(users)
  const subject = await bare(t, { users })
  const { browser, body } = await owing(subject)
  users.findById = async (id) => {
    const user = await findById(id)
    return user === null ? null : { ...user, email: 'ann@mail.example', emailVerified: false }
  }
  const refused = await answer(browser, body, passkeyOf())
  t.equal(refused.statusCode, 403)
  t.equal(askingForm(refused.body), null)
  t.match(refused.body, /isn’t confirmed yet/)
  t.match(await subject.app.authority.factors(subject.sub), { factors: [] })
})

t.test('answers 503 while the factor store is down, and completes the set-up on the same page later', async (t) => {
  const subject = await bare(t)
  const { browser, body } = await owing(subject)
  for (const method of ['findFactors', 'addPasskey'] as const) {
    subject.broken.add(method)
    t.equal((await answer(browser, body, passkeyOf())).statusCode, 503, method)
    t.same(await signedInAnywhere(browser), [])
    subject.broken.clear()
  }
  t.ok(makesCodes(await answer(browser, body, passkeyOf())))
})
