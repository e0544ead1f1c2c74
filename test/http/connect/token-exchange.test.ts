/**
 * ID tokens that an app got by the provider's own library, exchanged for tokens of this service: over HTTP, against a
 * provider with real keys.
 */
import { createHash, createHmac, createPublicKey } from 'node:crypto'
import t, { type Test } from '../../support/tap.ts'
import { type AuthorityOptions, type Client, memoryState, memoryUserStore } from '../../../lib/index.ts'
import { oauth2, oidc } from '../../../lib/connections/index.ts'
import { TOKEN_EXCHANGE_GRANT } from '../../../lib/protocol/request-params.ts'
import { delayed } from '../../../lib/testing/index.ts'
import { bearer, PASSWORD, signUp, testApp, type TestApp } from '../../support/app.ts'
import { SECRET as OWN_SECRET } from '../../support/fake-upstream.ts'
import { decodeJwt } from '../../support/jwt.ts'
import { KEYS } from '../../support/openid.ts'
import {
  openidServer,
  type OpenidServer,
  type OpenidSwitches,
  signedToken,
  signingKey
} from '../../support/upstream/openid-server.ts'

const APP = 'com.example.app'
const NONCE = 'a-nonce-of-the-app'
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token'
const PHONE = { clientId: 'phone', grantTypes: [TOKEN_EXCHANGE_GRANT, 'refresh_token'] } as const
const CLIENTS: AuthorityOptions['clients'] = [
  { ...PHONE, grantTypes: [...PHONE.grantTypes] },
  { clientId: 'web', redirectUris: ['https://app.example.com/'] },
  {
    clientId: 'server',
    clientSecret: 'the secret of a server with more than 32 bytes',
    grantTypes: [TOKEN_EXCHANGE_GRANT]
  }
]
/** The claims or the header of a JWT. */
type Claims = Record<string, unknown>

interface Exchange extends TestApp {
  provider: OpenidServer
  /** The provider's ID token for the app. `undefined` takes a claim out. */
  idToken(claims?: Claims, options?: { key?: ReturnType<typeof signingKey>; header?: Claims }): string
  exchange(
    token: string,
    more?: Record<string, string | undefined>,
    headers?: Record<string, string>
  ): Promise<{
    status: number
    body: Record<string, unknown> & { access_token: string; refresh_token: string; id_token: string }
    headers: Record<string, unknown>
  }>
  payloads(name: string): Array<Record<string, unknown>>
}

async function exchangeApp(
  t: Test,
  {
    connection = {},
    switches = {},
    ...options
  }: Partial<AuthorityOptions> & {
    connection?: Partial<Parameters<typeof oidc>[0]>
    switches?: Partial<OpenidSwitches>
  } = {}
): Promise<Exchange> {
  const provider = await openidServer(switches)
  const other = { id: 'other', issuer: 'https://other.example.com', clientId: 'us', clientSecret: 's' }
  const test = await testApp({
    secret: OWN_SECRET,
    keys: KEYS,
    clients: CLIENTS,
    connections: [
      oidc({
        id: 'acme',
        issuer: provider.issuer,
        clientId: 'us',
        clientSecret: 'our-secret',
        audiences: [APP, 'com.example.other'],
        ...connection
      }),
      oidc({ ...other, audiences: [APP] }),
      oidc({ ...other, id: 'none', issuer: 'https://none.example.com' })
    ],
    ...options
  })
  t.teardown(async () => {
    await test.close()
    await provider.close()
  })
  return {
    ...test,
    provider,
    idToken(claims = {}, { key = provider.is.key, header = {} } = {}) {
      const iat = Math.floor(test.clock.now() / 1000)
      return signedToken(
        Object.fromEntries(
          Object.entries({
            iss: provider.issuer,
            sub: 'person-1',
            aud: APP,
            iat,
            exp: iat + 3600,
            nonce: NONCE,
            email: 'ann@example.com',
            email_verified: true,
            name: 'Ann',
            ...claims
          }).filter(([, value]) => value !== undefined)
        ),
        key,
        header
      )
    },
    async exchange(token, more = {}, headers = {}) {
      const payload = Object.fromEntries(
        Object.entries({
          grant_type: TOKEN_EXCHANGE_GRANT,
          client_id: 'phone',
          connection: 'acme',
          subject_token: token,
          subject_token_type: ID_TOKEN,
          nonce: NONCE,
          ...more
        }).filter(([, value]) => value !== undefined)
      )
      const reply = await test.app.inject({ method: 'POST', url: '/auth/token', payload, headers })
      return { status: reply.statusCode, body: reply.json(), headers: reply.headers }
    },
    payloads: (name) => test.events.filter((event) => event.name === name).map(({ payload }) => payload)
  }
}

