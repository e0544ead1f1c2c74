/** Passkeys of an account: added, listed, removed; and the option `passkeys`. */
import Fastify from 'fastify'
import t from '../../support/tap.ts'
import authPlugin, { type AuthorityOptions, memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import type { FactorStore } from '../../../lib/ports/factor-store.ts'
import { authAs, sessionAs, softPasskey } from '../../../lib/testing/index.ts'
import { fakeConnection, fakeUpstream, PROVIDER, SECRET } from '../../support/fake-upstream.ts'
import { bearer, ISSUER, signIn, signUp, testApp } from '../../support/app.ts'
import { factorApp, type FactorApp, putApp, unsealed } from '../../support/factors.ts'
import { decodeJwt } from '../../support/jwt.ts'
import { add, addWith, asked, creationOptions, grant, passkeyApp, post, signInOptions } from '../../support/passkeys.ts'

const tokenOf = async ({ app }: Pick<FactorApp, 'app'>): Promise<string> => (await signIn(app)).access_token
const strongTokenOf = async (subject: Awaited<ReturnType<typeof passkeyApp>>): Promise<string> =>
  (await grant(subject, subject.passkey.get(await signInOptions(subject)))).json<{ access_token: string }>()
    .access_token

// covers PK-01 PK-06
t.test('returns creation options with the service name, the user and the existing passkeys', async (t) => {
  const subject = await factorApp(t, { pages: { title: 'Acme' } }, { enrolled: false })
  const token = await tokenOf(subject)
  const options = await creationOptions(subject, token)
  const { user, challenge, ...rest } = options
  t.same(rest, {
    rp: { id: 'localhost', name: 'Acme' },
    pubKeyCredParams: [
      { type: 'public-key', alg: -8 },
      { type: 'public-key', alg: -7 },
      { type: 'public-key', alg: -257 }
    ],
    timeout: 300_000,
    attestation: 'none',
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    excludeCredentials: [],
    hints: [],
    extensions: { credProps: true }
  })
  t.match(challenge, /^[\w-]{54}$/)
  t.match(user, { name: 'ann', displayName: 'ann' })
  t.notOk(Buffer.from(user.id, 'base64url').toString().includes(subject.sub), 'the handle tells nothing of the user')
  t.equal((await creationOptions(subject, token)).user.id, user.id, 'the handle is for good')
  t.match(await creationOptions(subject, token, 'security_key'), {
    hints: ['security-key'],
    authenticatorSelection: { residentKey: 'discouraged', requireResidentKey: false, userVerification: 'discouraged' }
  })
  for (const kind of [null, 'totp', 1, ['passkey']])
    t.equal((await post(subject, '/auth/factors/passkeys/options', { kind }, token)).statusCode, 400)

  const passkey = softPasskey({ origin: ISSUER })
  await addWith(subject, passkey, token)
  const again = await creationOptions(
    subject,
    await (async () =>
      (await grant(subject, passkey.get(await signInOptions(subject)))).json<{ access_token: string }>().access_token)()
  )
  t.match(again.excludeCredentials, [{ type: 'public-key', transports: ['internal', 'hybrid'] }])
  t.throws(() => passkey.create(again), { name: 'InvalidStateError' })
})

// covers PK-01 F11
t.test('sends a message for a new passkey, creates no recovery codes, and ends no session', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const { app, sub } = subject
  const other = await tokenOf(subject)
  const token = await tokenOf(subject)
  const passkey = softPasskey({ origin: ISSUER })
  const reply = await add(
    subject,
    token,
    JSON.stringify(passkey.create(await creationOptions(subject, token))),
    '  My\nlaptop '
  )
  t.equal(reply.statusCode, 201)
  t.match(reply.headers, { 'cache-control': 'no-store' })
  const { id, ...others } = reply.json<{ id: string }>()
  t.same(others, {})
  t.equal(
    (await app.inject({ url: '/auth/factors', headers: bearer(other) })).statusCode,
    200,
    'the other sign-in goes on'
  )
  t.match((await app.inject({ url: '/auth/factors', headers: bearer(token) })).json(), {
    factors: [{ id, kind: 'passkey', name: 'My laptop', disabled: false, synced: false, last_used_at: null }],
    recovery_codes_left: 0,
    two_step: { on: false, because: null }
  })
  t.match(await subject.messages.next('factor_added'), { factor: 'passkey', user: { id: sub } })
  t.match(
    subject.events.filter(({ name }) => name === 'factor_added').map(({ payload }) => payload),
    [{ userId: sub, factorId: id, kind: 'passkey' }]
  )

  const strong = (await grant(subject, passkey.get(await signInOptions(subject)))).json<{ access_token: string }>()
    .access_token
  await addWith(subject, softPasskey({ origin: ISSUER, alg: -8, synced: true }), strong)
  t.equal(
    (await app.inject({ url: '/auth/factors', headers: bearer(token) })).statusCode,
    200,
    'the second one ends nobody'
  )
  const row = (await subject.store.findFactors(sub)).passkeys[1]
  t.match(row, {
    alg: -8,
    backupEligible: true,
    backedUp: true,
    uvInitialized: true,
    rpId: 'localhost',
    transports: ['internal', 'hybrid'],
    name: null
  })
  const said = JSON.stringify([subject.events, subject.messages.messages])
  for (const { credentialId, publicKey } of (await subject.store.findFactors(sub)).passkeys)
    t.notOk(said.includes(credentialId) || said.includes(publicKey), 'no event and no message has it')
})

