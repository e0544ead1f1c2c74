import t from '../../support/tap.ts'
import { idTokens } from '../../../lib/tokens/id-tokens.ts'
import { systemRandom } from '../../../lib/adapters/node/system.ts'
import { accessTokenHash } from '../../../lib/protocol/id-token.ts'
import { decodeJwt, encodePart } from '../../support/jwt.ts'
import { ann, ISSUER, keyOf, world } from './world.ts'

const spa = { clientId: 'spa' }
const subject = {
  user: ann,
  client: spa,
  scopes: ['openid', 'profile', 'email'],
  authentication: { acr: 'password', amr: ['pwd'], authenticatedAt: Date.UTC(2025, 0, 1) },
  sid: 's1',
  accessToken: 'a.b.c'
}

// covers OIDF-oidcc-server OIDC-5.4
t.test('puts no scope claims into an ID token', async (t) => {
  const { idTokens } = await world()
  const { header, claims } = decodeJwt(await idTokens.mint({ ...subject, nonce: 'n' }))
  t.strictSame(header, { alg: 'RS256', typ: 'JWT', kid: (await keyOf('RS256')).kid })
  t.strictSame(
    Object.keys(claims).toSorted((a, b) => a.localeCompare(b)),
    ['acr', 'amr', 'at_hash', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'nonce', 'sid', 'sub']
  )
  t.match(claims, {
    iss: ISSUER,
    sub: 'u1',
    aud: 'spa',
    nonce: 'n',
    sid: 's1',
    at_hash: accessTokenHash('a.b.c', 'RS256')
  })
})

// covers OIDF-oidcc-claims-essential OIDC-5.5
t.test('adds the claims requested in the id_token member, and ignores the userinfo member', async (t) => {
  const { idTokens } = await world()
  const { claims } = decodeJwt(
    await idTokens.mint({
      ...subject,
      claims: {
        id_token: { email: { essential: true }, phone_number: null, nickname: null, sub: null, exp: { value: 5 } },
        userinfo: { name: null }
      }
    })
  )
  t.equal(claims['email'], 'ann@example.com')
  t.equal(claims['phone_number'], '+41', 'whatever the scope')
  t.notOk('nickname' in claims || 'name' in claims)
  t.equal(claims['sub'], 'u1')
  t.not(claims['exp'], 5)
})

t.test('adds custom claims of the host, and standard claims of the host only if requested', async (t) => {
  const uses: unknown[] = []
  const { idTokens } = await world({
    claims: (user, context) => {
      uses.push({ user: user.id, ...context })
      return {
        role: 'admin',
        name: 'Dr Ann',
        'name#de': 'Frau Ann',
        email: undefined,
        sub: 'other',
        aud: 'evil',
        nonce: 'forged',
        events: {}
      }
    }
  })
  const { claims } = decodeJwt(await idTokens.mint({ ...subject, claims: { id_token: { name: null, email: null } } }))
  t.match(claims, { role: 'admin', name: 'Dr Ann', sub: 'u1', aud: 'spa' })
  for (const name of ['email', 'nonce', 'events', 'name#de']) t.notOk(name in claims, name)
  t.notOk('name' in decodeJwt(await idTokens.mint(subject)).claims, 'a standard one only where it was asked for')
  t.match(uses[0], { user: 'u1', scopes: subject.scopes, client: spa, use: 'id_token' })
})

t.test('signs with the algorithm of the client, otherwise with RS256, otherwise with the first key', async (t) => {
  const cases = [
    [['ES256', 'RS256'], undefined, 'RS256'],
    [['ES256', 'RS256'], 'ES256', 'ES256'],
    [['EdDSA', 'ES256'], undefined, 'EdDSA'],
    [['EdDSA', 'ES256'], 'ES256', 'ES256']
  ] as const
  for (const [algs, idTokenSignedResponseAlg, alg] of cases) {
    const { idTokens } = await world({ algs: [...algs] })
    const client = { ...spa, ...(idTokenSignedResponseAlg === undefined ? {} : { idTokenSignedResponseAlg }) }
    await idTokens.ready(client)
    const { header, claims } = decodeJwt(await idTokens.mint({ ...subject, client }))
    t.equal(header['alg'], alg)
    t.equal(claims['at_hash'], accessTokenHash('a.b.c', alg))
    t.equal(decodeJwt(await idTokens.mintLogoutToken({ client, userId: 'u1', sid: 's1' })).header['alg'], alg)
  }
  const { idTokens } = await world({ algs: ['ES256'] })
  await t.rejects(
    idTokens.ready({ ...spa, idTokenSignedResponseAlg: 'PS256' }),
    { error: 'server_error' } as unknown as Error,
    'never another than was registered'
  )
})

