/** A sign-in by a passkey alone at the token endpoint: clients, credentials, origins and repeats. */
import Fastify from 'fastify'
import t from '../../support/tap.ts'
import authPlugin, { memoryFactorStore, memoryUserStore, type User, type UserStore } from '../../../lib/index.ts'
import type { FactorStore } from '../../../lib/ports/factor-store.ts'
import { softPasskey, type SoftAssertion } from '../../../lib/testing/index.ts'
import type { PasskeyCreationOptions, PasskeyRequestOptions } from '../../../lib/protocol/webauthn-options.ts'
import {
  authenticatorData,
  clientData,
  encodeCbor,
  signAssertion,
  type SoftFlags,
  softKey
} from '../../../lib/testing/soft-passkey.ts'
import { bearer, ISSUER, type LightMyRequestResponse, signIn, signUp, testApp } from '../../support/app.ts'
import { decodeJwt } from '../../support/jwt.ts'
import { basic, CLIENTS, KEYS, SECRET } from '../../support/openid.ts'
import {
  addWith,
  asked,
  creationOptions,
  finish,
  grant,
  PASSKEY_GRANT,
  passkeyApp,
  type PasskeyApp,
  post,
  signInOptions,
  somebody
} from '../../support/passkeys.ts'

const answer = async (subject: PasskeyApp): Promise<SoftAssertion> => subject.passkey.get(await signInOptions(subject))
const claimsOf = (reply: LightMyRequestResponse): Record<string, unknown> =>
  decodeJwt(reply.json<{ access_token: string }>().access_token).claims
const REFUSED = { error: 'invalid_grant', error_description: 'The passkey was not accepted.' }
const withResponse = (given: SoftAssertion, members: object): object => ({
  ...given,
  response: { ...given.response, ...members }
})

async function refused(
  { equal, same }: Pick<typeof t, 'equal' | 'same'>,
  reply: LightMyRequestResponse,
  name: string
): Promise<void> {
  equal(reply.statusCode, 400, name)
  same(reply.json(), REFUSED, name)
}

// covers PK-02 PK-09
t.test('signs in by a passkey without username, password or second step, with matching token claims', async (t) => {
  const subject = await passkeyApp(t)
  subject.clock.step(1000)
  const options = await signInOptions(subject)
  t.match(options, { rpId: 'localhost', userVerification: 'required', allowCredentials: [], timeout: 300_000 })
  t.match((await subject.app.inject('/auth/passkey-challenge')).headers, { 'cache-control': 'no-store' })
  const reply = await grant(subject, subject.passkey.get(options), { scope: 'openid' })
  t.equal(reply.statusCode, 200)
  t.match(reply.headers, { 'cache-control': 'no-store' })
  t.match(claimsOf(reply), {
    sub: subject.sub,
    acr: 'phr',
    amr: ['pop', 'user', 'mfa'],
    scope: 'openid',
    auth_time: subject.clock.now() / 1000
  })
  const refreshed = await post(
    subject,
    '/auth/refresh',
    undefined,
    reply.json<{ refresh_token: string }>().refresh_token
  )
  t.match(claimsOf(refreshed), { acr: 'phr', amr: ['pop', 'user', 'mfa'] })
  t.match(subject.events.filter(({ name }) => name === 'authenticated').at(-1)?.payload, {
    method: 'passkey',
    methods: ['passkey'],
    userId: subject.sub
  })
  t.match(subject.events.filter(({ name }) => name === 'token_issued').at(-1)?.payload, { grantType: 'passkey' })
  const { factors } = (await subject.app.inject({ url: '/auth/factors', headers: bearer(subject.token) })).json<{
    factors: object[]
  }>()
  t.match(factors, [{ kind: 'passkey', last_used_at: new Date(subject.clock.now()).toISOString(), synced: false }])
})

// covers PK-12 ADV-CVE-2025-46815
t.test('accepts a passkey answer once within ten minutes, also in fifty parallel requests', async (t) => {
  const subject = await passkeyApp(t)
  const given = await answer(subject)
  const all = await Promise.all(Array.from({ length: 50 }, async () => await grant(subject, given)))
  t.equal(all.filter(({ statusCode }) => statusCode === 200).length, 1)
  for (const reply of all.filter(({ statusCode }) => statusCode !== 200)) await refused(t, reply, 'at once')
  t.equal((await subject.app.authority.sessions(subject.sub)).length, 2, 'the sign-in that added it, and this one')
  const later = await answer(subject)
  subject.clock.step(599_999)
  t.equal((await grant(subject, later)).statusCode, 200)
  const late = await answer(subject)
  subject.clock.step(600_000)
  await refused(t, await grant(subject, late), 'too late')
})

