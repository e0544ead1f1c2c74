/** The password grant of a user with a second factor, its second step, and the limits on guesses at the factor. */
import { randomBytes } from 'node:crypto'
import t from '../../support/tap.ts'
import { type AuthorityOptions, memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { bearer, PASSWORD, signUp, testApp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { decodeJwt } from '../../support/jwt.ts'
import { type FactorApp, factorApp, logIn } from '../../support/factors.ts'
import { basic, CLIENTS, KEYS, SECRET } from '../../support/openid.ts'
import { passkeyApp } from '../../support/passkeys.ts'

const MFA = 'urn:fastify-authority:grant-type:mfa'
const OPTIONS: Partial<AuthorityOptions> = {
  keys: KEYS,
  clients: [
    ...CLIENTS,
    { clientId: 'own', clientSecret: SECRET, grantTypes: ['password', 'refresh_token'] },
    { clientId: 'codes', clientSecret: SECRET }
  ]
}

const token = async (
  { app }: Pick<FactorApp, 'app'>,
  payload: Record<string, string>,
  headers: Record<string, string> = {}
) => await app.inject({ method: 'POST', url: '/auth/token', headers, payload })
const begin = async (
  subject: FactorApp,
  extra: Record<string, string> = {},
  headers: Record<string, string> = {}
): Promise<string> =>
  (await token(subject, { grant_type: 'password', username: 'ann', password: PASSWORD, ...extra }, headers)).json<{
    mfa_token: string
  }>().mfa_token

// covers PG-01 PG-02
t.test('returns an mfa_token for the right password, and tokens for the second factor', async (t) => {
  const subject = await factorApp(t)
  const { app, sub } = subject
  const asked = await token(subject, { grant_type: 'password', username: 'ann', password: PASSWORD, scope: 'openid' })
  t.equal(asked.statusCode, 400)
  t.match(asked.headers['cache-control'], /no-store/)
  const { mfa_token: ticket, ...rest } = asked.json<{ mfa_token: string }>()
  t.same(rest, {
    error: 'mfa_required',
    error_description: 'A second factor is needed.',
    methods: ['totp', 'recovery_code']
  })
  t.equal((await app.authority.sessions(sub)).length, 1, 'no family')
  t.equal((await app.inject({ url: '/me', headers: bearer(ticket) })).statusCode, 401)
  t.equal((await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(ticket) })).statusCode, 401)

  for (const proof of [{ otp: subject.code() }, { recovery_code: subject.codes[0] ?? '' }]) {
    const reply = await token(subject, { grant_type: MFA, mfa_token: ticket, ...proof })
    t.equal(reply.statusCode, 200)
    const tokens = reply.json<{ access_token: string; refresh_token: string; scope: string }>()
    t.equal(tokens.scope, 'openid')
    const { claims } = decodeJwt(tokens.access_token)
    t.match(claims, { acr: 'mfa', amr: 'otp' in proof ? ['pwd', 'otp', 'mfa'] : ['pwd', 'recovery', 'mfa'] })
    // covers SU-09
    const refreshed = (
      await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(tokens.refresh_token) })
    ).json<{ access_token: string }>()
    const { acr, amr, auth_time: authTime } = decodeJwt(refreshed.access_token).claims
    t.same({ acr, amr, authTime }, { acr: claims.acr, amr: claims.amr, authTime: claims.auth_time })
  }
})

// covers PG-01
t.test('lists the second factors of the user in mfa_required, and passkeys only if they are on', async (t) => {
  const asks = async (subject: FactorApp): Promise<object> =>
    (await token(subject, { grant_type: 'password', username: 'ann', password: PASSWORD })).json()
  const { methods, ...alone } = (await asks(await passkeyApp(t))) as { methods: string[] }
  t.same(methods, ['passkey', 'recovery_code'])
  t.hasOwnProp(alone, 'passkey_options')
  const off = (await asks(await factorApp(t, { passkeys: false }))) as { methods: string[] }
  t.same(off.methods, ['totp', 'recovery_code'])
  const imported = await factorApp(t, {}, { enrolled: false })
  await imported.app.authority.importTotp(imported.sub, { secret: randomBytes(20) })
  t.same(((await asks(imported)) as { methods: string[] }).methods, ['totp'], 'and no recovery code where none is left')
  t.notOk('passkey_options' in off)
})

t.test('rejects the second factor of a user who is disabled after the password', async (t) => {
  const users = memoryUserStore()
  const subject = await factorApp(t, { users })
  const ticket = await begin(subject)
  await users.update(subject.sub, { disabled: true })
  const second = { grant_type: MFA, mfa_token: ticket, otp: subject.code() }
  const refused = await token(subject, second)
  t.match([refused.statusCode, refused.json()], [400, { error: 'invalid_grant' }])
  await users.update(subject.sub, { disabled: false })
  t.equal((await token(subject, { ...second, mfa_token: await begin(subject) })).statusCode, 200)
})

