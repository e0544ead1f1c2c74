/**
 * An account with a passkey and without a password: the mailbox is proved, then the user is created, then a passkey is
 * proposed.
 */
import { cookieName } from '../../support/cookies.ts'
import { Type } from '@sinclair/typebox'
import t from '../../support/tap.ts'
import { type AuthorityOptions, memoryFactorStore } from '../../../lib/index.ts'
import { softPasskey } from '../../../lib/testing/index.ts'
import { ISSUER, testApp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { formOf } from '../../support/factors.ts'
import { answer, answerOn, askingForm } from '../../support/passkey-pages.ts'
import { answerOf, authorizePath, CALLBACK, CLIENTS, KEYS } from '../../support/openid.ts'
import { ask, emailApp, hasSession, PAGE, STRANGER } from './support.ts'

const YES = { passkeys: 'yes' }
const OPENID: Partial<AuthorityOptions> = { keys: KEYS, clients: CLIENTS, emailSignIn: { signUp: true } }
const PROMPT = '/auth/passkey-prompt'

t.test('offers a passkey after a sign-up by a code, and then continues to the client', async (t) => {
  const factors = memoryFactorStore()
  const subject = await emailApp(t, { ...OPENID, factors })
  const { app, browser, users, events } = subject
  const { url } = await browser.follow(await browser.get(authorizePath()))
  const query = new URL(url).search
  await ask(browser, STRANGER, query)
  t.equal(await users.findByUsername(STRANGER), null, 'the mailbox first')
  const { body } = await browser.get(`${PAGE}${query}`)
  t.match(body, '<input type="hidden" name="passkeys" value="">', 'the script says there what the browser can')
  const reply = await browser.submit(`${PAGE}${query}`, { ...YES, code: (await subject.mail()).code })
  t.ok(reply.headers.location?.startsWith(`${PROMPT}?`), String(reply.headers.location))
  const user = await users.findByUsername(STRANGER)
  t.match(user, { passwordHash: null, emailVerified: true })
  const prompt = await browser.get(reply.headers.location ?? '')
  t.ok(askingForm(prompt.body))
  const passkey = softPasskey({ origin: ISSUER, synced: true })
  const made = await answer(browser, prompt.body, passkey)
  t.equal(made.statusCode, 303, 'no recovery codes')
  const arrived = await browser.follow(await browser.get(String(made.headers.location)))
  t.ok(arrived.url.startsWith(CALLBACK) && answerOf(arrived.url).code !== undefined, arrived.url)
  t.equal((await factors.findFactors(user?.id ?? '')).passkeys.length, 1)
  t.match(
    events.filter(({ name }) => ['registered', 'authenticated', 'factor_added'].includes(name)).map(({ name }) => name),
    ['registered', 'registered', 'authenticated', 'factor_added']
  )
  const other = testBrowser(app)
  t.equal((await answerOn(other, '/auth/login', passkey)).statusCode, 303)
  t.ok(hasSession(other), 'and signs in by it alone')
})

t.test('continues to the client when the user declines a passkey', async (t) => {
  const subject = await emailApp(t, { ...OPENID, factors: memoryFactorStore() })
  const { browser } = subject
  const { url } = await browser.follow(await browser.get(authorizePath()))
  const query = new URL(url).search
  await ask(browser, STRANGER, query)
  const {
    headers: { location = '' }
  } = await browser.submit(`${PAGE}${query}`, { ...YES, code: (await subject.mail()).code })
  const skip = /href="([^"]+)">Not now</.exec((await browser.get(location)).body)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const arrived = await browser.follow(await browser.get(skip))
  t.ok(arrived.url.startsWith(CALLBACK) && answerOf(arrived.url).code !== undefined, arrived.url)
  const again = testBrowser(subject.app)
  await ask(again, STRANGER)
  t.equal(
    (await again.submit(PAGE, { ...YES, code: (await subject.mail()).code })).headers.location,
    '/',
    'a sign-in by a code proposes none'
  )
  t.ok(hasSession(again))
})

t.test('offers a passkey after a sign-up by the link, and after the required fields', async (t) => {
  const { browser, ...linked } = await emailApp(t, { ...OPENID, factors: memoryFactorStore() })
  await ask(browser, STRANGER)
  const { url } = await linked.mail()
  const { body } = await browser.get(url)
  const { action, fields } = formOf(body)
  t.equal(fields['passkeys'], '', 'as on the page of the code')
  t.ok((await browser.submit(action, { ...fields, ...YES })).headers.location?.startsWith(PROMPT))

  const { app, close, messages } = await testApp({
    ...OPENID,
    factors: memoryFactorStore(),
    registration: { username: 'email', fields: Type.Object({ nickname: Type.String() }) }
  })
  t.teardown(close)
  const other = testBrowser(app)
  await ask(other, STRANGER)
  const { code } = await messages.next('sign_in_code')
  t.equal((await other.submit(PAGE, { ...YES, code })).headers.location, PAGE)
  t.match((await other.get(PAGE)).body, '<input type="hidden" name="passkeys" value="">')
  t.ok((await other.submit(PAGE, { ...YES, nickname: 'Zoe' })).headers.location?.startsWith(PROMPT))
})

t.test(
  'offers no passkey without browser support or when disabled, but offers one after a prompt for another account',
  async (t) => {
    const onTo = async (
      options: Partial<AuthorityOptions>,
      form: Record<string, string>
    ): Promise<string | undefined> => {
      const subject = await emailApp(t, { ...OPENID, ...options })
      const { browser } = subject
      await ask(browser, STRANGER)
      t.equal(
        (await browser.get(PAGE)).body.includes('name="passkeys"'),
        options.factors !== undefined && options.passkeys === undefined
      )
      return (await browser.submit(PAGE, { ...form, code: (await subject.mail()).code })).headers.location
    }
    t.equal(await onTo({ factors: memoryFactorStore() }, {}), '/')
    t.equal(await onTo({ factors: memoryFactorStore() }, { passkeys: '' }), '/')
    t.equal(await onTo({ factors: memoryFactorStore(), passkeys: { prompt: false } }, YES), '/')
    t.equal(await onTo({ factors: memoryFactorStore(), passkeys: false }, YES), '/')
    t.equal(await onTo({}, YES), '/')
    const { browser, ...subject } = await emailApp(t, { ...OPENID, factors: memoryFactorStore() })
    browser.cookies.set(cookieName('prompted'), '1')
    await ask(browser, STRANGER)
    t.ok(
      (await browser.submit(PAGE, { ...YES, code: (await subject.mail()).code })).headers.location?.startsWith(PROMPT)
    )
  }
)
