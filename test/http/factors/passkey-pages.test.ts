/** The hosted pages that ask for or create a passkey: posts as their script sends them, and their effects. */
import { Type } from '@sinclair/typebox'
import t from '../../support/tap.ts'
import { memoryUserStore } from '../../../lib/index.ts'
import { softPasskey } from '../../../lib/testing/index.ts'
import { ISSUER, PASSWORD, signIn } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { answer, answerOn, askingForm, signalsIn } from '../../support/passkey-pages.ts'
import { factorApp, formOf, logIn, signedInAnywhere } from '../../support/factors.ts'
import { answerOf, authorizePath, CALLBACK, CLIENTS, KEYS } from '../../support/openid.ts'
import { add, creationOptions, passkeyApp, post, somebody } from '../../support/passkeys.ts'

const OPENID = { keys: KEYS, clients: CLIENTS, pages: { title: 'Example' } }

// covers PK-02
t.test('signs in by a passkey alone, and continues the authorization request', async (t) => {
  const { app, passkey, events, sub } = await passkeyApp(t, OPENID)
  const browser = testBrowser(app)
  const asked = await browser.follow(await browser.get(authorizePath()))
  t.match(asked.url, '/auth/login?')
  t.match(
    asked.reply.headers['content-security-policy'],
    `script-src ${ISSUER}/auth/pages.js ${ISSUER}/auth/passkeys.js; connect-src ${ISSUER}/auth/passkey-challenge; `
  )
  t.equal((await app.inject('/auth/passkeys.js')).statusCode, 200)
  t.same(askingForm(asked.reply.body)?.options.allowCredentials, [], 'alike for everybody')
  const reply = await answer(browser, asked.reply.body, passkey)
  t.equal(reply.statusCode, 303)
  const { url } = await browser.follow(reply)
  t.ok(url.startsWith(CALLBACK) && answerOf(url).code !== undefined, url)
  t.match(events.filter((event) => event.name === 'authenticated').at(-1)?.payload, {
    userId: sub,
    method: 'passkey',
    methods: ['passkey'],
    clientId: 'spa'
  })
})

t.test('answers an invalid passkey with the status of a wrong password and the same page', async (t) => {
  const subject = await passkeyApp(t)
  const { app, passkey } = subject
  const browser = testBrowser(app)
  const { body } = await browser.get('/auth/login')
  const credential = passkey.get(
    askingForm(body)?.options ??
      (() => {
        throw new Error('no form')
      })()
  )
  const stranger = softPasskey({ origin: ISSUER })
  stranger.create({
    ...askingForm((await browser.get('/auth/login')).body)?.options,
    rp: { id: new URL(ISSUER).hostname, name: 'x' },
    user: { id: 'eHh4', name: 'x', displayName: 'x' },
    challenge: 'AAAA',
    pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
    timeout: 1,
    attestation: 'none',
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    excludeCredentials: [],
    hints: [],
    extensions: { credProps: true }
  })
  const wrong = await browser.submit('/auth/login', { username: 'ann', password: 'not this one' })
  const post = async (value: string): Promise<string> => {
    const reply = await browser.submit('/auth/login', { credential: value })
    t.equal(reply.statusCode, wrong.statusCode, value.slice(0, 40))
    t.match(reply.body, 'The passkey was not accepted')
    t.match(reply.body, /name="password"/)
    t.ok(askingForm(reply.body))
    t.notMatch(reply.body, 'data-again', 'it would give the same once more by itself')
    return reply.body
  }
  for (const value of [
    'x',
    '{}',
    'null',
    '[]',
    '"x"',
    '{"id":1}',
    JSON.stringify({ ...credential, id: undefined }),
    JSON.stringify({ ...credential, response: { ...credential.response, signature: 'AAAA' } })
  ])
    t.same(signalsIn(await post(value)), {}, value.slice(0, 40))
  t.same(await signedInAnywhere(browser), [])
  const unknown = await answerOn(browser, '/auth/login', stranger)
  t.equal(unknown.statusCode, wrong.statusCode)
  t.match(unknown.body, 'The passkey was not accepted')
  t.match(signalsIn(unknown.body), {
    signalUnknownCredential: { rpId: new URL(ISSUER).hostname, credentialId: /^[\w-]{43}$/ }
  })
  t.same(signalsIn((await browser.get('/auth/login')).body), {}, 'told once')
  t.equal(
    (await browser.submit('/auth/login', { credential: JSON.stringify(credential) })).statusCode,
    303,
    'the first one, ever'
  )
  t.match(await post(JSON.stringify(credential)), 'The passkey was not accepted', 'and once')
  t.equal((await browser.submit('/auth/login', { credential: 'x'.repeat(20_000) })).statusCode, 413)
  t.equal((await browser.submit('/auth/login', { credential: '' })).statusCode, 400, 'empty: it is a password form')
})