// covers PK-21 ADV-CVE-2026-3429
t.test('adds a passkey only after a fresh sign-in with all required factors', async (t) => {
  const subject = await passkeyApp(t)
  t.match(
    (await post(subject, '/auth/factors/passkeys/options', undefined, subject.token)).json(),
    { error: 'insufficient_user_authentication' },
    'the password alone is no longer enough'
  )
  const strong = await strongTokenOf(subject)
  const options = await creationOptions(subject, strong)
  subject.clock.step(301_000)
  t.match(
    (await post(subject, '/auth/factors/passkeys/options', undefined, strong)).json(),
    { error: 'insufficient_user_authentication' },
    'too long ago'
  )
  const key = softPasskey({ origin: ISSUER })
  t.equal((await add(subject, strong, key.create(options))).statusCode, 201, 'what was begun in time may be finished')
})

t.test('rejects a new passkey for options of another sign-in or user, or after another new passkey', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  await signUp(subject.app, 'bob')
  const [token, second, bobs] = [
    await tokenOf(subject),
    await tokenOf(subject),
    (await signIn(subject.app, 'bob')).access_token
  ]
  const invalid = async (name: string, credential: object, by = token): Promise<void> => {
    const reply = await add(subject, by, credential)
    t.equal(reply.statusCode, 400, name)
    t.match(reply.json(), { error: 'invalid_credential' }, name)
  }
  const made = async (of: string) => softPasskey({ origin: ISSUER }).create(await creationOptions(subject, of))
  await invalid('another sign-in', await made(second))
  await invalid('another person', await made(bobs))
  await invalid(
    'of a sign-in by passkey',
    softPasskey({ origin: ISSUER }).create({
      ...(await creationOptions(subject, token)),
      challenge: (await signInOptions(subject)).challenge
    })
  )
  const late = await made(token)
  subject.clock.step(600_000)
  await invalid('too late', late)
  const fresh = await tokenOf(subject)
  const [one, two] = [await made(fresh), await made(fresh)]
  t.equal((await add(subject, fresh, one)).statusCode, 201)
  await invalid('after another one was added', two, fresh)
  await invalid('twice', one, fresh)
  t.equal((await subject.store.findFactors(subject.sub)).passkeys.length, 1)
})

t.test('adds one passkey for fifty parallel requests with one answer', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const token = await tokenOf(subject)
  const given = softPasskey({ origin: ISSUER }).create(await creationOptions(subject, token))
  const statuses = (await Promise.all(Array.from({ length: 50 }, async () => await add(subject, token, given)))).map(
    ({ statusCode }) => statusCode
  )
  t.equal(statuses.filter((status) => status === 201).length, 1)
  t.ok(
    statuses.every((status) => [201, 400, 409].includes(status)),
    String(statuses)
  )
  t.equal((await subject.store.findFactors(subject.sub)).passkeys.length, 1)
})