// covers FED-25
t.test('exchanges an ID token for tokens of a new user, and a later one for tokens of the same user', async (t) => {
  const test = await exchangeApp(t)
  const first = await test.exchange(test.idToken(), { scope: 'openid profile offline_access' })
  t.equal(first.status, 200, JSON.stringify(first.body))
  t.match(first.headers['cache-control'], /no-store/)
  const { access_token: access, refresh_token: refresh, id_token: idToken, ...rest } = first.body
  t.strictSame(rest, {
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    token_type: 'Bearer',
    expires_in: 900,
    scope: 'openid profile offline_access'
  })
  const { claims } = decodeJwt(access)
  t.match(claims, { client_id: 'phone', acr: 'connection' })
  t.equal(claims['amr'], undefined, 'this service has not seen how')
  t.match(decodeJwt(idToken).claims, { sub: claims.sub, aud: 'phone', nonce: NONCE, acr: 'connection' })
  t.match(test.payloads('registered'), [{ userId: claims.sub, username: 'ann@example.com' }])
  t.match(test.payloads('authenticated'), [
    { userId: claims.sub, clientId: 'phone', method: 'connection', connection: 'acme', methods: ['connection'] }
  ])
  t.match(test.payloads('token_issued'), [{ grantType: 'token_exchange' }])
  test.clock.step(1000)
  const again = await test.exchange(test.idToken({ email: 'moved@example.com' }), { scope: 'profile' })
  t.equal(decodeJwt(again.body.access_token).claims.sub, claims.sub, 'by the subject, whatever the address is now')
  t.equal(again.body.id_token, undefined)
  const refreshed = await test.app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'refresh_token', client_id: 'phone', refresh_token: refresh }
  })
  t.match(decodeJwt(refreshed.json<{ id_token: string }>().id_token).claims, { sub: claims.sub, acr: 'connection' })
  t.equal(
    (await test.app.inject({ url: '/auth/userinfo', headers: bearer(access) })).json<{ name: string }>().name,
    'Ann'
  )
  t.equal((await test.app.authority.identities(String(claims.sub)))[0]?.connection, 'acme')
})

// covers FED-25
t.test('accepts the nonce or its SHA-256 in hexadecimal, and none if the connection allows that', async (t) => {
  const test = await exchangeApp(t)
  const hashed = createHash('sha256').update(NONCE).digest('hex')
  const cases: Array<[string, unknown, string | undefined, string]> = [
    ['equal', NONCE, NONCE, 'ok'],
    ['hashed', hashed, NONCE, 'ok'],
    ['the hash in upper case', hashed.toUpperCase(), NONCE, 'invalid_grant'],
    ['another', 'another', NONCE, 'invalid_grant'],
    ['none in the token', undefined, NONCE, 'invalid_grant'],
    ['an empty one', '', NONCE, 'invalid_grant'],
    ['a number', 7, '7', 'invalid_grant'],
    ['the app names the hash', NONCE, hashed, 'invalid_grant'],
    ['the app names none', NONCE, undefined, 'invalid_request'],
    ['the app names an empty one', NONCE, '', 'invalid_request']
  ]
  const outcome = async (subject: Exchange, claimed: unknown, named: string | undefined): Promise<unknown> => {
    subject.clock.step(1000)
    const { status, body } = await subject.exchange(subject.idToken({ nonce: claimed }), { nonce: named })
    return status === 200 ? 'ok' : body['error']
  }
  for (const [name, claimed, named, expected] of cases) t.equal(await outcome(test, claimed, named), expected, name)
  const without = await exchangeApp(t, { connection: { appNonce: false } })
  t.equal(await outcome(without, undefined, undefined), 'ok')
  t.equal(await outcome(without, NONCE, NONCE), 'ok')
  for (const [claimed, named] of [
    [NONCE, undefined],
    [undefined, NONCE],
    [NONCE, 'another']
  ] as const)
    t.equal(await outcome(without, claimed, named), 'invalid_grant', 'one that is there must fit')
})