// covers PK-12
t.test('accepts a challenge only for its own purpose and its own user', async (t) => {
  const subject = await passkeyApp(t)
  const bob = await somebody(subject, 'bob')
  const { mfa_token: ticket, passkey_options: second } = await asked(subject)
  const { access_token: strong } = (await grant(subject, await answer(subject))).json<{ access_token: string }>()
  const creation = await creationOptions(subject, strong)
  const plain = await signInOptions(subject)
  for (const challenge of [second.challenge, creation.challenge, 'AAAA', plain.challenge.slice(0, -4)])
    await refused(t, await grant(subject, subject.passkey.get({ ...plain, challenge })), challenge)
  await refused(
    t,
    await finish(subject, ticket, subject.passkey.get({ ...second, challenge: plain.challenge })),
    'of a sign-in'
  )
  const { passkey_options: bobs } = await asked(subject, 'bob')
  await refused(
    t,
    await finish(subject, ticket, subject.passkey.get({ ...second, challenge: bobs.challenge })),
    'of another person'
  )
  const other = await passkeyApp(t)
  await refused(
    t,
    await grant(subject, subject.passkey.get({ ...plain, challenge: (await signInOptions(other)).challenge })),
    'of another server'
  )
  t.equal((await grant(subject, subject.passkey.get(plain))).statusCode, 200)
  t.equal((await finish(subject, ticket, subject.passkey.get(second))).statusCode, 200)
  t.ok(bob)
})

// covers ADV-YSA-2026-02 PK-22
t.test('accepts only a passkey of the same user after a password', async (t) => {
  const subject = await passkeyApp(t)
  const bob = await somebody(subject, 'bob')
  const { mfa_token: ticket, passkey_options: options } = await asked(subject)
  await refused(t, await finish(subject, ticket, bob.passkey.get({ ...options, allowCredentials: [] })), 'of Bob')
  const { passkey_options: bobs } = await asked(subject, 'bob')
  await refused(t, await finish(subject, ticket, bob.passkey.get(bobs)), 'of Bob, to his own challenge')
  const given = subject.passkey.get(options)
  await refused(
    t,
    await finish(
      subject,
      ticket,
      withResponse(given, { userHandle: bob.passkey.get(bobs).response.userHandle }) as SoftAssertion
    ),
    'with the handle of Bob'
  )
  const done = await finish(subject, ticket, given)
  t.match(claimsOf(done), { sub: subject.sub, acr: 'phr', amr: ['pop', 'user', 'mfa'] })
  await refused(t, await finish(subject, ticket, given), 'again')
  await subject.app.authority.resetFactors(subject.sub)
  t.match(
    (await finish(subject, ticket, subject.passkey.get(options))).json(),
    { error: 'invalid_grant' },
    'with a passkey no more'
  )
})

// covers PK-07 ASVS-6.5.7
t.test('accepts a security key without user verification only as a second factor', async (t) => {
  const subject = await passkeyApp(t)
  const key = softPasskey({ origin: ISSUER, verifiesUser: false })
  const { access_token: strong } = (await grant(subject, await answer(subject))).json<{ access_token: string }>()
  const asPasskey = await creationOptions(subject, strong)
  t.throws(() => key.create(asPasskey), { name: 'NotAllowedError' })
  await addWith(subject, key, strong, 'security_key')
  const { mfa_token: ticket, passkey_options: options } = await asked(subject)
  t.match(options, { userVerification: 'preferred', allowCredentials: [{}, { transports: ['usb'] }] })
  t.match(claimsOf(await finish(subject, ticket, key.get(options))), { acr: 'phr', amr: ['pwd', 'pop', 'user', 'mfa'] })
  const plain = await signInOptions(subject)
  t.throws(() => key.get(plain), { name: 'NotAllowedError' })
  const { handle } = await subject.store.findFactors(subject.sub)
  const given = key.get({ ...plain, userVerification: 'discouraged', allowCredentials: options.allowCredentials })
  await refused(
    t,
    await grant(subject, withResponse(given, { userHandle: Buffer.from(handle ?? '').toString('base64url') })),
    'alone'
  )
})

