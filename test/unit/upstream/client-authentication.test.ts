/** Client authentication at the token endpoint of a provider. */
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import t from '../../support/tap.ts'
import { apple, google, oauth2, oidc, type OidcOptions } from '../../../lib/connections/index.ts'
import { steppedClock } from '../../../lib/testing/index.ts'
import { type Asked, providerServer } from '../../support/upstream/provider-server.ts'
import { openidServer } from '../../support/upstream/openid-server.ts'
import { refusalOf, signInAt, upstreamOf } from '../../support/upstream/sign-in.ts'

t.test('authenticates with the method from the options, otherwise from the metadata', async (t) => {
  const server = await openidServer()
  t.teardown(async () => {
    await server.close()
  })
  const option = { id: 'up', issuer: server.issuer, clientId: 'client', clientSecret: 'a secret: with+signs/&ü' }
  const basic = `Basic ${Buffer.from('client:a+secret%3A+with%2Bsigns%2F%26%C3%BC').toString('base64')}`
  const sent = async (
    over: Partial<OidcOptions>,
    methods?: string[]
  ): Promise<{ header: string | undefined; secret: string | null }> => {
    server.is.metadata = { token_endpoint_auth_methods_supported: methods }
    await signInAt(upstreamOf(oidc({ ...option, ...over })), server.answerTo)
    const { headers, form } = server.asked.find(
      ({ url }, index) => url.pathname === '/token' && index >= server.asked.length - 4
    ) as Asked
    return { header: headers.authorization, secret: form.get('client_secret') }
  }
  t.strictSame(await sent({}, ['client_secret_basic', 'client_secret_post']), {
    header: undefined,
    secret: option.clientSecret
  })
  t.strictSame(await sent({}, ['client_secret_basic']), { header: basic, secret: null })
  t.strictSame(await sent({}), { header: basic, secret: null }, 'RFC 8414 §2: without a word on it, basic')
  t.strictSame(await sent({ clientAuthentication: 'client_secret_post' }), {
    header: undefined,
    secret: option.clientSecret
  })
  t.strictSame(await sent({ clientAuthentication: 'client_secret_basic' }, ['client_secret_post']), {
    header: basic,
    secret: null
  })
  t.strictSame(await sent({ clientSecret: undefined }), { header: undefined, secret: null }, 'a public client has PKCE')
})

t.test('authenticates with a signed assertion for each kind of key', async (t) => {
  const clock = steppedClock(Date.now())
  const server = await openidServer({ now: () => Math.floor(clock.now() / 1000) })
  t.teardown(async () => {
    await server.close()
  })
  const keys = {
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    EdDSA: generateKeyPairSync('ed25519')
  }
  const ids = new Set<unknown>()
  for (const [alg, { privateKey }] of Object.entries(keys)) {
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    await signInAt(
      upstreamOf(oidc({ id: 'up', issuer: server.issuer, clientId: 'client', privateKey: pem, keyId: 'k1' }), clock),
      server.answerTo
    )
    const form = server.asked.findLast(({ url }) => url.pathname === '/token')?.form
    const [header = '', payload = '', signature = ''] = (form?.get('client_assertion') ?? '').split('.')
    const read = (part: string): Record<string, unknown> =>
      JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
    t.ok(
      verify(
        alg === 'EdDSA' ? null : 'sha256',
        Buffer.from(`${header}.${payload}`),
        { key: createPublicKey(pem), dsaEncoding: 'ieee-p1363' },
        Buffer.from(signature, 'base64url')
      ),
      alg
    )
    const now = Math.floor(clock.now() / 1000)
    t.match(read(header), { alg, kid: 'k1' })
    t.match(read(payload), { iss: 'client', sub: 'client', aud: server.issuer, iat: now, exp: now + 60 })
    t.equal(form?.get('client_assertion_type'), 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
    t.notOk(form?.has('client_secret'))
    ids.add(read(payload)['jti'])
  }
  t.equal(ids.size, 3)
})

t.test('sends the secret of a plain OAuth 2.0 client in the body unless configured otherwise', async (t) => {
  const server = await openidServer()
  t.teardown(async () => {
    await server.close()
  })
  const option = {
    id: 'up',
    issuer: server.issuer,
    clientId: 'client',
    clientSecret: 'secret',
    scopes: [],
    authorizationEndpoint: `${server.origin}/authorize`,
    tokenEndpoint: `${server.origin}/token`,
    identify: () => ({ subject: '1' })
  }
  await signInAt(upstreamOf(oauth2(option)), server.answerTo)
  t.equal(server.asked.at(-1)?.form.get('client_secret'), 'secret')
  await signInAt(upstreamOf(oauth2({ ...option, clientAuthentication: 'client_secret_basic' })), server.answerTo)
  t.match(server.asked.at(-1)?.headers.authorization, /^Basic /)
})

// covers FED-7
t.test('revokes a refresh token at Apple with a fresh client secret, and elsewhere not at all', async (t) => {
  const server = await providerServer(
    { 'POST appleid.apple.com/auth/revoke': () => ({ body: '', type: 'text/plain' }) },
    ['appleid.apple.com']
  )
  t.teardown(async () => {
    await server.close()
  })
  const privateKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString()
  const subject = upstreamOf(apple({ clientId: 'com.example.web', teamId: 'TEAM', keyId: 'KEY', privateKey }))
  await subject.revoke('the-refresh-token')
  const { form } = server.asked.at(-1) as Asked
  t.match(Object.fromEntries(form), {
    client_id: 'com.example.web',
    token: 'the-refresh-token',
    token_type_hint: 'refresh_token'
  })
  const [, payload = ''] = (form.get('client_secret') ?? '').split('.')
  t.match(JSON.parse(Buffer.from(payload, 'base64url').toString()), {
    iss: 'TEAM',
    sub: 'com.example.web',
    aud: 'https://appleid.apple.com'
  })
  server.routes['POST appleid.apple.com/auth/revoke'] = () => ({ status: 400, json: { error: 'CANARY' } })
  t.match(await refusalOf(subject.revoke('the-refresh-token')), { reason: 'exchange' })
  const { length } = server.asked
  await upstreamOf(google({ clientId: 'c', clientSecret: 's' })).revoke('x')
  t.equal(server.asked.length, length)
})