// covers SF-02 PG-02
t.test('issues no tokens if the password changes between the code and the tokens', async (t) => {
  const subject = await factorApp(t)
  const { app, store, sub } = subject
  const ticket = await begin(subject)
  const use = store.useTotp.bind(store)
  store.useTotp = async (given) => {
    const used = await use(given)
    await subject.app.authority.changePassword(sub, 'a better horse battery')
    return used
  }
  t.match((await token(subject, { grant_type: MFA, mfa_token: ticket, otp: subject.code() })).json(), {
    error: 'invalid_grant'
  })
  t.same(await app.authority.sessions(sub), [])
  t.ok(subject.events.some(({ name, payload }) => name === 'login_failed' && payload['reason'] === 'changed_meanwhile'))
})

// covers PG-03 PG-04
t.test('accepts the mfa_token only from its own client, without additional scopes', async (t) => {
  const subject = await factorApp(t, OPTIONS)
  const own = basic('own', SECRET)
  const ticket = await begin(subject, { scope: 'openid' }, own)
  t.match(
    (await token(subject, { grant_type: MFA, mfa_token: ticket, otp: subject.code() })).json(),
    { error: 'invalid_grant' },
    "nobody's"
  )
  t.match(
    (await token(subject, { grant_type: MFA, mfa_token: ticket, otp: subject.code() }, basic('codes', SECRET))).json(),
    { error: 'unauthorized_client' }
  )
  t.match(
    (await token(subject, { grant_type: MFA, mfa_token: await begin(subject), otp: subject.code() }, own)).json(),
    { error: 'invalid_grant' },
    'of a caller without a client'
  )
  const done = await token(
    subject,
    { grant_type: MFA, mfa_token: ticket, otp: subject.code(), scope: 'openid profile' },
    own
  )
  t.match(done.json(), { scope: 'openid' })
  t.match((await subject.app.inject('/.well-known/openid-configuration')).json(), {
    acr_values_supported: ['password', 'mfa']
  })
})

// covers PG-02
t.test('does not count an incomplete or malformed request as a guess at a second factor', async (t) => {
  const subject = await factorApp(t, { rateLimit: { secondFactor: { max: 1 } } })
  const ticket = await begin(subject)
  for (const [payload, error] of [
    [{}, 'invalid_request'],
    [{ mfa_token: ticket }, 'invalid_request'],
    [{ otp: '123456' }, 'invalid_request'],
    [{ mfa_token: ticket, otp: '12345' }, 'invalid_code'],
    [{ mfa_token: ticket, recovery_code: 'abc' }, 'invalid_code'],
    [{ mfa_token: 'x', otp: '123456' }, 'invalid_grant']
  ] as const) {
    t.match(
      await token(subject, { grant_type: MFA, ...payload }).then((reply) => reply.json() as object),
      { error },
      JSON.stringify(payload)
    )
  }
  t.equal((await token(subject, { grant_type: MFA, mfa_token: ticket, otp: subject.code() })).statusCode, 200)
  const plain = await factorApp(t, { factors: undefined }, { enrolled: false })
  t.match((await token(plain, { grant_type: MFA, mfa_token: ticket, otp: '123456' })).json(), {
    error: 'unsupported_grant_type'
  })
  const off = await factorApp(t, { passwordGrant: false }, { enrolled: false })
  t.match((await token(off, { grant_type: MFA, mfa_token: ticket, otp: '123456' })).json(), {
    error: 'unsupported_grant_type'
  })
})

// covers PG-07 ENUM-f2
t.test('does not reveal a second factor after a wrong password', async (t) => {
  const subject = await factorApp(t)
  await signUp(subject.app, 'bob')
  const [ann, bob, nobody] = await Promise.all(
    ['ann', 'bob', 'nobody'].map(
      async (username) => (await token(subject, { grant_type: 'password', username, password: 'not this one' })).body
    )
  )
  t.equal(ann, bob)
  t.equal(ann, nobody)
})

// covers SF-03
t.test('issues no tokens for the password alone when a factor is set up meanwhile', async (t) => {
  const subject = await factorApp(t)
  const answered = subject.store.findFactors.bind(subject.store)
  let looks = 0
  // The first read came before the factor was added.
  subject.store.findFactors = async (userId) =>
    looks++ === 0
      ? { handle: null, totp: [], passkeys: [], recoveryCodesLeft: 0, twoStepChosen: false, deviceEpoch: 0 }
      : await answered(userId)
  t.match((await token(subject, { grant_type: 'password', username: 'ann', password: PASSWORD })).json(), {
    error: 'mfa_required'
  })
  t.equal(looks, 2)
  t.equal((await subject.app.authority.sessions(subject.sub)).length, 1)
  t.notOk(subject.events.slice(-3).some(({ name }) => name === 'token_issued'))
})