// covers PK-16 ADV-CVE-2026-8830
t.test('enforces the options of the challenge although the page changed them', async (t) => {
  const subject = await passkeyApp(t)
  const { access_token: token } = await signIn(subject.app, (await signUp(subject.app, 'bob')).username)
  const lazy = softPasskey({ origin: ISSUER, verifiesUser: false })
  const options = await creationOptions(subject, token)
  const lax = lazy.create({
    ...options,
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'discouraged' }
  })
  t.match((await post(subject, '/auth/factors/passkeys', { credential: lax }, token)).json(), {
    error: 'invalid_credential'
  })
  const elsewhere = softPasskey({ origin: 'https://evil.example', rpId: 'localhost' })
  t.match((await post(subject, '/auth/factors/passkeys', { credential: elsewhere.create(options) }, token)).json(), {
    error: 'invalid_credential'
  })
  const other = softPasskey({ origin: ISSUER, rpId: 'example.com' })
  t.match((await post(subject, '/auth/factors/passkeys', { credential: other.create(options) }, token)).json(), {
    error: 'invalid_credential'
  })
  t.equal(
    (
      await subject.app.authority.factors(
        (await subject.app.inject({ url: '/me', headers: bearer(token) })).json<{ sub: string }>().sub
      )
    ).factors.length,
    0
  )
})

// covers PK-11 PK-25 PK-27
t.test('rejects a missing, wrong or oversized part of the answer with the same error', async (t) => {
  const subject = await passkeyApp(t)
  const given = await answer(subject)
  const { id, response } = given
  t.match((await post(subject, '/auth/token', { grant_type: PASSKEY_GRANT })).json(), { error: 'invalid_request' })
  t.match(
    (await post(subject, '/auth/token', { grant_type: PASSKEY_GRANT, credential: given })).json(),
    { error: 'invalid_request' },
    'an object'
  )
  t.match((await post(subject, '/auth/token', { grant_type: PASSKEY_GRANT, credential: null })).statusCode, 400)
  for (const text of ['{', 'null', '[]', '""', '{}', 'x'.repeat(15_000)])
    await refused(t, await grant(subject, text), text.slice(0, 9))
  t.equal((await grant(subject, 'x'.repeat(17_000))).statusCode, 413)
  for (const wrong of [undefined, null, '', 1, [], {}, 'AAAA', 'AA==', 'A'.repeat(9000)]) {
    for (const name of ['clientDataJSON', 'authenticatorData', 'signature', 'userHandle'])
      await refused(
        t,
        await grant(subject, withResponse(given, { [name]: wrong })),
        `${name} ${JSON.stringify(wrong)?.slice(0, 9)}`
      )
    for (const name of ['id', 'type', 'response'])
      await refused(
        t,
        await grant(subject, { ...given, [name]: wrong }),
        `${name} ${JSON.stringify(wrong)?.slice(0, 9)}`
      )
  }
  const changed = (text: string): string => `${text.slice(0, 60)}${text[60] === 'A' ? 'B' : 'A'}${text.slice(61)}`
  await refused(
    t,
    await grant(subject, withResponse(given, { signature: changed(response.signature) })),
    'another signature'
  )
  const more = Buffer.from(
    clientData({ type: 'webauthn.get', challenge: (await signInOptions(subject)).challenge, origin: ISSUER })
  ).toString('base64url')
  await refused(t, await grant(subject, withResponse(given, { clientDataJSON: more })), 'another challenge')
  const unverified = authenticatorData({
    rpId: 'localhost',
    flags: { userPresent: true, userVerified: false, backupEligible: false, backedUp: false },
    signCount: 0
  }).toString('base64url')
  await refused(t, await grant(subject, withResponse(given, { authenticatorData: unverified })), 'not verified')
  await refused(t, await grant(subject, { ...given, id: Buffer.from('another').toString('base64url') }), 'another id')
  t.equal((await grant(subject, given)).statusCode, 200, 'none of these has used it up')
  t.notOk(JSON.stringify(subject.events).includes(id), 'no event has the id')
})