// covers PK-25
t.test('rejects a missing, wrong or oversized part of a new credential, and stores nothing', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const token = await tokenOf(subject)
  const given = softPasskey({ origin: ISSUER }).create(await creationOptions(subject, token))
  t.equal((await post(subject, '/auth/factors/passkeys', {}, token)).statusCode, 400)
  for (const credential of [null, 1, [], true])
    t.match((await add(subject, token, credential)).json(), { error: 'invalid_request' }, JSON.stringify(credential))
  for (const credential of [
    '',
    '{',
    {},
    { ...given, id: undefined },
    { ...given, type: 'password' },
    { ...given, response: null }
  ])
    t.match((await add(subject, token, credential)).json(), { error: 'invalid_credential' }, JSON.stringify(credential))
  for (const wrong of [undefined, null, '', 1, {}, 'AAAA', 'AA==', 'A'.repeat(9000)]) {
    for (const name of ['clientDataJSON', 'attestationObject'])
      t.match(
        (await add(subject, token, { ...given, response: { ...given.response, [name]: wrong } })).json(),
        { error: 'invalid_credential' },
        name
      )
  }
  t.equal((await add(subject, token, { ...given, more: 'x'.repeat(17_000) })).statusCode, 413)
  t.match((await add(subject, token, given, 'x'.repeat(201))).json(), { error: 'invalid_request' })
  t.equal((await subject.store.findFactors(subject.sub)).passkeys.length, 0)
  t.equal((await add(subject, token, given)).statusCode, 201)
})

t.test('adds passkeys up to maxPerUser, and answers 503 during an outage of the factor store', async (t) => {
  const subject = await passkeyApp(t, { passkeys: { maxPerUser: 2 } })
  const strong = await strongTokenOf(subject)
  for (const method of ['findFactors', 'claimHandle'] as Array<keyof FactorStore>) {
    subject.broken.add(method)
    t.equal(
      (await post(subject, '/auth/factors/passkeys/options', undefined, strong)).statusCode,
      method === 'findFactors' ? 503 : 200,
      method
    )
    subject.broken.delete(method)
  }
  const key = softPasskey({ origin: ISSUER })
  const given = key.create(await creationOptions(subject, strong))
  subject.broken.add('addPasskey')
  t.equal((await add(subject, strong, given)).statusCode, 503)
  subject.broken.delete('addPasskey')
  t.equal((await add(subject, strong, given)).statusCode, 201)
  t.match(
    (await add(subject, strong, softPasskey({ origin: ISSUER }).create(await creationOptions(subject, strong)))).json(),
    { error: 'factor_limit' }
  )
  t.equal((await subject.app.authority.factors(subject.sub)).factors.length, 2)
})

const LAST_WAY_IN = 'Nothing else is left to sign in with.'
async function without(
  subject: Awaited<ReturnType<typeof passkeyApp>>,
  token: string,
  factorId: string
): Promise<{ status: number; error?: string; reason?: string | undefined }> {
  const reply = await subject.app.inject({ method: 'DELETE', url: `/auth/factors/${factorId}`, headers: bearer(token) })
  if (reply.statusCode === 204) return { status: 204 }
  const { error, error_description: reason } = reply.json<{ error: string; error_description?: string }>()
  return { status: reply.statusCode, error, reason }
}

/** A user store that hides the password hash while `state.hasPassword` is false. */
async function passwordless(): Promise<{ users: AuthorityOptions['users']; state: { hasPassword: boolean } }> {
  const users = memoryUserStore()
  const state = { hasPassword: true }
  const findById = users.findById.bind(users)
  return {
    state,
    users: {
      ...users,
      async findById(id) {
        const user = await findById(id)
        return user === null || state.hasPassword ? user : { ...user, passwordHash: null }
      }
    }
  }
}