// covers LIM-02 PG-05 ADV-CVE-2026-9798 ADV-CVE-2026-56450 ADV-KC-46164 ASVS-6.3.1 ASVS-6.6.3
t.test('limits wrong codes to five in fifteen minutes across routes, browsers and parallel requests', async (t) => {
  const subject = await factorApp(t, { rateLimit: { login: false, account: false } })
  const { app } = subject
  const ticket = await begin(subject)
  const stranger = testBrowser(app)
  await logIn(stranger)
  for (let n = 0; n < 3; n++)
    t.equal((await token(subject, { grant_type: MFA, mfa_token: ticket, otp: '000000' })).statusCode, 400)
  const all = await Promise.all(
    Array.from(
      { length: 50 },
      async () => (await stranger.submit('/auth/second-factor', { code: '000000' })).statusCode
    )
  )
  t.equal(all.filter((status) => status === 400).length, 2)
  t.equal(
    (await stranger.submit('/auth/second-factor', { code: subject.code() })).statusCode,
    429,
    'also for the right one'
  )
  t.match(
    (await token(subject, { grant_type: MFA, mfa_token: await begin(subject), otp: subject.code() })).json(),
    { error: 'too_many_requests' },
    'a new ticket is no new allowance'
  )
  // A password sign-in gives each browser a device cookie, which does not make it known here.
  const another = testBrowser(app)
  await logIn(another)
  await logIn(another)
  t.equal((await another.submit('/auth/second-factor', { code: subject.code() })).statusCode, 429)
  subject.clock.step(900_000)
  await logIn(stranger)
  t.equal((await stranger.submit('/auth/second-factor', { code: subject.code() })).statusCode, 303)
})

// covers LIM-03
t.test('does not lock a known browser of the user out after wrong codes by strangers', async (t) => {
  const subject = await factorApp(t, { rateLimit: { login: false, account: false } })
  const known = testBrowser(subject.app)
  await logIn(known)
  t.equal((await known.submit('/auth/second-factor', { code: subject.code() })).statusCode, 303)
  const ticket = await begin(subject)
  for (let n = 0; n < 5; n++) await token(subject, { grant_type: MFA, mfa_token: ticket, otp: '000000' })
  subject.clock.step(30_000)
  await logIn(known)
  t.equal((await known.submit('/auth/second-factor', { code: subject.code() })).statusCode, 303)
  // The factors have changed, so the browser is unknown again.
  await subject.store.forgetDevices(subject.sub)
  subject.clock.step(30_000)
  await logIn(known)
  t.equal((await known.submit('/auth/second-factor', { code: subject.code() })).statusCode, 429)
})

// covers LIM-01 ADV-CVE-2026-9798 ADV-BA-8627
t.test('disables the app after a hundred wrong codes in a row, but not recovery codes', async (t) => {
  const subject = await factorApp(t, { rateLimit: false })
  const { app } = subject
  const ticket = await begin(subject)
  await Promise.all(
    Array.from({ length: 99 }, async () => await token(subject, { grant_type: MFA, mfa_token: ticket, otp: '000000' }))
  )
  t.equal((await app.authority.factors(subject.sub)).factors[0]?.disabled, false)
  await token(subject, { grant_type: MFA, mfa_token: ticket, otp: '000000' })
  t.match(
    subject.events.filter(({ name }) => name === 'factor_disabled'),
    [{ payload: { kind: 'totp' } }]
  )
  t.match((await token(subject, { grant_type: MFA, mfa_token: ticket, otp: subject.code() })).json(), {
    error: 'invalid_grant'
  })
  const browser = testBrowser(app)
  t.equal((await logIn(browser)).headers.location, '/auth/second-factor', 'ADV-BA-9552: it is asked for nevertheless')
  t.notMatch((await browser.get('/auth/second-factor')).body, /name="code"/)
  t.equal((await browser.submit('/auth/second-factor', { recovery_code: subject.codes[0] ?? '' })).statusCode, 303)
  t.ok(await subject.messages.next('second_factor_failed'))
})

