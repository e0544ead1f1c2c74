/**
 * A user with a sign-in by emailed code, which gives the level `email` even with a second factor, opens a page that
 * requires more: the page leads to another factor of theirs, or says that there is none.
 */
import t, { type Test } from '../../support/tap.ts'
import { type AuthorityOptions, type Client, memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { oidc } from '../../../lib/connections/index.ts'
import { authAs, sessionAs, softPasskey } from '../../../lib/testing/index.ts'
import { ISSUER, PASSWORD, tellCode, testApp } from '../../support/app.ts'
import { codeFor, formOf } from '../../support/factors.ts'
import { answerOf, authorizePath, CALLBACK } from '../../support/openid.ts'
import { testBrowser } from '../../support/browser.ts'
import { ANN, ask, enter } from '../email-codes/support.ts'

const SECRET = 'JBSWY3DPEHPK3PXPJBSW'
const CLIENTS: Client[] = [
  { clientId: 'spa', redirectUris: [CALLBACK] },
  { clientId: 'bank', redirectUris: [CALLBACK], acr: 'mfa' }
]

interface Has {
  password?: boolean
  app?: boolean
  passkey?: boolean
  key?: boolean
}

/**
 * A user in a browser in which they have just signed in by a code, and by their app or a recovery code if they have a
 * second factor.
 */
async function byMail(
  t: Test,
  { password = false, app: hasApp = false, passkey: hasPasskey = false, key: hasKey = false }: Has,
  options: Partial<AuthorityOptions> = {}
) {
  const users = memoryUserStore([{ id: 'ann', username: ANN, email: ANN, emailVerified: true, passwordHash: null }])
  const subject = await testApp(
    { users, emailSignIn: {}, factors: memoryFactorStore(), clients: CLIENTS, ...options },
    {},
    (host) => {
      for (const acr of ['password', 'mfa', 'phr', ...(options.connections === undefined ? [] : ['connection'])])
        host.get(
          `/${acr}`,
          {
            errorHandler: tellCode,
            onRequest: (...args) => {
              host.authority.requireSession({ acr })(...args)
            }
          },
          async (request) => request.authSession
        )
    }
  )
  t.teardown(subject.close)
  const { app, clock, messages } = subject
  if (password) await users.setPasswordHash?.('ann', await app.authority.hashPassword(PASSWORD))
  let codes: string[] = []
  const passkey = softPasskey({ origin: ISSUER, verifiesUser: !hasKey })
  if (hasPasskey || hasKey) {
    const headers = await authAs(app, { id: 'ann' }, { acr: 'phr' })
    const { options: creation } = (
      await app.inject({
        method: 'POST',
        url: '/auth/factors/passkeys/options',
        headers,
        payload: { kind: hasKey ? 'security_key' : 'passkey' }
      })
    ).json()
    await app.inject({
      method: 'POST',
      url: '/auth/factors/passkeys',
      headers,
      payload: { credential: passkey.create(creation) }
    })
    codes = (await app.inject({ method: 'POST', url: '/auth/factors/two-step', headers, payload: { on: true } })).json<{
      recovery_codes: string[]
    }>().recovery_codes
  }
  if (hasApp) await app.authority.importTotp('ann', { secret: SECRET })
  const browser = testBrowser(app)
  async function second(): Promise<Record<string, string>> {
    clock.step(30_000)
    return hasApp ? { code: codeFor(SECRET, clock.now()) } : { recovery_code: codes.shift() ?? '' }
  }
  const code = async (query = ''): Promise<string> => {
    await ask(browser, ANN, query)
    let reply = await enter(browser, (await messages.next('sign_in_code')).code, query)
    if (hasApp || hasPasskey || hasKey) reply = await browser.submit(String(reply.headers.location), await second())
    return String(reply.headers.location)
  }
  const to = async (url: string): Promise<unknown> => {
    const { statusCode, headers, body } = await browser.get(url)
    return statusCode === 303
      ? String(headers.location).replace(/\?.*/, '')
      : statusCode === 403
        ? (JSON.parse(body) as { error: string }).error
        : statusCode
  }
  await code()
  return { ...subject, users, browser, second, code, to, passkey }
}

const NOTHING = 'unmet_authentication_requirements'
const [AGAIN, PASSKEY, SET_UP] = ['/auth/reauthenticate', '/auth/security/passkeys', '/auth/second-factor/set-up']
/**
 * The factors of the account, and the targets of the pages for `password`, `mfa` and `phr`, at once and after a minute.
 */
const TABLE: Array<[has: Has, password: string, mfa: string, phr: string]> = [
  [{}, PASSKEY, PASSKEY, PASSKEY],
  [{ app: true }, PASSKEY, PASSKEY, PASSKEY],
  [{ passkey: true }, AGAIN, AGAIN, AGAIN],
  [{ passkey: true, app: true }, AGAIN, AGAIN, AGAIN],
  [{ password: true }, AGAIN, SET_UP, PASSKEY],
  [{ password: true, app: true }, AGAIN, AGAIN, PASSKEY],
  [{ password: true, passkey: true }, AGAIN, AGAIN, AGAIN],
  [{ key: true }, PASSKEY, PASSKEY, PASSKEY],
  [{ password: true, key: true }, AGAIN, AGAIN, AGAIN]
]

for (const [has, ...led] of TABLE) {
  t.test(
    `requireSession: asks for the missing proof after an email code, for an account with ${Object.keys(has).join(' and ') || 'nothing'}`,
    async (t) => {
      const { to, clock } = await byMail(t, has)
      t.strictSame([await to('/password'), await to('/mfa'), await to('/phr')], led, 'at once')
      clock.step(61_000)
      t.strictSame([await to('/password'), await to('/mfa'), await to('/phr')], led, 'a minute later')
    }
  )
}

t.test('answers an error after an email code if the account can add no other proof', async (t) => {
  const { to } = await byMail(t, { app: true }, { mfa: { methods: ['totp', 'recovery_code'] } })
  t.strictSame([await to('/password'), await to('/mfa'), await to('/phr')], [NOTHING, NOTHING, NOTHING])
  const none = await byMail(t, {}, { factors: undefined, clients: [] })
  t.equal(await none.to('/password'), NOTHING)
  const one = await byMail(t, { password: true }, { factors: undefined, clients: [] })
  t.equal(await one.to('/password'), AGAIN)
})

t.test('asks for the linked identity and the app after an email code while the connection exists', async (t) => {
  const connections = [
    oidc({ id: 'idp', issuer: 'https://idp.example', clientId: 'us', clientSecret: 'a secret of ours' })
  ]
  for (const [connection, led] of [
    ['idp', AGAIN],
    ['gone', PASSKEY]
  ] as const) {
    const { app, to } = await byMail(
      t,
      { app: true },
      { connections, secret: 'a secret of at least 32 characters, for this test' }
    )
    await app.authority.linkIdentity('ann', { issuer: 'https://idp.example', subject: 'ann', connection })
    t.strictSame([await to('/password'), await to('/mfa'), await to('/phr')], [led, led, PASSKEY], connection)
  }
  const { app, browser, clock, to } = await byMail(
    t,
    {},
    { connections, secret: 'a secret of at least 32 characters, for this test' }
  )
  await app.authority.linkIdentity('ann', { issuer: 'https://idp.example', subject: 'ann', connection: 'idp' })
  t.strictSame(
    [await to('/password'), await to('/mfa')],
    [PASSKEY, PASSKEY],
    'without a second factor it is worth neither'
  )
  t.equal(await to('/connection'), NOTHING, 'who was just there would come back with the same')
  clock.step(61_000)
  t.equal(await to('/connection'), AGAIN)
  t.match((await browser.get(authorizePath({ acr_values: 'connection' }))).headers.location, /^\/auth\/login\?/)
})

t.test('asks for the linked identity and the security key for acr password and mfa after an email code', async (t) => {
  const connections = [
    oidc({ id: 'idp', issuer: 'https://idp.example', clientId: 'us', clientSecret: 'a secret of ours' })
  ]
  const { app, to } = await byMail(
    t,
    { key: true },
    { connections, secret: 'a secret of at least 32 characters, for this test' }
  )
  await app.authority.linkIdentity('ann', { issuer: 'https://idp.example', subject: 'ann', connection: 'idp' })
  t.strictSame([await to('/password'), await to('/mfa'), await to('/phr')], [AGAIN, AGAIN, PASSKEY])
})

t.test('does not count passkeys of a former Relying Party ID as a proof', async (t) => {
  const store = memoryFactorStore()
  const { to } = await byMail(
    t,
    { passkey: true },
    {
      factors: {
        ...store,
        async findFactors(id) {
          const found = await store.findFactors(id)
          return { ...found, passkeys: found.passkeys.map((one) => ({ ...one, rpId: 'former.example' })) }
        }
      }
    }
  )
  t.strictSame([await to('/password'), await to('/mfa'), await to('/phr')], [PASSKEY, PASSKEY, PASSKEY])
})

t.test('asks for the missing proof after a sign-in by password, by a connection or by the host', async (t) => {
  const connections = [
    oidc({ id: 'idp', issuer: 'https://idp.example', clientId: 'us', clientSecret: 'a secret of ours' })
  ]
  const led = async (has: Has, acr: string | null, options: Partial<AuthorityOptions> = {}): Promise<unknown[]> => {
    const { app, browser, clock, to } = await byMail(t, has, {
      connections,
      secret: 'a secret of at least 32 characters, for this test',
      ...options
    })
    const [name = '', value = ''] = (
      await sessionAs(app, { id: 'ann' }, acr === null ? {} : { acr: acr as 'password' })
    ).cookie.split(/=(.*)/)
    browser.cookies.set(name, value)
    const first = [await to('/password'), await to('/mfa')]
    clock.step(61_000)
    return [...first, await to('/password'), await to('/mfa')]
  }
  t.strictSame(await led({ password: true, app: true }, 'password'), [
    200,
    '/auth/second-factor',
    200,
    '/auth/second-factor'
  ])
  t.strictSame(await led({}, 'connection'), [PASSKEY, SET_UP, PASSKEY, SET_UP])
  t.strictSame(
    await led({}, null, { pages: { loginUrl: '/sign-in' } }),
    [NOTHING, SET_UP, '/auth/login', SET_UP],
    'at the page of the host, which may ask for anything'
  )
})

t.test('does not count the password of an address that an enforced connection manages', async (t) => {
  const connections = [
    oidc({
      id: 'idp',
      issuer: 'https://idp.example',
      clientId: 'us',
      clientSecret: 'a secret of ours',
      domains: ['elsewhere.example'],
      enforce: true
    })
  ]
  const { app, users, to } = await byMail(
    t,
    { password: true, app: true },
    { connections, secret: 'a secret of at least 32 characters, for this test' }
  )
  t.equal(await to('/mfa'), AGAIN)
  await users.update?.('ann', {
    username: 'ann@elsewhere.example',
    email: 'ann@elsewhere.example',
    emailVerified: true
  })
  t.equal(await to('/mfa'), PASSKEY)
  await app.authority.linkIdentity('ann', { issuer: 'https://idp.example', subject: 'ann', connection: 'idp' })
  t.equal(await to('/mfa'), AGAIN, 'there they can')
})

t.test('accepts the password and then the app for a page that requires acr mfa', async (t) => {
  const { browser, second, to } = await byMail(t, { password: true, app: true })
  const { url, reply } = await browser.follow(await browser.get('/mfa'))
  t.match(url, '/auth/reauthenticate?return_to=%2Fmfa')
  t.notMatch(reply.body, 'value="email"', 'a code is not offered to who has a password')
  const step = await browser.submit(formOf(reply.body).action, { current_password: PASSWORD })
  t.match(step.headers.location, '/auth/second-factor?')
  t.equal((await browser.submit(String(step.headers.location), await second())).headers.location, '/mfa')
  t.equal(await to('/mfa'), 200)
})

t.test('returns an error if the account cannot reach the requested acr, and else asks for the proof', async (t) => {
  const outcome = async (has: Has, params: Record<string, string>): Promise<unknown> => {
    const { browser, code } = await byMail(t, has)
    const answer = async (): Promise<unknown> => {
      const { url, reply } = await browser.follow(await browser.get(authorizePath(params)))
      return url.startsWith(CALLBACK) || String(reply.headers.location).startsWith(CALLBACK)
        ? (answerOf(reply.headers.location ?? url)['error'] ?? 'code')
        : new URL(url, ISSUER).pathname
    }
    const first = await answer()
    await code()
    return [first, await answer()]
  }
  for (const params of [{ client_id: 'bank' }, { acr_values: 'mfa' }, { acr_values: 'password' }]) {
    t.strictSame(await outcome({ app: true }, params), [NOTHING, NOTHING], `an app alone: ${JSON.stringify(params)}`)
    t.strictSame(
      await outcome({ passkey: true }, params),
      ['/auth/login', '/auth/login'],
      `a passkey: ${JSON.stringify(params)}`
    )
    t.strictSame(
      await outcome({ password: true, app: true }, params),
      ['/auth/login', '/auth/login'],
      `a password and an app: ${JSON.stringify(params)}`
    )
  }
  t.strictSame(await outcome({ app: true }, { acr_values: 'email' }), ['code', 'code'])
  t.strictSame(await outcome({ app: true }, { acr_values: 'mfa email' }), ['code', 'code'], 'one of them is enough')
})

t.test('opens the account pages to a user with a passkey alone after an email code and a recovery code', async (t) => {
  const { browser, app, to } = await byMail(t, { passkey: true })
  for (const page of [
    '/auth/security',
    '/auth/security/totp',
    '/auth/security/passkeys',
    '/auth/account/email',
    '/auth/account/remove'
  ])
    t.equal(await to(page), 200, page)
  const { body } = await browser.get('/auth/security')
  t.match(body, 'name="factor"', 'the lost one can be removed')
  t.notMatch(body, 'your password alone', 'of a password that they do not have nothing is said')
  const { factors } = await app.authority.factors('ann')
  t.equal(factors.length, 1)
  const totp = await browser.get('/auth/security/totp')
  t.match(totp.body, '<code dir="ltr">', 'and an app set up')
})

t.test('shows no key for a new app after an email code and the app if the user has a password', async (t) => {
  const stale = /<code dir="ltr">/
  const both = await byMail(t, { password: true, app: true })
  t.notMatch((await both.browser.get('/auth/security/totp')).body, stale)
})