// covers PK-34 SS-07
t.test(
  'keeps the last passkey of a user with neither a password nor a connection, also in two parallel removals',
  async (t) => {
    for (const beside of ['nothing', 'a security key', 'an app']) {
      const { users, state } = await passwordless()
      const subject = await passkeyApp(t, { users })
      const strong = await strongTokenOf(subject)
      const other = await addWith(subject, softPasskey({ origin: ISSUER }), strong)
      const more =
        beside === 'a security key'
          ? await addWith(subject, softPasskey({ origin: ISSUER, verifiesUser: false }), strong, 'security_key')
          : null
      if (beside === 'an app') await putApp(subject)
      state.hasPassword = false
      const both = await Promise.all([subject.factorId, other.id].map(async (id) => await without(subject, strong, id)))
      t.ok(
        both.some(({ status, error, reason }) => status === 409 && error === 'last_factor' && reason === LAST_WAY_IN),
        beside
      )
      const left = (await subject.store.findFactors(subject.sub)).passkeys.filter(({ uvInitialized }) => uvInitialized)
      t.ok(left.length > 0, `${beside}: one is left that signs in`)
      if (left.length === 2) t.same(await without(subject, strong, left[1]?.id ?? ''), { status: 204 })
      const { deviceEpoch } = await subject.store.findFactors(subject.sub)
      t.same(
        await without(subject, strong, left[0]?.id ?? ''),
        { status: 409, error: 'last_factor', reason: LAST_WAY_IN },
        beside
      )
      t.equal(
        (await subject.store.findFactors(subject.sub)).deviceEpoch,
        deviceEpoch,
        'it was not removed for a moment'
      )
      if (more !== null) t.same(await without(subject, strong, more.id), { status: 204 }, 'what signs nobody in goes')
      t.equal((await subject.app.authority.factors(subject.sub)).recoveryCodesLeft, 10, 'the recovery codes are there')
      t.ok(await subject.app.authority.removeFactor(subject.sub, left[0]?.id ?? ''), 'the host may')
    }
  }
)

// covers PK-34
t.test('counts an identity at another provider as a way to sign in while its connection exists', async (t) => {
  for (const [connection, answer] of [
    ['acme', { status: 204 }],
    ['former', { status: 409, error: 'last_factor', reason: LAST_WAY_IN }]
  ] as const) {
    const { users, state } = await passwordless()
    const subject = await passkeyApp(t, { users, secret: SECRET, connections: [fakeConnection(fakeUpstream())] })
    t.equal(
      await subject.app.authority.linkIdentity(subject.sub, { issuer: PROVIDER, subject: 'ann-1', connection }),
      'linked'
    )
    const strong = await strongTokenOf(subject)
    state.hasPassword = false
    t.same(await without(subject, strong, subject.factorId), answer, connection)
  }
})

t.test('counts a passkey as a way to sign in besides the last working link', async (t) => {
  const { users, state } = await passwordless()
  const subject = await passkeyApp(t, { users, secret: SECRET, connections: [fakeConnection(fakeUpstream())] })
  for (const connection of ['acme', 'former'])
    await subject.app.authority.linkIdentity(subject.sub, { issuer: PROVIDER, subject: connection, connection })
  state.hasPassword = false
  const [link] = await subject.app.authority.identities(subject.sub)
  t.equal(await subject.app.authority.unlinkIdentity(subject.sub, link?.id ?? ''), 'unlinked')
  t.match(await subject.app.authority.identities(subject.sub), [{ connection: 'former' }])
})

t.test('removes the last passkey of a user with a password', async (t) => {
  const subject = await passkeyApp(t)
  t.same(await without(subject, await strongTokenOf(subject), subject.factorId), { status: 204 })
  t.same(await subject.app.authority.factors(subject.sub), { factors: [], recoveryCodesLeft: 0 })
})

// covers PK-31
t.test('accepts passkeys on related origins, and lists the origins for browsers', async (t) => {
  const subject = await passkeyApp(t, {
    passkeys: { relatedOrigins: ['https://example.net', 'http://localhost:5173'] }
  })
  t.match((await subject.app.inject('/.well-known/webauthn')).json(), {
    origins: ['https://example.net', 'http://localhost:5173']
  })
  t.match((await subject.app.inject('/.well-known/webauthn')).headers, {
    'content-type': /^application\/json/,
    'access-control-allow-origin': '*'
  })
  const token = await strongTokenOf(subject)
  const there = softPasskey({ origin: 'https://example.net', rpId: 'localhost' })
  await addWith(subject, there, token)
  t.equal((await grant(subject, there.get(await signInOptions(subject)))).statusCode, 200)
  const plain = await passkeyApp(t)
  t.equal((await plain.app.inject('/.well-known/webauthn')).statusCode, 404)
})