// covers ASVS-6.3.7
t.test('accepts codes of a disabled app in a known browser, and notifies the user at once', async (t) => {
  const subject = await factorApp(t, { rateLimit: false })
  const known = testBrowser(subject.app)
  await logIn(known)
  t.equal((await known.submit('/auth/second-factor', { code: subject.code() })).statusCode, 303)
  const ticket = await begin(subject)
  const wrong = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n++) await token(subject, { grant_type: MFA, mfa_token: ticket, otp: '000000' })
  }
  await wrong(1)
  t.ok(await subject.messages.next('second_factor_failed'))
  await wrong(98)
  // A success in the known browser does not reset the strangers' count, who may have stopped at 99 for it.
  subject.clock.step(30_000)
  await logIn(known)
  t.equal((await known.submit('/auth/second-factor', { code: subject.code() })).statusCode, 303)
  await wrong(1)
  t.match(await subject.messages.next('factor_disabled'), { user: { id: subject.sub } }, 'on the same day')
  subject.clock.step(30_000)
  t.match((await token(subject, { grant_type: MFA, mfa_token: ticket, otp: subject.code() })).json(), {
    error: 'invalid_grant'
  })
  await logIn(known)
  t.match((await known.get('/auth/second-factor')).body, /name="code"/)
  t.equal((await known.submit('/auth/second-factor', { code: subject.code() })).statusCode, 303)
  const stranger = testBrowser(subject.app)
  await logIn(stranger)
  t.notMatch((await stranger.get('/auth/second-factor')).body, /name="code"/)
  t.equal((await stranger.submit('/auth/second-factor', { code: subject.code(1) })).statusCode, 400)
})

t.test(
  'does not disable an app for wrong codes in a known browser, and forgets the browser after a hundred',
  async (t) => {
    const subject = await factorApp(t, { rateLimit: false })
    const known = testBrowser(subject.app)
    await logIn(known)
    t.equal((await known.submit('/auth/second-factor', { code: subject.code() })).statusCode, 303)
    const countsOf = async (): Promise<unknown> =>
      (await subject.store.findFactors(subject.sub)).totp.map(({ failures, knownFailures, disabled }) => ({
        failures,
        knownFailures,
        disabled
      }))
    await logIn(known)
    for (let n = 0; n < 99; n++) await known.submit('/auth/second-factor', { code: '000000' })
    t.strictSame(await countsOf(), [{ failures: 0, knownFailures: 99, disabled: false }])
    await known.submit('/auth/second-factor', { code: '000000' })
    await logIn(known)
    await known.submit('/auth/second-factor', { code: '000000' })
    t.strictSame(await countsOf(), [{ failures: 1, knownFailures: 0, disabled: false }])
  }
)

// covers ASVS-6.3.5
t.test('notifies the user once a day about wrong codes after the right password', async (t) => {
  const subject = await factorApp(t, { rateLimit: { login: false, account: false } })
  const guess = async (username = 'ann'): Promise<void> => {
    const { mfa_token: ticket } = (
      await token(subject, { grant_type: 'password', username, password: PASSWORD })
    ).json<{ mfa_token: string }>()
    await token(subject, { grant_type: MFA, mfa_token: ticket, otp: '000000' })
  }
  const told = (): unknown[] =>
    subject.messages.messages.filter(({ kind }) => kind === 'second_factor_failed').map(({ user }) => user.username)
  // The next message proves that the guess before it sent no message.
  for (const name of ['bob', 'cid'])
    await subject.app.authority.importTotp((await signUp(subject.app, name)).sub, { secret: randomBytes(20) })
  await guess()
  await guess()
  await guess('bob')
  for (const _ of ['ann', 'bob']) await subject.messages.next('second_factor_failed')
  t.same(told(), ['ann', 'bob'], 'once, and each person')
  subject.clock.step(24 * 60 * 60 * 1000 - 1)
  await guess()
  await guess('cid')
  await subject.messages.next('second_factor_failed')
  t.same(told(), ['ann', 'bob', 'cid'], 'not in the last moment of the day')
  subject.clock.step(1)
  await guess()
  await subject.messages.next('second_factor_failed')
  t.same(told(), ['ann', 'bob', 'cid', 'ann'])
})

t.test('rejects an mfa_token of another prefix with the same issuer, stores and secret', async (t) => {
  const shared = {
    users: memoryUserStore(),
    factors: memoryFactorStore(),
    secret: randomBytes(32).toString('base64url')
  }
  const subject = await factorApp(t, shared)
  const other = await testApp({ ...shared, clock: subject.clock, prefix: '/admin-auth' })
  t.teardown(other.close)
  const ticket = await begin(subject)
  const payload = { grant_type: MFA, mfa_token: ticket, otp: subject.code() }
  const reply = await other.app.inject({ method: 'POST', url: '/admin-auth/token', payload })
  t.equal(reply.statusCode, 400)
  t.match(reply.json(), { error: 'invalid_grant' })
  t.equal((await token(subject, payload)).statusCode, 200)
})