// covers PK-24
t.test('rejects the passkey of a disabled user like an invalid passkey', async (t) => {
  const users = memoryUserStore()
  const { app, passkey, sub } = await passkeyApp(t, { users })
  const browser = testBrowser(app)
  await users.update(sub, { disabled: true })
  const reply = await answerOn(browser, '/auth/login', passkey)
  t.equal(reply.statusCode, 400)
  t.match(reply.body, 'The passkey was not accepted')
  t.same(await signedInAnywhere(browser), [])
  await users.update(sub, { disabled: false })
  t.equal((await answerOn(browser, '/auth/login', passkey)).statusCode, 303)
})

t.test('warns of a passkey that may be copied on the page, and by message once a day', async (t) => {
  const subject = await passkeyApp(t, {}, { counts: true })
  const { app, passkey, messages, clock, events } = subject
  const sent = (): string[] =>
    messages.messages
      .map(({ kind }) => kind)
      .filter((kind) => ['passkey_counter_regressed', 'second_factor_failed'].includes(kind))
  /** The response of a copy with a lower counter. */
  async function lessThanBefore(page: string): Promise<string> {
    const browser = testBrowser(app)
    if (page !== '/auth/login') await logIn(browser)
    const { options } =
      askingForm((await browser.get(page)).body) ??
      (() => {
        throw new Error('no form')
      })()
    const copied = passkey.get(options)
    t.equal((await answerOn(testBrowser(app), '/auth/login', passkey)).statusCode, 303)
    const reply = await browser.submit(page, { credential: JSON.stringify(copied) })
    t.equal(reply.statusCode, 400)
    t.same(await signedInAnywhere(browser), [])
    return reply.body
  }
  for (const page of ['/auth/login', '/auth/second-factor', '/auth/login']) {
    t.match(
      await lessThanBefore(page),
      'There may be a copy of this passkey, so it was not accepted. Sign in another way, remove it, and create a new one.',
      page
    )
  }
  t.equal((await messages.next('passkey_counter_regressed')).user.id, subject.sub)
  t.equal(
    events.filter(({ name, payload }) => name === 'passkey_counter_regressed' && payload.refused === true).length,
    3
  )
  t.same(sent(), ['passkey_counter_regressed'], 'and nothing of a wrong code')
  clock.step(24 * 60 * 60 * 1000 + 1)
  await lessThanBefore('/auth/login')
  await messages.next('passkey_counter_regressed')
  t.same(sent(), ['passkey_counter_regressed', 'passkey_counter_regressed'])
  const guesser = testBrowser(app)
  await logIn(guesser)
  await guesser.submit('/auth/second-factor', { recovery_code: 'aaaa-aaaa-aaaa-aaaa' })
  await messages.next('second_factor_failed')
  t.same(sent().at(-1), 'second_factor_failed', 'a guess on the same day is told of all the same')
})

// covers PK-04 ADV-YSA-2026-02
t.test('accepts as a second factor only passkeys of the same user', async (t) => {
  const subject = await passkeyApp(t)
  const { app, passkey, codes } = subject
  const bob = await somebody(subject, 'bob')
  const browser = testBrowser(app)
  t.match((await logIn(browser)).headers.location, '/auth/second-factor')
  const { body, headers } = await browser.get('/auth/second-factor')
  t.match(headers['content-security-policy'], '/auth/passkeys.js;')
  t.notMatch(headers['content-security-policy'], 'connect-src')
  const form = askingForm(body)
  t.equal(form?.options.allowCredentials.length, 1)
  t.equal(form?.options.userVerification, 'required', 'it was made by somebody who was verified')
  t.match(body, 'Use your passkey to confirm it’s you.')
  const foreign = await browser.submit('/auth/second-factor', {
    credential: JSON.stringify(
      bob.passkey.get({
        ...(form?.options ??
          (() => {
            throw new Error('no form')
          })()),
        allowCredentials: []
      })
    )
  })
  t.equal(foreign.statusCode, 400)
  t.match(foreign.body, 'The passkey was not accepted')
  t.same(await signedInAnywhere(browser), [])
  const reply = await answer(browser, foreign.body, passkey)
  t.equal(reply.statusCode, 303)
  t.not((await signedInAnywhere(browser)).length, 0)
  const other = testBrowser(app)
  await logIn(other)
  t.equal(
    (await other.submit('/auth/second-factor', { recovery_code: codes[0] ?? '' })).statusCode,
    303,
    'a lost device'
  )
})

