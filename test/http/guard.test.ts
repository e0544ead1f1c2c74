import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign as cryptoSign,
  type KeyObject
} from 'node:crypto'
import t from '../support/tap.ts'
import { decodeJwt, encodePart } from '../support/jwt.ts'
import { bearer, ISSUER, signIn, signUp, tellCode, testApp } from '../support/app.ts'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const KEY = { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', kid: 'k1' }

function jws(header: unknown, payload: unknown, key: KeyObject = privateKey): string {
  const input = `${encodePart(header)}.${encodePart(payload)}`
  return `${input}.${cryptoSign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

function hs256(header: unknown, payload: unknown, secret: string | Buffer): string {
  const input = `${encodePart(header)}.${encodePart(payload)}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

// covers R6750-3
t.test('answers a request without a token with 401 and a challenge without an error', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  for (const authorization of [undefined, 'Basic YTpi', 'bearertoken']) {
    const reply = await app.inject({ url: '/me', headers: authorization === undefined ? {} : { authorization } })
    t.equal(reply.statusCode, 401)
    t.equal(reply.headers['www-authenticate'], 'Bearer')
  }
  t.equal(
    (await app.inject({ url: '/me?access_token=x' })).headers['www-authenticate'],
    'Bearer',
    'R9700-4.3.2 a token in the query is not read'
  )
})

// covers R6750-3.1
t.test('rejects an empty Bearer token as malformed', async (t) => {
  const { app, close } = await testApp({}, {}, (host) => {
    host.get(
      '/optional',
      {
        errorHandler: tellCode,
        onRequest: (...args) => {
          host.authenticateOptional(...args)
        }
      },
      () => 'reached'
    )
  })
  t.teardown(close)
  for (const [method, url] of [
    ['GET', '/me'],
    ['GET', '/optional'],
    ['GET', '/auth/userinfo'],
    ['POST', '/auth/refresh']
  ] as const)
    for (const authorization of ['Bearer', 'bearer ', 'Bearer   ']) {
      const { statusCode, headers } = await app.inject({ method, url, headers: { authorization } })
      t.equal(statusCode, 401, url)
      t.equal(
        headers['www-authenticate'],
        'Bearer error="invalid_token", error_description="The token is malformed."',
        `${url} ${authorization}`
      )
    }
})

// covers A2
t.test(
  'authenticateOptional accepts a missing token but rejects a bad one; requireFirstParty rejects third-party clients',
  async (t) => {
    const { app, close, clock } = await testApp(
      { clients: [{ clientId: 'spa' }, { clientId: 'third', firstParty: false }] },
      {},
      (host) => {
        // Handlers of routes that are added before the plugin can use its decorators.
        host.get(
          '/optional',
          {
            errorHandler: tellCode,
            onRequest: (...args) => {
              host.authenticateOptional(...args)
            }
          },
          async (request) => ({ sub: request.auth?.sub ?? null })
        )
        host.get(
          '/own',
          {
            errorHandler: tellCode,
            onRequest: [
              (...args) => {
                host.authenticate(...args)
              },
              (...args) => {
                host.requireFirstParty(...args)
              }
            ]
          },
          async (request) => ({ sub: request.auth?.sub ?? null })
        )
        host.get(
          '/unguarded',
          {
            errorHandler: tellCode,
            onRequest: (...args) => {
              host.requireFirstParty(...args)
            }
          },
          async () => 'open'
        )
      }
    )
    t.teardown(close)
    const { sub } = await signUp(app)
    const { access_token: own } = await signIn(app)
    const of = async (clientId: string): Promise<string> =>
      (await app.authority.issueTokens(sub, { clientId })).access_token
    const [first, third] = [await of('spa'), await of('third')]
    const ask = async (
      url: string,
      authorization?: string
    ): Promise<[status: number, challenge: unknown, body: unknown]> => {
      const reply = await app.inject({ url, headers: authorization === undefined ? {} : { authorization } })
      return [
        reply.statusCode,
        reply.headers['www-authenticate'],
        reply.statusCode === 200 ? reply.json().sub : reply.json().error
      ]
    }
    for (const none of [undefined, 'Basic YTpi', 'bearertoken', ''])
      t.strictSame(await ask('/optional', none), [200, undefined, null], String(none))
    for (const token of [own, first, third])
      t.strictSame(await ask('/optional', `Bearer ${token}`), [200, undefined, sub])
    for (const bad of ['Bearer x', 'bearer x', `Bearer ${own}x`])
      t.match(await ask('/optional', bad), [401, /error="invalid_token"/, 'invalid_token'], bad)
    for (const token of [own, first]) t.strictSame(await ask('/own', `Bearer ${token}`), [200, undefined, sub])
    t.match(await ask('/own', `Bearer ${third}`), [403, /^Bearer error="insufficient_scope"/, 'insufficient_scope'])
    t.strictSame(await ask('/own'), [401, 'Bearer', 'invalid_token'])
    t.strictSame(
      await ask('/unguarded', `Bearer ${own}`),
      [500, undefined, 'server_error'],
      'without authenticate before it, nobody'
    )
    clock.step(901_000)
    t.match(
      await ask('/optional', `Bearer ${own}`),
      [401, /expired/, 'invalid_token'],
      'one that has expired is judged, and not ignored'
    )
  }
)

t.test('puts the claims of the token into request.auth, and returns frozen claims from verify', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  const { sub } = await signUp(app)
  const { access_token: token } = await signIn(app)
  const first = await app.inject({ url: '/me', headers: bearer(token) })
  t.equal(first.statusCode, 200)
  t.equal(first.json().sub, sub)
  t.equal(
    (await app.inject({ url: '/me', headers: { authorization: `bEaReR ${token}` } })).statusCode,
    200,
    'the scheme is case-insensitive'
  )
  const claims = await app.authority.verify(token)
  t.throws(
    () => {
      ;(claims as { sub: string }).sub = 'someone else'
    },
    TypeError,
    'claims handed to one caller can not be changed for another'
  )
})