// covers PK-24
t.test('rejects a counter that does not grow for a device-bound passkey, and reports a synced one', async (t) => {
  for (const [synced, status] of [
    [false, 400],
    [true, 200]
  ] as const) {
    const subject = await passkeyApp(t, {}, { counts: true, synced })
    const first = await answer(subject)
    const second = await answer(subject)
    t.equal((await grant(subject, second)).statusCode, 200)
    const replayed = await grant(subject, first)
    t.equal(replayed.statusCode, status, String(synced))
    if (!synced) t.same(replayed.json(), REFUSED)
    t.match(
      subject.events.filter(({ name }) => name === 'passkey_counter_regressed').map(({ payload }) => payload),
      [{ userId: subject.sub, factorId: subject.factorId, refused: !synced }]
    )
    t.equal((await grant(subject, await answer(subject))).statusCode, 200)
    const { factors } = await subject.app.authority.factors(subject.sub)
    t.equal(factors[0]?.synced, synced)
  }
})

function changing(users: UserStore): { users: UserStore; change: Partial<User> & { gone?: boolean } } {
  const change: Partial<User> & { gone?: boolean } = {}
  const changed = (user: User | null): User | null =>
    user === null || change.gone === true ? null : { ...user, ...change }
  return {
    change,
    users: {
      ...users,
      findById: async (id) => changed(await users.findById(id)),
      findByUsername: async (name) => changed(await users.findByUsername(name))
    }
  }
}

// covers ADV-CVE-2025-10908
t.test('rejects a disabled, removed or unconfirmed account with the same error', async (t) => {
  const { users, change } = changing(memoryUserStore())
  const subject = await passkeyApp(t, { users })
  for (const [state, reason] of [
    [{ disabled: true }, 'disabled'],
    [{ gone: true }, 'unknown_user']
  ] as const) {
    Object.assign(change, state)
    await refused(t, await grant(subject, await answer(subject)), reason)
    t.equal(subject.events.filter(({ name }) => name === 'login_failed').at(-1)?.payload.reason, reason)
    Object.assign(change, { disabled: false, gone: false })
  }
  t.equal((await grant(subject, await answer(subject))).statusCode, 200)
  const strict = await testApp({ users, factors: subject.store, registration: { username: 'any', verifyEmail: true } })
  t.teardown(strict.close)
  await refused(t, await grant(strict, subject.passkey.get(await signInOptions(strict))), 'not confirmed')
  t.equal(strict.events.at(-1)?.payload.reason, 'email_not_verified')
  change.emailVerified = true
  t.equal((await grant(strict, subject.passkey.get(await signInOptions(strict)))).statusCode, 200)
})

// covers SF-03
t.test('issues no tokens if the user is disabled or the passkey removed during the sign-in', async (t) => {
  const { users, change } = changing(memoryUserStore())
  const subject = await passkeyApp(t, { users })
  const usePasskey = subject.store.usePasskey.bind(subject.store)
  const before = (await subject.app.authority.sessions(subject.sub)).length
  for (const [name, meanwhile] of [
    [
      'disabled',
      async () => {
        change.disabled = true
      }
    ],
    [
      'passkey removed',
      async () => {
        await subject.store.removeFactor({ userId: subject.sub, factorId: subject.factorId, keepOne: false })
      }
    ]
  ] as const) {
    subject.store.usePasskey = async (use) => {
      const used = await usePasskey(use)
      await meanwhile()
      return used
    }
    await refused(t, await grant(subject, await answer(subject)), name)
    t.equal(
      subject.events.filter(({ name: event }) => event === 'login_failed').at(-1)?.payload.reason,
      'changed_meanwhile',
      name
    )
    change.disabled = false
    t.equal((await subject.app.authority.sessions(subject.sub)).length, before)
  }
  subject.store.usePasskey = usePasskey
  await refused(t, await grant(subject, await answer(subject)), 'gone for good')
  t.equal(subject.events.filter(({ name }) => name === 'login_failed').at(-1)?.payload.reason, 'unknown_passkey')
})