// covers PK-01 PK-08 PK-09
t.test('adds, names and removes a passkey on the security page, and signals the list to the browser', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const { app, clock } = subject
  const browser = testBrowser(app)
  await logIn(browser)
  const empty = await browser.get('/auth/security')
  t.match(empty.body, 'href="/auth/security/passkeys"')
  t.same(signalsIn(empty.body), {}, 'no list: it would be one without a passkey that somebody just lacks here')
  const passkey = softPasskey({ origin: ISSUER })
  const page = await browser.get('/auth/security/passkeys')
  t.notMatch(page.body, /signed out/)
  const added = await answer(browser, page.body, passkey, { name: ' My\u202e  key ' })
  t.match(added, { statusCode: 303, headers: { location: '/auth/security?done=passkey_added' } })
  const again = await answer(browser, page.body, softPasskey({ origin: ISSUER }))
  t.equal(again.statusCode, 400, 'its challenge was for who had no factor')
  const list = await browser.get('/auth/security')
  t.match(list.body, 'My key')
  t.match(list.body, 'On one device only')
  t.notMatch(list.body, 'Add a second passkey on another device', 'a password is enough')
  const handle = (await subject.store.findFactors(subject.sub)).handle ?? ''
  const listed = async (): Promise<unknown> =>
    signalsIn((await browser.get('/auth/security')).body).signalAllAcceptedCredentials?.allAcceptedCredentialIds
  t.match(signalsIn(list.body), {
    signalAllAcceptedCredentials: {
      rpId: new URL(ISSUER).hostname,
      userId: Buffer.from(handle).toString('base64url')
    },
    signalCurrentUserDetails: { name: 'ann', displayName: 'ann' }
  })
  t.equal(
    askingForm((await browser.get('/auth/security/passkeys')).body)?.options.user.id,
    Buffer.from(handle).toString('base64url')
  )
  t.equal(
    (await answerOn(browser, '/auth/security/passkeys', softPasskey({ origin: ISSUER, synced: true }))).headers
      .location,
    '/auth/security?done=passkey_added'
  )
  const both = (await subject.store.findFactors(subject.sub)).passkeys
  t.same(
    await listed(),
    both.map(({ credentialId }) => credentialId)
  )

  const forms = async (): Promise<Array<ReturnType<typeof formOf>>> => {
    const { body } = await browser.get('/auth/security')
    return both
      .map(({ id }) => formOf(body, body.lastIndexOf('<form', body.indexOf(`value="${id}"`))))
      .filter(({ fields }) => fields.factor !== undefined)
  }
  const [first, second] = await forms()
  if (first === undefined || second === undefined) throw new Error('no forms')
  t.equal(
    (await browser.submit(first.action, { ...first.fields, name: 'Phone', decision: 'rename' })).headers.location,
    '/auth/security?done=factor_renamed'
  )
  t.match((await browser.get('/auth/security')).body, 'Phone')
  for (const { action, fields } of [first, second])
    t.equal(
      (await browser.submit(action, { ...fields, decision: 'remove' })).headers.location,
      '/auth/security?done=passkey_removed'
    )
  t.same(
    signalsIn((await browser.get('/auth/security?done=passkey_removed', { 'sec-fetch-site': 'same-origin' })).body)
      .signalAllAcceptedCredentials?.allAcceptedCredentialIds,
    [],
    'the last one has just gone'
  )
  t.same(await listed(), undefined)
  t.same(
    signalsIn((await browser.get('/auth/security?done=passkey_removed', { 'sec-fetch-site': 'cross-site' })).body),
    {},
    'a link from elsewhere has removed nothing'
  )
  subject.broken.add('findFactors')
  t.same(signalsIn((await browser.get('/auth/security')).body), {}, 'an outage is no empty list')
  subject.broken.clear()
  clock.step(301_000)
  const stale = await browser.get('/auth/security/passkeys')
  t.equal(askingForm(stale.body), null)
  // More than five minutes after the sign-in, the page asks for a new one.
  t.match(stale.body, /auth\/reauthenticate\?/)
  const posted = await browser.submit('/auth/security/passkeys', { credential: '{}' })
  t.equal(posted.headers.location, '/auth/security/passkeys?done=nothing', 'without the sign-in that it was shown to')
})