// covers FED-25 ADV-CVE-2026-55669 ADV-GHSA-wxg7
t.test('rejects invalid ID tokens with one error text, and creates no user', async (t) => {
  const test = await exchangeApp(t)
  const { key } = test.provider.is
  const stranger = signingKey()
  const rs = signingKey('RS256')
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = Math.floor(test.clock.now() / 1000)
  const good = test.idToken()
  const [, payload = ''] = good.split('.')
  const hs = (secret: string | Buffer, kid = key.kid): string => {
    const input = `${part({ alg: 'HS256', kid })}.${payload}`
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }
  const tokens: Record<string, string> = {
    'the client of the callback': test.idToken({ aud: 'us' }),
    'another app': test.idToken({ aud: 'com.evil.app' }),
    'no aud': test.idToken({ aud: undefined }),
    'an empty aud': test.idToken({ aud: [] }),
    'aud is an object': test.idToken({ aud: { [APP]: 1 } }),
    'several audiences without azp': test.idToken({ aud: [APP, 'com.example.other'] }),
    'azp of another': test.idToken({ aud: [APP, 'com.example.other'], azp: 'com.evil.app' }),
    'an audience beside ours': test.idToken({ aud: [APP, 'com.evil.app'], azp: APP }),
    'no iat': test.idToken({ iat: undefined }),
    'iat is a text': test.idToken({ iat: String(now) }),
    '301 s old': test.idToken({ iat: now - 301 }),
    'from the future': test.idToken({ iat: now + 61, exp: now + 3600 }),
    expired: test.idToken({ iat: now - 200, exp: now - 31 }),
    'no exp': test.idToken({ exp: undefined }),
    'not valid yet': test.idToken({ nbf: now + 3600 }),
    'no sub': test.idToken({ sub: undefined }),
    'sub is a number': test.idToken({ sub: 7 }),
    'an empty sub': test.idToken({ sub: '' }),
    'a NUL in sub': test.idToken({ sub: 'a\0b' }),
    'half a character in sub': test.idToken({ sub: '\ud800' }),
    'another issuer': test.idToken({ iss: 'https://other.example.com' }),
    'no issuer': test.idToken({ iss: undefined }),
    'alg none': `${part({ alg: 'none' })}.${payload}.`,
    'alg none in other letters': `${part({ alg: 'nOnE' })}.${payload}.`,
    'HS256 with the secret of the client': hs('our-secret'),
    'HS256 with the public key in PEM': hs(
      createPublicKey({ key: key.jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
    ),
    'HS256 with the public key as JSON': hs(JSON.stringify(key.jwk)),
    'a key of nobody': test.idToken({}, { key: stranger }),
    'a key of nobody under the known kid': test.idToken({}, { key: { ...stranger, kid: key.kid } }),
    'a key that the token brings along': test.idToken(
      {},
      { key: { ...stranger, kid: key.kid }, header: { jwk: stranger.jwk, jku: `${test.provider.origin}/keys` } }
    ),
    'another algorithm under the known kid': test.idToken({}, { key: { ...rs, kid: key.kid } }),
    'an access token of the provider': test.idToken({}, { header: { typ: 'at+jwt' } }),
    'a logout token of the provider': test.idToken({
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} }
    }),
    'a crit header': test.idToken({}, { header: { crit: ['b64'], b64: false } }),
    'a tampered payload': [
      good.split('.')[0],
      part({ ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object), sub: 'admin' }),
      good.split('.')[2]
    ].join('.'),
    'no signature': `${good.split('.').slice(0, 2).join('.')}.`,
    'two parts': good.split('.').slice(0, 2).join('.'),
    'five parts, as encrypted ones have': `${good}.a.b`,
    'no JWT': 'an-opaque-access-token',
    'null as claims': `${part({ alg: 'ES256' })}.${part(null)}.x`
  }
  for (const [name, token] of Object.entries(tokens)) {
    const { status, body } = await test.exchange(token)
    t.strictSame(
      { status, error: body['error'], description: body['error_description'] },
      {
        status: 400,
        error: 'invalid_grant',
        description: 'The subject_token is invalid, expired or used, or is not for this connection.'
      },
      name
    )
  }
  t.strictSame(
    [...new Set(test.payloads('connection_failed').map(({ reason }) => reason))],
    ['id_token', 'userinfo'],
    'an empty subject is no subject'
  )
  t.equal(test.payloads('connection_failed').length, Object.keys(tokens).length)
  t.strictSame(test.payloads('registered'), [])
  t.equal((await test.exchange(good)).status, 200, 'and the one that all were made of is good')
})