t.test('answers 503 during an outage of the factor store, and accepts the same answer afterwards', async (t) => {
  const subject = await passkeyApp(t)
  const given = await answer(subject)
  for (const method of ['findByHandle', 'usePasskey', 'findFactors'] as Array<keyof FactorStore>) {
    subject.broken.add(method)
    t.equal((await grant(subject, method === 'findFactors' ? await answer(subject) : given)).statusCode, 503, method)
    subject.broken.delete(method)
  }
  t.equal((await grant(subject, given)).statusCode, 200)
  t.equal((await subject.app.authority.sessions(subject.sub)).length, 2)
})

// covers PG-03
t.test('allows the passkey grant only to clients of the password grant, and only with passkeys on', async (t) => {
  const own = {
    clientId: 'own',
    clientSecret: SECRET,
    grantTypes: ['password', 'refresh_token'] as Array<'password' | 'refresh_token'>,
    scopes: ['openid']
  }
  const subject = await passkeyApp(t, {
    keys: KEYS,
    clients: [...CLIENTS, own, { clientId: 'codes', clientSecret: SECRET }]
  })
  t.match((await grant(subject, await answer(subject), {}, basic('codes', SECRET))).json(), {
    error: 'unauthorized_client'
  })
  t.match((await grant(subject, await answer(subject), { scope: 'profile' }, basic('own', SECRET))).json(), {
    error: 'invalid_scope'
  })
  t.match(claimsOf(await grant(subject, await answer(subject), {}, basic('own', SECRET))), {
    client_id: 'own',
    scope: 'openid'
  })
  t.match((await grant(subject, '{}', {}, basic('own', SECRET))).json(), REFUSED)
  t.match(subject.events.at(-1), { name: 'login_failed', payload: { clientId: 'own' } })
  const { grant_types_supported: grants, acr_values_supported: acr } = (
    await subject.app.inject('/.well-known/openid-configuration')
  ).json<Record<string, string[]>>()
  t.ok(grants?.includes(PASSKEY_GRANT))
  t.same(acr, ['password', 'mfa', 'phr'])

  for (const options of [
    { passwordGrant: false as const },
    { factors: undefined },
    { passkeys: false as const },
    { issuer: 'http://127.0.0.1:3000' }
  ]) {
    const app = Fastify()
    await app.register(authPlugin, {
      issuer: ISSUER,
      users: memoryUserStore(),
      factors: memoryFactorStore(),
      keys: KEYS,
      ...options
    })
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: PASSKEY_GRANT, credential: '{}' }
    })
    t.match(reply.json(), { error: 'unsupported_grant_type' }, JSON.stringify(options))
    t.equal((await app.inject('/auth/passkey-challenge')).statusCode, 'passwordGrant' in options ? 200 : 404)
    t.notOk((await app.inject('/.well-known/oauth-authorization-server')).body.includes(PASSKEY_GRANT))
    await app.close()
  }
})

// covers PG-03
t.test('rejects a third-party client, and with passwordGrant "clients" a request without a client', async (t) => {
  const password = ['password'] as Array<'password'>
  const subject = await passkeyApp(t, {
    keys: KEYS,
    clients: {
      findById: async (clientId) =>
        clientId === 'foreign'
          ? { clientId, clientSecret: SECRET, firstParty: false, grantTypes: password, redirectUris: [] }
          : null
    }
  })
  t.match((await grant(subject, await answer(subject), {}, basic('foreign', SECRET))).json(), {
    error: 'unauthorized_client',
    error_description: /first-party/
  })
  const closed = await testApp({ factors: memoryFactorStore(), passwordGrant: 'clients' })
  t.teardown(closed.close)
  t.match((await grant(closed as never, '{}')).json(), {
    error: 'unauthorized_client',
    error_description: /registered clients/
  })
})