t.test(
  'proposes a passkey once after a sign-in by password, without interrupting the authorization request',
  async (t) => {
    const subject = await factorApp(t, OPENID, { enrolled: false })
    const { app, store, sub } = subject
    const yes = { username: 'ann', password: PASSWORD, passkeys: 'yes' }
    const login = `/auth/login${authorizePath().slice(authorizePath().indexOf('?'))}`
    const browser = testBrowser(app)
    t.match((await browser.get(login)).body, '<input type="hidden" name="passkeys" value="">')
    const reply = await browser.submit(login, yes)
    t.match(reply.headers.location, '/auth/passkey-prompt?')
    t.ok([...browser.cookies.keys()].some((name) => name.includes('prompted')))
    const page = await browser.follow(reply)
    t.match(page.reply.body, 'Sign in faster next time')
    const skip = /href="([^"]*)">Not now/.exec(page.reply.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
    t.ok(answerOf((await browser.follow(await browser.get(skip))).url).code)

    const location = async (url: string, form: Record<string, string>, from = testBrowser(app)): Promise<string> =>
      String((await from.submit(url, form)).headers.location)
    t.notMatch(await location(login, yes, browser), 'passkey-prompt', 'the same browser again')
    t.notMatch(
      await location(login, { ...yes, passkeys: '' }),
      'passkey-prompt',
      'a browser without passkeys or without scripts'
    )
    t.notMatch(
      await location('/auth/login?return_to=/auth/security/passkeys', yes),
      'passkey-prompt',
      'on the way to the page that adds one'
    )
    t.notMatch(
      await location('/auth/login?return_to=/auth/security&prompt=login', yes),
      'passkey-prompt',
      'to sign in again for a page of ours'
    )

    const failed = await answer(
      browser,
      page.reply.body.replace(
        /(&quot;challenge&quot;:&quot;)(.)/,
        (_, name: string, first: string) => name + (first === '_' ? '-' : '_')
      ),
      softPasskey({ origin: ISSUER })
    )
    t.equal(failed.statusCode, 400)
    t.match(failed.body, 'Not now')
    const made = await answer(browser, failed.body, softPasskey({ origin: ISSUER }))
    t.equal(made.statusCode, 303)
    const onward = String(made.headers.location)
    const { url } = await browser.follow(await browser.get(onward))
    t.ok(answerOf(url).code)
    t.equal((await store.findFactors(sub)).passkeys.length, 1)
    t.equal(
      (await browser.follow(await browser.get('/auth/passkey-prompt?return_to=/there'))).url,
      `${ISSUER}/there`,
      'who has one goes on'
    )
    t.equal(
      (await testBrowser(app).get('/auth/passkey-prompt?return_to=/there')).headers.location,
      '/there',
      'so does nobody'
    )
    t.notMatch(await location(login, yes), /second-factor|passkey-prompt/, 'a passkey asks for no second step')
  }
)

// covers SU-01

t.test('shows no passkey form if passkeys are off, and no proposal if prompt is off', async (t) => {
  for (const [options, prompt] of [
    [{ passkeys: false as const }, false],
    [{ passkeys: { prompt: false } }, false]
  ] as const) {
    const { app } = await factorApp(t, options, { enrolled: false })
    const isOn = options.passkeys !== false
    const { body, headers } = await app.inject('/auth/login')
    t.equal(askingForm(body) !== null, isOn)
    t.equal(body.includes('webauthn'), isOn)
    t.equal(String(headers['content-security-policy']).includes('connect-src'), isOn)
    t.equal(body.includes('name="passkeys"'), prompt)
    t.equal((await app.inject('/auth/passkeys.js')).statusCode, isOn ? 200 : 404)
    t.equal((await app.inject('/auth/passkey-prompt')).statusCode, 404)
    t.equal((await app.inject('/auth/security/passkeys')).statusCode, isOn ? 303 : 404)
    t.equal((await testBrowser(app).submit('/auth/login', { credential: '{}' })).statusCode, 400)
  }
})