// covers R9068-4
t.test(
  'R8725 ASVS-9.1.1 ASVS-9.2.1 rejects invalid tokens that are not in the cache with 401 invalid_token',
  async (t) => {
    const { app, clock, close } = await testApp({ keys: [KEY] })
    t.teardown(close)
    const now = Math.floor(clock.now() / 1000)
    const header = { alg: 'ES256', typ: 'at+jwt', kid: 'k1' }
    const payload = { iss: ISSUER, aud: ISSUER, sub: 'u', jti: 'j', iat: now, exp: now + 60 }
    const without = (name: string): object =>
      Object.fromEntries(Object.entries(payload).filter(([key]) => key !== name))
    const publicKey = createPublicKey(privateKey)
    const spki = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const good = jws(header, payload)
    const [h = '', p = '', s = ''] = good.split('.')
    const foreign = createPrivateKey({
      key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
      format: 'jwk'
    })
    const spare = s.slice(0, -1) + String.fromCharCode((s.at(-1) as string).charCodeAt(0) + 1)

    const bad: Record<string, string> = {
      'ASVS-9.1.2 alg none': `${encodePart({ ...header, alg: 'none' })}.${p}.`,
      'alg NoNe': `${encodePart({ ...header, alg: 'NoNe' })}.${p}.`,
      'alg empty': `${encodePart({ ...header, alg: '' })}.${p}.${s}`,
      'alg missing': jws({ typ: 'at+jwt', kid: 'k1' }, payload),
      'ADV-CVE-2023-48223 HS256 with the public PEM': hs256({ ...header, alg: 'HS256' }, payload, spki),
      'HS256 with a leading space': hs256({ ...header, alg: 'HS256' }, payload, ` ${spki}`),
      'HS256 with the empty key': hs256({ ...header, alg: 'HS256' }, payload, ''),
      'alg swapped': jws({ ...header, alg: 'ES384' }, payload),
      'foreign key': jws(header, payload, foreign),
      'ASVS-9.1.3 unknown kid': jws({ ...header, kid: 'k2' }, payload),
      'no kid': jws({ alg: 'ES256', typ: 'at+jwt' }, payload),
      'kid path': jws({ ...header, kid: '../../etc/passwd' }, payload),
      'kid __proto__': jws({ ...header, kid: '__proto__' }, payload),
      'kid object': jws({ ...header, kid: {} }, payload),
      'own jwk': jws({ ...header, jwk: publicKey.export({ format: 'jwk' }) }, payload),
      jku: jws({ ...header, jku: 'https://evil.example/jwks' }, payload),
      x5u: jws({ ...header, x5u: 'https://evil.example' }, payload),
      x5c: jws({ ...header, x5c: ['x'] }, payload),
      'ADV-CVE-2026-35042 crit': jws({ ...header, crit: ['x'], x: 1 }, payload),
      'b64 false': jws({ ...header, b64: false, crit: ['b64'] }, payload),
      'R9068-4 typ JWT': jws({ ...header, typ: 'JWT' }, payload),
      'typ missing': jws({ alg: 'ES256', kid: 'k1' }, payload),
      'typ id token': jws({ ...header, typ: 'id+jwt' }, payload),
      'iss missing': jws(header, without('iss')),
      'iss other': jws(header, { ...payload, iss: 'https://evil.example' }),
      'PyJWT-2024-53861 iss prefix': jws(header, { ...payload, iss: ISSUER.slice(0, -1) }),
      'ADV-CVE-2025-30144 iss array': jws(header, { ...payload, iss: [ISSUER] }),
      'aud missing': jws(header, without('aud')),
      'ASVS-9.2.3 aud other': jws(header, { ...payload, aud: 'https://api.example' }),
      'aud array of others': jws(header, { ...payload, aud: ['a', 'b'] }),
      'aud array with a number': jws(header, { ...payload, aud: [ISSUER, 1] }),
      'aud empty array': jws(header, { ...payload, aud: [] }),
      'exp missing': jws(header, without('exp')),
      'exp string': jws(header, { ...payload, exp: String(now + 60) }),
      'exp 1e400': jws(header, JSON.stringify({ ...payload, exp: 0 }).replace('"exp":0', '"exp":1e400')),
      'exp past': jws(header, { ...payload, exp: now - 1 }),
      'exp now': jws(header, { ...payload, exp: now }),
      'exp negative': jws(header, { ...payload, exp: -1 }),
      'iat missing': jws(header, without('iat')),
      'iat far future': jws(header, { ...payload, iat: now + 3600 }),
      'nbf future': jws(header, { ...payload, nbf: now + 3600 }),
      'nbf string': jws(header, { ...payload, nbf: '1' }),
      'sub missing': jws(header, without('sub')),
      'sub object': jws(header, { ...payload, sub: {} }),
      'jti missing': jws(header, without('jti')),
      'client_id array': jws(header, { ...payload, client_id: ['spa'] }),
      'scope array': jws(header, { ...payload, scope: ['openid'] }),
      'payload string': jws(header, '"x"'),
      'payload array': jws(header, []),
      'payload null': jws(header, 'null'),
      'payload no JSON': jws(header, '{'),
      'header no JSON': `${encodePart('{')}.${p}.${s}`,
      'header array': `${encodePart([])}.${p}.${s}`,
      'two parts': `${h}.${p}`,
      'four parts': `${good}.x`,
      'DOS five parts (JWE)': `${good}.x.y`,
      'R8725-bis dots': '.'.repeat(8000),
      'DOS 8 kB + 1': `${h}.${p}.${'A'.repeat(8193)}`,
      'DOS header over 1 kB': jws({ ...header, kid: 'k'.repeat(2000) }, payload),
      'payload bit flipped': `${h}.${encodePart({ ...payload, sub: 'v' })}.${s}`,
      'signature bit flipped': `${h}.${p}.${s.startsWith('A') ? 'B' : 'A'}${s.slice(1)}`,
      'signature short': `${h}.${p}.${s.slice(0, -4)}`,
      'signature empty': `${h}.${p}.`,
      'refresh token': `${'A'.repeat(38)}.${'A'.repeat(43)}`,
      'trailing =': `${good}=`,
      'spaces inside': good.replace('.', ' .'),
      'ADV-fast-jwt braces': '{"a":1}.{"b":2}.c'
    }
    for (const [name, token] of Object.entries(bad)) {
      const reply = await app.inject({ url: '/me', headers: bearer(token) })
      t.equal(reply.statusCode, 401, `${name}: status`)
      t.equal(reply.json().error, 'invalid_token', `${name}: error`)
      t.match(
        reply.headers['www-authenticate'],
        /^Bearer error="invalid_token", error_description="[^"]+"$/,
        `${name}: challenge`
      )
    }
    t.equal(
      (await app.inject({ url: '/me', headers: bearer(good) })).statusCode,
      200,
      'the control: a good token passes'
    )
    t.equal(
      (
        await app.inject({
          url: '/me',
          headers: bearer(jws(header, { ...payload, exp: now + 1, aud: ['other', ISSUER] }))
        })
      ).statusCode,
      200,
      'the control: exp a second ahead, aud in an array'
    )
    for (const [name, token] of Object.entries({
      spare,
      sameSignature: `${h}.${encodePart({ ...payload, sub: 'w' })}.${s}`
    })) {
      const seen = name === 'spare' ? `${h}.${p}.${token}` : token
      const reply = await app.inject({ url: '/me', headers: bearer(seen) })
      t.ok(reply.statusCode === 401 || reply.json().sub === 'u', `warm path: ${name} never changes who somebody is`)
    }
    t.equal(
      (await app.inject({ url: '/me', headers: bearer(`${h}.${encodePart({ ...payload, sub: 'w' })}.${s}`) }))
        .statusCode,
      401,
      'ADV-CVE-2026-35039 a look-alike with the same signature misses the cache'
    )
  }
)