// covers LIM-02
t.test('counts failed passkeys by IP address, so that strangers lock no user out', async (t) => {
  const subject = await passkeyApp(t, { rateLimit: { refresh: { max: 3 }, secondFactor: { max: 2 } } })
  const stranger = softPasskey({ origin: ISSUER })
  const { access_token: strong } = (await grant(subject, await answer(subject))).json<{ access_token: string }>()
  stranger.create(await creationOptions(subject, strong))
  const bad = async (): Promise<SoftAssertion> => stranger.get(await signInOptions(subject))
  const from = async (remoteAddress: string, credential: object): Promise<number> =>
    (
      await subject.app.inject({
        method: 'POST',
        url: '/auth/token',
        remoteAddress,
        payload: { grant_type: PASSKEY_GRANT, credential: JSON.stringify(credential) }
      })
    ).statusCode
  t.same(
    [
      await from('192.0.2.1', await bad()),
      await from('192.0.2.1', await bad()),
      await from('192.0.2.1', await bad()),
      await from('192.0.2.1', await bad())
    ],
    [400, 400, 400, 429]
  )
  t.equal(await from('192.0.2.1', await answer(subject)), 200, 'what is good is never refused')
  t.equal(await from('192.0.2.2', await answer(subject)), 200)

  const { mfa_token: ticket, passkey_options: options } = await asked(subject)
  const foreign = stranger.get({ ...options, allowCredentials: [] })
  t.same(
    [
      (await finish(subject, ticket, foreign)).statusCode,
      (await finish(subject, ticket, foreign)).statusCode,
      (await finish(subject, ticket, foreign)).statusCode
    ],
    [400, 400, 400]
  )
  t.equal((await finish(subject, ticket, foreign)).statusCode, 429, 'its failures count by address')
  t.equal(
    (await finish(subject, ticket, subject.passkey.get(options))).statusCode,
    200,
    'what is good is never refused'
  )
  t.equal(await from('192.0.2.2', await answer(subject)), 200, 'and the passkey alone still signs in')
  t.equal(subject.messages.messages.filter(({ kind }) => kind === 'second_factor_failed').length, 1)
})

/** An authenticator that verifies its user when the test says so. */
function moody(): {
  create(options: PasskeyCreationOptions, userVerified: boolean): object
  get(options: PasskeyRequestOptions, userVerified: boolean, userHandle: string): SoftAssertion
} {
  const [key, credentialId] = [softKey(-7), Buffer.from('of the moody one')]
  const id = credentialId.toString('base64url')
  const flags = (userVerified: boolean): SoftFlags => ({
    userPresent: true,
    userVerified,
    backupEligible: false,
    backedUp: false
  })
  return {
    create({ challenge }, userVerified) {
      const authData = authenticatorData({
        rpId: 'localhost',
        flags: flags(userVerified),
        signCount: 0,
        attested: { aaguid: Buffer.alloc(16), credentialId, key }
      })
      const client = clientData({ type: 'webauthn.create', challenge, origin: ISSUER })
      return {
        id,
        type: 'public-key',
        response: {
          clientDataJSON: client.toString('base64url'),
          attestationObject: encodeCbor(new Map([['authData', authData]])).toString('base64url')
        }
      }
    },
    get({ challenge }, userVerified, userHandle) {
      const data = authenticatorData({ rpId: 'localhost', flags: flags(userVerified), signCount: 0 })
      const client = clientData({ type: 'webauthn.get', challenge, origin: ISSUER })
      return {
        id,
        type: 'public-key',
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: signAssertion(key, data, client).toString('base64url'),
          userHandle
        }
      }
    }
  }
}

// covers PK-07 PK-17
t.test('requires user verification of a passkey, and rejects a security key without a password', async (t) => {
  for (const kind of ['passkey', 'security_key'] as const) {
    const subject = await passkeyApp(t)
    const { access_token: strong } = (await grant(subject, await answer(subject))).json<{ access_token: string }>()
    const one = moody()
    const options = await creationOptions(subject, strong, kind)
    t.equal(
      (await post(subject, '/auth/factors/passkeys', { credential: one.create(options, kind === 'passkey') }, strong))
        .statusCode,
      201
    )
    await refused(
      t,
      await grant(subject, one.get(await signInOptions(subject), false, options.user.id)),
      `${kind}, not verified`
    )
    const verified = await grant(subject, one.get(await signInOptions(subject), true, options.user.id))
    t.equal(verified.statusCode, kind === 'passkey' ? 200 : 400, `${kind}, verified`)
    const { mfa_token: ticket, passkey_options: second } = await asked(subject)
    t.equal(
      (await finish(subject, ticket, one.get(second, false, options.user.id))).statusCode,
      kind === 'passkey' ? 400 : 200,
      `${kind} beside a password, not verified`
    )
  }
})