// covers FED-25
t.test('accepts an ID token issued at most 300 seconds ago or 60 seconds ahead', async (t) => {
  const test = await exchangeApp(t)
  const now = Math.floor(test.clock.now() / 1000)
  for (const [claims, status] of [
    [{ iat: now - 300 }, 200],
    [{ iat: now - 301 }, 400],
    [{ iat: now + 60 }, 200],
    [{ iat: now + 61 }, 400]
  ] as const)
    t.equal((await test.exchange(test.idToken(claims))).status, status, JSON.stringify(claims))
})

// covers FED-25 ADV-CVE-2025-46815
t.test('accepts an ID token once, also in 50 parallel requests or with another signature', async (t) => {
  for (const state of [memoryState(), delayed(memoryState())]) {
    const test = await exchangeApp(t, { state })
    const token = test.idToken()
    const replies = await Promise.all(Array.from({ length: 50 }, async () => await test.exchange(token)))
    t.equal(replies.filter(({ status }) => status === 200).length, 1)
    t.equal(replies.filter(({ body }) => body['error'] === 'invalid_grant').length, 49)
    t.equal(test.payloads('authenticated').length, 1)
    // Anybody can turn an ECDSA signature (r, s) into the equally valid (r, n - s).
    const n = BigInt('0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551')
    const [header, payload, signature = ''] = token.split('.')
    const bytes = Buffer.from(signature, 'base64url')
    const s = n - BigInt(`0x${bytes.subarray(32).toString('hex')}`)
    const twin = [
      header,
      payload,
      Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')]).toString('base64url')
    ].join('.')
    t.equal((await test.exchange(twin)).status, 400, 'its twin is the same token')
    for (const spelling of [`${token}=`, `${token}==`, `${token}A`])
      t.equal((await test.exchange(spelling)).status, 400, 'and so is another spelling')
    test.clock.step(360_000)
    await test.app.inject('/me')
    t.equal((await test.exchange(token)).status, 400, 'too old by the time it is forgotten')
  }
})

// covers FED-25
t.test('accepts only clients that list the grant, and rejects missing or wrong parameters', async (t) => {
  const test = await exchangeApp(t)
  const refusals: Array<[string, Record<string, string | undefined>, number, string]> = [
    ['no client', { client_id: undefined }, 401, 'invalid_client'],
    ['an unknown client', { client_id: 'nobody' }, 401, 'invalid_client'],
    ['a client that does not list the grant', { client_id: 'web' }, 400, 'unauthorized_client'],
    ['a server without its secret', { client_id: 'server' }, 401, 'invalid_client'],
    ['no token', { subject_token: undefined }, 400, 'invalid_request'],
    ['no type', { subject_token_type: undefined }, 400, 'invalid_request'],
    [
      'an access token',
      { subject_token_type: 'urn:ietf:params:oauth:token-type:access_token' },
      400,
      'invalid_request'
    ],
    ['a JWT of whatever kind', { subject_token_type: 'urn:ietf:params:oauth:token-type:jwt' }, 400, 'invalid_request'],
    [
      'a refresh token asked for',
      { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
      400,
      'invalid_request'
    ],
    ['an actor', { actor_token: 'x', actor_token_type: ID_TOKEN }, 400, 'invalid_request'],
    ['the type of an actor', { actor_token_type: ID_TOKEN }, 400, 'invalid_request'],
    ['no connection', { connection: undefined }, 400, 'invalid_request'],
    ['an unknown connection', { connection: 'nobody' }, 400, 'invalid_request'],
    ['a name of every object', { connection: '__proto__' }, 400, 'invalid_request'],
    ['a connection without audiences', { connection: 'none' }, 400, 'invalid_request'],
    ['the token of another connection', { connection: 'other' }, 400, 'invalid_grant'],
    ['a scope that there is not', { scope: 'admin' }, 400, 'invalid_scope'],
    ['a huge nonce', { nonce: 'x'.repeat(513) }, 400, 'invalid_request']
  ]
  for (const [name, more, status, error] of refusals) {
    test.clock.step(1000)
    const token = test.idToken()
    const reply = await test.exchange(token, more)
    t.strictSame([reply.status, reply.body['error']], [status, error], name)
    t.equal((await test.exchange(token)).status, 200, `${name}: the token is still good`)
  }
  const huge = await test.exchange('x'.repeat(20_000))
  t.strictSame([huge.status, huge.body['error']], [413, 'invalid_request'])
  t.equal((await test.exchange(test.idToken({ padding: 'x'.repeat(15_000) }))).status, 413)
  t.equal((await test.exchange(test.idToken({ padding: 'x'.repeat(9000) }))).status, 200)
  const twice = await test.app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: `grant_type=${TOKEN_EXCHANGE_GRANT}&client_id=phone&connection=acme&connection=other&nonce=${NONCE}&subject_token_type=${ID_TOKEN}&subject_token=x`
  })
  t.equal(twice.json<{ error: string }>().error, 'invalid_request')
  const basic = `Basic ${Buffer.from('server:the secret of a server with more than 32 bytes').toString('base64')}`
  test.clock.step(1000)
  t.equal(
    (await test.exchange(test.idToken(), { client_id: undefined }, { authorization: basic })).status,
    200,
    'a server that proves itself'
  )
  const azp = test.idToken({ aud: [APP, 'com.example.other'], azp: 'com.example.other' })
  t.equal((await test.exchange(azp)).status, 200, 'several audiences, all of them ours')
  t.equal(
    (await test.exchange(test.idToken({ azp: 'the-android-client' }))).status,
    200,
    'as Google names the app of a server'
  )
})