// covers PK-32 PK-33
t.test('sets the Relying Party ID or turns passkeys off at the start, and rejects invalid options', async (t) => {
  const start = async (options: Partial<AuthorityOptions>): Promise<string> => {
    const lines: string[] = []
    const app = Fastify({
      logger: {
        level: 'info',
        stream: {
          write: (line: string) => {
            lines.push(line)
          }
        }
      }
    })
    try {
      await app.register(authPlugin, {
        issuer: 'https://auth.example.com',
        users: memoryUserStore(),
        factors: memoryFactorStore(),
        keys: { secret: 'kJ8v2Qm4Xr7Zt1Wc9Ly6Bn3Hs5Dg0Pf!' },
        ...options
      })
      const { statusCode, body } = await app.inject('/auth/passkey-challenge')
      return (
        `${statusCode === 200 ? (JSON.parse(body) as { options: { rpId: string } }).options.rpId : 'off'} ` +
        `${lines.filter((line) => line.includes('passkeys are off')).length}`
      )
    } catch (error) {
      return (error as Error).message
    } finally {
      await app.close()
    }
  }
  for (const [options, outcome] of [
    [{}, 'auth.example.com 0'],
    [{ passkeys: { rpId: 'example.com' } }, 'example.com 0'],
    [{ passkeys: { rpId: undefined } }, 'auth.example.com 0'],
    [{ passkeys: false }, 'off 0'],
    [{ factors: undefined }, 'off 0'],
    [{ factors: undefined, passkeys: false }, 'off 0'],
    [{ issuer: 'http://localhost:3000' }, 'localhost 0'],
    [{ issuer: 'http://auth.localhost:3000', allowInsecureIssuer: true }, 'auth.localhost 0'],
    [{ issuer: 'http://127.0.0.1:3000' }, 'off 1'],
    [{ issuer: 'http://[::1]:3000' }, 'off 1'],
    [{ issuer: 'https://192.0.2.1' }, 'off 1'],
    [{ issuer: 'http://auth.example.com', allowInsecureIssuer: true }, 'off 1'],
    [{ issuer: 'http://127.0.0.1:3000', passkeys: false }, 'off 0']
  ] as Array<[Partial<AuthorityOptions>, string]>)
    t.equal(await start(options), outcome, JSON.stringify(options))
  for (const [options, path] of [
    [{ factors: undefined, passkeys: { prompt: false } }, 'passkeys'],
    [{ passkeys: true }, 'passkeys'],
    [{ passkeys: { rpId: 'com' } }, 'passkeys.rpId'],
    [{ passkeys: { rpId: 'ample.com' } }, 'passkeys.rpId'],
    [{ passkeys: { rpId: 'other.com' } }, 'passkeys.rpId'],
    [{ passkeys: { rpId: 'www.auth.example.com' } }, 'passkeys.rpId'],
    [{ passkeys: { rpId: 'Example.com' } }, 'passkeys.rpId'],
    [{ passkeys: { rpId: 'example.com.' } }, 'passkeys.rpId'],
    [{ passkeys: { rpId: 'https://example.com' } }, 'passkeys.rpId'],
    [{ passkeys: { rpId: '' } }, 'passkeys.rpId'],
    ...[
      'https://example.net/',
      'http://example.net',
      'example.net',
      'https://EXAMPLE.net',
      'https://auth.example.com',
      'null',
      ''
    ].map((origin) => [{ passkeys: { relatedOrigins: [origin] } }, 'passkeys.relatedOrigins'] as const),
    [{ passkeys: { maxPerUser: 0 } }, 'passkeys.maxPerUser'],
    [{ passkeys: { rpID: 'example.com' } }, 'passkeys.rpID']
  ] as Array<[Partial<AuthorityOptions>, string]>)
    t.match(await start(options), `Invalid option "${path}`, JSON.stringify(options))
})

t.test('accepts a challenge made with the previous secret, and rejects it when that secret is removed', async (t) => {
  const [users, factors] = [memoryUserStore(), memoryFactorStore()]
  const secrets = ['kJ8v2Qm4Xr7Zt1Wc9Ly6Bn3Hs5Dg0Pf!', 'a former secret that was good for long']
  const first = await passkeyApp(t, { users, factors, secret: secrets[1] })
  const second = await testApp({ users, factors, secret: secrets })
  t.teardown(second.close)
  t.equal((await grant(second, first.passkey.get(await signInOptions(first)))).statusCode, 200)
  const alone = await testApp({ users, factors, secret: secrets[0] })
  t.teardown(alone.close)
  t.match((await grant(alone, first.passkey.get(await signInOptions(first)))).json(), { error: 'invalid_grant' })
})