// covers OIDF-oidcc-id-token-hint
t.test('reads an ID token as a hint after its expiry and under another key of the server', async (t) => {
  const { idTokens, clock, ring } = await world()
  const token = await idTokens.mint(subject)
  t.strictSame(await idTokens.readHint(token), { sub: 'u1', aud: 'spa', sid: 's1' })
  clock.step(30 * 86_400_000)
  t.strictSame(await idTokens.readHint(token), { sub: 'u1', aud: 'spa', sid: 's1' })
  t.strictSame(await idTokens.readHint(ring.signingKey('ES256').sign(decodeJwt(token).claims, 'JWT')), {
    sub: 'u1',
    aud: 'spa',
    sid: 's1'
  })
})

// covers R8725-3.11 RPI-Logout-2
t.test('refuses other tokens and forged ID tokens as hints', async (t) => {
  const { idTokens, ring, signIn } = await world()
  const good = await idTokens.mint(subject)
  const [header = '', payload = '', signature = ''] = good.split('.')
  const { claims } = decodeJwt(good)
  const key = ring.signingKey('RS256')
  const foreign = await keyOf('PS256')
  const { accessToken, refreshToken } = await signIn()
  const cases: Record<string, string> = {
    empty: '',
    garbage: 'x.y.z',
    long: `${header}.${payload}.${'A'.repeat(9000)}`,
    'an access token': accessToken,
    'the same claims as an access token': key.sign(claims, 'at+jwt'),
    'a refresh token': refreshToken,
    'a logout token': await idTokens.mintLogoutToken({ client: spa, userId: 'u1', sid: 's1' }),
    'alg none': `${encodePart({ alg: 'none', typ: 'JWT', kid: key.kid })}.${payload}.`,
    'another alg of the same key': `${encodePart({ alg: 'PS256', typ: 'JWT', kid: key.kid })}.${payload}.${signature}`,
    'no kid': `${encodePart({ alg: 'RS256', typ: 'JWT' })}.${payload}.${signature}`,
    'a key of its own': `${encodePart({ alg: 'RS256', typ: 'JWT', kid: key.kid, jwk: key.publicJwk })}.${payload}.${signature}`,
    'a foreign key': foreign.sign(claims, 'JWT'),
    'a foreign key under our kid': `${encodePart({ alg: 'RS256', typ: 'JWT', kid: key.kid })}.${foreign.sign(claims, 'JWT').split('.').slice(1).join('.')}`,
    'other claims': `${header}.${encodePart({ ...claims, sub: 'u2' })}.${signature}`,
    'another issuer': key.sign({ ...claims, iss: 'https://evil.example' }, 'JWT'),
    'no subject': key.sign({ ...claims, sub: undefined }, 'JWT')
  }
  for (const [name, token] of Object.entries(cases)) t.equal(await idTokens.readHint(token), null, name)
})

t.test('reloads the keys for a hint with an unknown key, and rejects if the store is down', async (t) => {
  const { clock } = await world()
  const es256 = await keyOf('ES256')
  let known = false
  let down = false
  const { idTokens: reader, ring } = await world({
    ring: (ring) => ({
      ...ring,
      findForHint: async (kid) => (known ? ring.find(kid) : undefined),
      async refresh() {
        if (down) throw new Error('keys are down')
        known = true
      }
    })
  })
  const token = await idTokens(
    { issuer: ISSUER, expiresInSeconds: 900, claims: 'requested' },
    { ring, clock, random: systemRandom(), claims: null, scopes: ['openid'] }
  ).mint({ ...subject, client: { ...spa, idTokenSignedResponseAlg: es256.alg } })
  down = true
  await t.rejects(reader.readHint(token), { message: 'keys are down' })
  down = false
  t.match(await reader.readHint(token), { sub: 'u1' })
})

// covers BCL-2.4
t.test('makes a logout token with the claims of the specification', async (t) => {
  const { idTokens, clock } = await world()
  const mint = async (): Promise<ReturnType<typeof decodeJwt>> =>
    decodeJwt(await idTokens.mintLogoutToken({ client: spa, userId: 'u1', sid: 's1' }))
  const { header, claims } = await mint()
  t.strictSame(header, { alg: 'RS256', typ: 'logout+jwt', kid: (await keyOf('RS256')).kid })
  t.match(claims, {
    iss: ISSUER,
    aud: 'spa',
    sub: 'u1',
    sid: 's1',
    iat: clock.now() / 1000,
    exp: clock.now() / 1000 + 120
  })
  t.strictSame(Object.keys(claims['events'] as object), ['http://schemas.openid.net/event/backchannel-logout'])
  t.notOk('nonce' in claims)
  t.not((await mint()).claims['jti'], claims['jti'])
})