t.test('lists the grant in the metadata if audiences are set, and rejects it otherwise', async (t) => {
  const types = async ({ app }: TestApp): Promise<string[]> =>
    (await app.inject('/.well-known/oauth-authorization-server')).json<{ grant_types_supported: string[] }>()
      .grant_types_supported
  const on = await exchangeApp(t)
  t.ok((await types(on)).includes(TOKEN_EXCHANGE_GRANT))
  // A row of a client store may list the grant at any time. For listed clients that is an error at the start.
  const off = await exchangeApp(t, {
    clients: { findById: async (id) => (CLIENTS as Client[]).find(({ clientId }) => clientId === id) ?? null },
    connections: [oidc({ id: 'acme', issuer: 'https://sso.example.com', clientId: 'us', clientSecret: 's' })]
  })
  t.notOk((await types(off)).includes(TOKEN_EXCHANGE_GRANT))
  t.strictSame((await off.exchange(on.idToken())).body['error'], 'unsupported_grant_type')
  const { assertions, ...without } = memoryState()
  t.ok(assertions)
  const refusals: Array<[Partial<AuthorityOptions>, RegExp]> = [
    [
      {
        connections: [
          oauth2({
            id: 'x',
            name: 'X',
            issuer: 'https://x.example',
            authorizationEndpoint: 'https://x.example/a',
            tokenEndpoint: 'https://x.example/t',
            clientId: 'c',
            scopes: [],
            audiences: [APP],
            identify: () => ({ subject: '1' })
          })
        ]
      },
      /connections\[0\]\.audiences/
    ],
    [
      { connections: [oidc({ id: 'x', issuer: 'https://x.example', clientId: 'c', audiences: [APP, APP] })] },
      /connections\[0\]\.audiences/
    ],
    [
      { connections: [oidc({ id: 'x', issuer: 'https://x.example', clientId: 'c', audiences: [''] })] },
      /connections\[0\]\.audiences/
    ],
    [
      {
        state: without,
        connections: [oidc({ id: 'x', issuer: 'https://x.example', clientId: 'c', audiences: [APP] })]
      },
      /state\.assertions/
    ],
    [{ clients: [{ ...PHONE, grantTypes: [...PHONE.grantTypes], firstParty: false }] }, /clients\[0\]\.grantTypes/],
    [{ state: { ...memoryState(), assertions: {} as never } }, /state\.assertions/]
  ]
  for (const [options, message] of refusals)
    await t.rejects(testApp({ secret: OWN_SECRET, ...options }), { code: 'FST_AUTHORITY_INVALID_OPTIONS', message })
})