t.test('authAs issues a token with the given acr, and rejects an unknown acr', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const { app, sub } = subject
  for (const acr of ['password', 'mfa', 'phr'] as const) {
    const headers = await authAs(app, { id: sub }, { acr })
    t.equal(decodeJwt(headers.authorization.slice(7)).claims.acr, acr)
    const session = await sessionAs(app, { id: sub }, { acr })
    t.equal((await app.inject({ url: '/auth/factors', headers: { ...session } })).statusCode, 200)
  }
  await t.rejects(authAs(app, { id: sub }, { acr: 'gold' as 'mfa' }), RangeError)
  // The host's own code vouches for two factors, but can't claim a passkey.
  t.equal(
    decodeJwt((await app.authority.issueTokens(sub, { amr: ['pwd', 'phr', 'pop', 'user'] })).access_token).claims.acr,
    'password'
  )
})

t.test('rejects a challenge of another issuer with the same secret and accounts', async (t) => {
  const [users, factors, secret] = [
    memoryUserStore(),
    unsealed(memoryFactorStore()),
    'a secret of at least 32 characters, for this test'
  ]
  const first = await passkeyApp(t, { users, factors, secret })
  const other = await testApp({ issuer: `${ISSUER}/other`, users, factors, secret })
  t.teardown(other.close)
  t.match((await grant(other, first.passkey.get(await signInOptions(first)))).json(), { error: 'invalid_grant' })
  t.equal((await grant(other, first.passkey.get(await signInOptions(other)))).statusCode, 200)
})

t.test('does not ask for a passkey of a former Relying Party ID, and allows a new one', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const passkey = softPasskey({ origin: ISSUER })
  await addWith(subject, passkey, await tokenOf(subject))
  const [factor] = (await subject.store.findFactors(subject.sub)).passkeys
  if (factor === undefined) return t.fail('there is none')
  await subject.store.removeFactorsOfUser(subject.sub)
  await subject.store.addPasskey({
    userId: subject.sub,
    factor: { ...factor, rpId: 'former.example' },
    limit: 10,
    turnsOn: true,
    recoveryDigests: ['d'.repeat(43)]
  })
  const { methods, ...rest } = await asked(subject)
  t.strictSame(methods, ['recovery_code'], 'but it counts as a second factor')
  t.notOk('passkey_options' in rest)
  t.strictSame(
    (
      await creationOptions(
        subject,
        (await authAs(subject.app, { id: subject.sub }, { acr: 'mfa' })).authorization.replace('Bearer ', '')
      )
    ).excludeCredentials,
    []
  )
})

t.test('labels a passkey with the name of the user, or else the username', async (t) => {
  for (const [name, displayName] of [
    ['Ann Lee', 'Ann Lee'],
    ['', 'ann'],
    [undefined, 'ann']
  ] as const) {
    const users = memoryUserStore([
      { id: 'ann', username: 'ann', emailVerified: true, passwordHash: null, ...(name === undefined ? {} : { name }) }
    ])
    const { app, close } = await testApp({ users, factors: memoryFactorStore() })
    t.teardown(close)
    const { options } = (
      await app.inject({
        method: 'POST',
        url: '/auth/factors/passkeys/options',
        headers: await authAs(app, { id: 'ann' }),
        payload: {}
      })
    ).json<{ options: { user: object } }>()
    t.match(options.user, { name: 'ann', displayName })
  }
})

t.test('creates no recovery codes for two-step sign-in if they are off', async (t) => {
  const subject = await passkeyApp(t, { mfa: { methods: ['totp', 'passkey'] } }, {}, undefined, { twoStep: false })
  const token = (await grant(subject, subject.passkey.get(await signInOptions(subject)))).json<{
    access_token: string
  }>().access_token
  t.same((await post(subject, '/auth/factors/two-step', { on: true }, token)).json(), { on: true })
  t.equal((await subject.app.authority.factors(subject.sub)).recoveryCodesLeft, 0)
})