t.test('accepts a cached token until a millisecond before its exp, and rejects it at its exp', async (t) => {
  const { app, clock, close } = await testApp({ accessToken: { expiresIn: 10 } })
  t.teardown(close)
  await signUp(app)
  const { access_token: token } = await signIn(app)
  const exp = Number(decodeJwt(token).claims.exp) * 1000
  clock.step(exp - clock.now() - 1)
  t.equal((await app.inject({ url: '/me', headers: bearer(token) })).statusCode, 200)
  clock.step(1)
  t.equal((await app.inject({ url: '/me', headers: bearer(token) })).statusCode, 401)
})

t.test('rejects a cached token at once after a revocation on this instance', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  const { sub } = await signUp(app)
  const tokens = await signIn(app)
  const other = await signIn(app)
  t.equal((await app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode, 200)
  t.ok(await app.authority.revokeSession(sub, String(decodeJwt(tokens.access_token).claims.sid)))
  t.equal((await app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode, 401)
  t.equal(
    (await app.inject({ url: '/me', headers: bearer(other.access_token) })).statusCode,
    200,
    'the other device stays signed in'
  )
  await app.authority.revokeUser(sub)
  t.equal((await app.inject({ url: '/me', headers: bearer(other.access_token) })).statusCode, 401, 'ASVS-7.4.5')
})

t.test('publishes no key set for HS256 with a shared secret', async (t) => {
  const { app, close } = await testApp({ keys: { secret: '0123456789abcdef0123456789abcdef' } })
  t.teardown(close)
  await signUp(app)
  const { access_token: token } = await signIn(app)
  t.equal(decodeJwt(token).header.alg, 'HS256')
  t.equal((await app.inject({ url: '/me', headers: bearer(token) })).statusCode, 200)
  t.equal((await app.inject('/.well-known/jwks.json')).statusCode, 404)
})

// covers ASVS-11.2.2 POL-keys
t.test('signs and verifies with EdDSA, RS256 and PS256 keys, and publishes only public keys', async (t) => {
  for (const [alg, make] of Object.entries({
    EdDSA: () => generateKeyPairSync('ed25519').privateKey,
    RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
    PS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  })) {
    const { app, close } = await testApp({ keys: [{ ...make().export({ format: 'jwk' }), alg }, KEY] })
    await signUp(app)
    const { access_token: token } = await signIn(app)
    t.equal(decodeJwt(token).header.alg, alg)
    t.equal((await app.inject({ url: '/me', headers: bearer(token) })).statusCode, 200)
    const { keys } = (await app.inject('/.well-known/jwks.json')).json()
    t.equal(keys.length, 2)
    for (const key of keys)
      t.notOk(
        ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'].some((name) => name in key),
        'OIDC-10.1 no private member'
      )
    await close()
  }
})