// covers FED-25
t.test('applies the linking, registration and domain options of a connection to its ID tokens', async (t) => {
  const users = memoryUserStore()
  const test = await exchangeApp(t, { users })
  const { sub } = await signUp(test.app, 'ann@example.com')
  const asked = await test.exchange(test.idToken())
  t.strictSame([asked.status, asked.body['error']], [400, 'invalid_grant'])
  t.notMatch(JSON.stringify(asked.body), /ann|example\.com/)
  t.match(test.payloads('link_required'), [{ connection: 'acme', userId: sub }])
  t.strictSame(await test.app.authority.identities(sub), [])
  await test.app.authority.linkIdentity(sub, { issuer: test.provider.issuer, subject: 'person-1', connection: 'acme' })
  test.clock.step(1000)
  const linked = await test.exchange(test.idToken())
  t.equal(decodeJwt(linked.body.access_token).claims.sub, sub)
  await users.update(sub, { disabled: true })
  test.clock.step(1000)
  const disabled = await test.exchange(test.idToken())
  t.strictSame([disabled.status, disabled.body['error']], [400, 'invalid_grant'])
  t.match(test.payloads('connection_failed'), [{ reason: 'disabled' }])

  const closed = await exchangeApp(t, { connection: { registration: false } })
  t.match((await closed.exchange(closed.idToken())).body, { error: 'invalid_grant', error_description: /makes none/ })
  t.match(closed.payloads('connection_failed'), [{ reason: 'closed' }])
  const never = await exchangeApp(t, { connection: { linking: 'never' } })
  await signUp(never.app, 'ann@example.com')
  t.equal((await never.exchange(never.idToken())).body['error'], 'invalid_grant')
  t.match(never.payloads('connection_failed'), [{ reason: 'other_way' }])

  // covers FED-24
  const domains = await exchangeApp(t, { connection: { domains: ['acme.com'], enforce: true } })
  for (const claims of [
    { email: 'ann@example.com' },
    { email: 'ann@sub.acme.com' },
    { email: 'ann@acme.com', email_verified: false },
    { email: undefined },
    { email: 'ann@acme.com', email_verified: 'true' }
  ])
    t.equal((await domains.exchange(domains.idToken(claims))).body['error'], 'invalid_grant', JSON.stringify(claims))
  t.strictSame([...new Set(domains.payloads('connection_failed').map(({ reason }) => reason))], ['email'])
  t.equal((await domains.exchange(domains.idToken({ email: 'ann@acme.com' }))).status, 200)
})

// covers ADV-CVE-2026-3009
t.test('rejects tokens of a disabled connection without asking the provider', async (t) => {
  let on = true
  const test = await exchangeApp(t, { connection: { enabled: () => on } })
  const token = test.idToken()
  on = false
  t.equal((await test.exchange(token)).body['error'], 'invalid_grant')
  t.strictSame(test.provider.asked, [])
  t.match(test.payloads('connection_failed'), [{ reason: 'disabled' }])
  on = true
  test.clock.step(1000)
  t.equal((await test.exchange(token)).status, 200, 'and has not used the token up')
})

t.test('issues no tokens to a user who is disabled during the token exchange', async (t) => {
  const users = memoryUserStore()
  let looks = -Infinity
  const test = await exchangeApp(t, {
    users: {
      ...users,
      async findByIdentity(identity) {
        // The decision reads once. The second read comes after the commit.
        if (++looks === 2) await users.update(String(sub), { disabled: true })
        return await users.findByIdentity(identity)
      }
    }
  })
  const { sub } = decodeJwt((await test.exchange(test.idToken())).body.access_token).claims
  looks = 0
  const before = (await test.app.authority.sessions(String(sub))).length
  test.clock.step(1000)
  const reply = await test.exchange(test.idToken())
  t.strictSame([reply.status, reply.body['error']], [400, 'invalid_grant'])
  t.equal((await test.app.authority.sessions(String(sub))).length, before, 'the family is ended')
  t.equal(test.payloads('authenticated').length, 1)
})

t.test('creates one user for 50 parallel tokens of one new identity', async (t) => {
  const test = await exchangeApp(t, { users: delayed(memoryUserStore()) })
  const replies = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => await test.exchange(test.idToken({ jti: String(index) })))
  )
  t.strictSame(
    replies.map(({ status }) => status),
    replies.map(() => 200)
  )
  t.equal(new Set(replies.map(({ body }) => decodeJwt(body.access_token).claims.sub)).size, 1)
  t.equal(test.payloads('registered').length, 1)
})