t.test('offers passkeys after a sign-in and on the security page only if mfa.methods has them', async (t) => {
  for (const methods of [[], ['totp'], ['passkey']] as Array<Array<'totp' | 'passkey'>>) {
    const { app } = await factorApp(t, { mfa: { methods } }, { enrolled: false })
    const browser = testBrowser(app)
    const reply = await browser.submit('/auth/login', { username: 'ann', password: PASSWORD, passkeys: 'yes' })
    const offersPasskeys = methods.includes('passkey')
    const named = methods.join(' ')
    t.equal(reply.headers.location, offersPasskeys ? '/auth/passkey-prompt' : '/', named)
    t.equal(
      (await browser.get('/auth/passkey-prompt?return_to=/there')).headers.location,
      offersPasskeys ? undefined : '/there',
      'a page of an instance with other options'
    )
    const { body } = await browser.get('/auth/security')
    t.equal(body.includes('/auth/security/passkeys'), offersPasskeys, named)
  }
})

t.test('ends a session begun by a passkey alone when that passkey is removed', async (t) => {
  const { app, sub, passkey, token } = await passkeyApp(t, {}, {}, undefined, { twoStep: false })
  const browser = testBrowser(app)
  t.equal((await answerOn(browser, '/auth/login', passkey)).statusCode, 303)
  const { action, fields } = formOf((await browser.get('/auth/security')).body)
  t.equal((await browser.submit(action, { ...fields, decision: 'remove' })).statusCode, 303)
  t.same((await app.authority.factors(sub)).factors, [])
  t.same(await signedInAnywhere(browser), [])
  t.equal((await app.inject({ url: '/me', headers: { authorization: `Bearer ${token}` } })).statusCode, 401)
})

t.test('offers and adds no passkey to an account with an unconfirmed address', async (t) => {
  const users = memoryUserStore()
  const subject = await factorApp(
    t,
    {
      users,
      registration: { username: 'any', fields: Type.Object({ email: Type.Optional(Type.String()) }) },
      sendMessage: async () => {}
    },
    { enrolled: false }
  )
  const { app, store } = subject
  const email = 'owner@example.com'
  const { sub } = (
    await app.inject({
      method: 'POST',
      url: '/auth/register',
      payload: { username: 'thief', password: PASSWORD, email }
    })
  ).json<{ sub: string }>()
  const { access_token: token } = await signIn(app, 'thief')
  const options = await post(subject, '/auth/factors/passkeys/options', {}, token)
  t.equal(options.statusCode, 403)
  t.match(options.json(), { error: 'access_denied', error_reason: 'email_not_verified' })
  const browser = testBrowser(app)
  t.notMatch(
    (await browser.submit('/auth/login', { username: 'thief', password: PASSWORD, passkeys: 'yes' })).headers.location,
    'passkey-prompt'
  )
  t.equal((await browser.get('/auth/passkey-prompt')).statusCode, 303)
  const page = await browser.get('/auth/security/passkeys')
  t.equal(page.statusCode, 200)
  t.equal(askingForm(page.body), null)
  t.match(page.body, 'href="/auth/account/email"')
  // A registration that began while the address counted as confirmed.
  await users.setEmailVerified?.(sub, email)
  const begun = softPasskey({ origin: ISSUER }).create(await creationOptions(subject, token))
  const shown = (await browser.get('/auth/security/passkeys')).body
  await users.update?.(sub, { emailVerified: false })
  t.equal((await add(subject, token, begun)).statusCode, 403)
  t.equal((await answer(browser, shown, softPasskey({ origin: ISSUER }))).statusCode, 403)
  t.same((await store.findFactors(sub)).passkeys, [])
})

t.test('answers 503 while factors are unreadable, and does not ask for a new sign-in', async (t) => {
  const { browser, broken } = await factorApp(t, {}, { enrolled: false })
  await logIn(browser)
  t.equal((await browser.get('/auth/passkey-prompt')).statusCode, 200)
  broken.add('findFactors')
  t.equal((await browser.get('/auth/passkey-prompt')).statusCode, 503)
  t.equal((await browser.submit('/auth/passkey-prompt', { credential: '{}' })).statusCode, 503)
})