// covers FED-4b
t.test('fetches the keys once in ten seconds for a hundred tokens with unknown key ids', async (t) => {
  const test = await exchangeApp(t)
  await test.exchange(test.idToken({ jti: 'first' }))
  t.equal(test.provider.count('/keys'), 1)
  const storm = async (): Promise<void> => {
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        t.equal((await test.exchange(test.idToken({}, { key: signingKey() }))).status, 400)
      })
    )
  }
  await storm()
  t.equal(test.provider.count('/keys'), 2)
  test.clock.step(9999)
  await test.exchange(test.idToken({}, { key: signingKey() }))
  t.equal(test.provider.count('/keys'), 2)
  t.equal((await test.exchange(test.idToken({ jti: 'second' }))).status, 200, 'known keys go on')
  // For a wrong audience, issuer or time, the provider is not called.
  test.clock.step(20_000)
  for (const claims of [{ aud: 'x' }, { iss: 'https://evil.example' }, { iat: 1 }, { nonce: 'x' }])
    await test.exchange(test.idToken(claims, { key: signingKey() }))
  t.equal(test.provider.count('/keys'), 2)
})

// covers FED-17
t.test('answers 503 while the provider is down, counts no failure, and accepts the token afterwards', async (t) => {
  const test = await exchangeApp(t, { rateLimit: { connect: { max: 3 } } })
  const { routes } = test.provider
  const keys = routes['GET /keys']
  routes['GET /keys'] = () => ({ status: 500, json: {} })
  const token = test.idToken()
  for (let time = 0; time < 5; time++) {
    const reply = await test.exchange(token)
    t.strictSame(
      [reply.status, reply.body['error'], reply.headers['retry-after']],
      [503, 'temporarily_unavailable', '5']
    )
  }
  t.strictSame([...new Set(test.payloads('connection_failed').map(({ reason }) => reason))], ['outage'])
  if (keys !== undefined) routes['GET /keys'] = keys
  test.clock.step(1000)
  t.equal((await test.exchange(token)).status, 200, 'it counted under no limit, and was not used up')
})

// covers FED-25
t.test('counts rejected tokens under the rate limit connect, but not accepted ones', async (t) => {
  const test = await exchangeApp(t, { rateLimit: { connect: { max: 3 } } })
  for (let time = 0; time < 5; time++) t.equal((await test.exchange(test.idToken({ jti: String(time) }))).status, 200)
  for (let time = 0; time < 3; time++) t.equal((await test.exchange(test.idToken({ aud: 'x' }))).status, 400)
  const over = await test.exchange(test.idToken())
  t.strictSame([over.status, over.body['error']], [429, 'too_many_requests'])
  t.match(test.payloads('rate_limited'), [{ rule: 'connect' }])
  t.equal(
    (
      await test.app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'refresh_token', client_id: 'phone', refresh_token: 'x' }
      })
    ).statusCode,
    400,
    'and nothing else is held back'
  )
})

t.test('answers 503 while the state store is down, and accepts the token afterwards', async (t) => {
  const state = memoryState()
  const down = { is: false }
  const test = await exchangeApp(t, {
    state: {
      ...state,
      assertions: {
        claim: async (digest, expiresAt) => {
          if (down.is) throw Object.assign(new Error('down'), { isOutage: true })
          return (await state.assertions?.claim(digest, expiresAt)) ?? 'replayed'
        }
      }
    }
  })
  const token = test.idToken()
  down.is = true
  t.equal((await test.exchange(token)).status, 503)
  t.strictSame(test.payloads('registered'), [])
  down.is = false
  t.equal((await test.exchange(token)).status, 200)
})

t.test('leaves the password of the linked user and of another user unchanged', async (t) => {
  const test = await exchangeApp(t)
  const { sub } = await signUp(test.app, 'ann@example.com')
  await signUp(test.app, 'bob@example.com')
  await test.app.authority.linkIdentity(sub, { issuer: test.provider.issuer, subject: 'person-1', connection: 'acme' })
  const { body } = await test.exchange(test.idToken())
  t.equal(decodeJwt(body.access_token).claims.sub, sub)
  for (const username of ['ann@example.com', 'bob@example.com'])
    t.equal(
      (
        await test.app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'password', username, password: PASSWORD }
        })
      ).statusCode,
      200,
      username
    )
})
