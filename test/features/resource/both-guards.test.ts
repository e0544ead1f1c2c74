/** One table over both guards of an API: in the process of the issuer, and in another process. */
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from '../../support/tap.ts'
import authPlugin, { memoryUserStore } from '../../../lib/index.ts'
import { fastHasher, type SteppedClock, steppedClock } from '../../../lib/testing/index.ts'
import { jws, RESOURCE, signingKey, testApi, testIssuer } from './world.ts'

const METADATA = 'https://api.example.com/.well-known/oauth-protected-resource/v1'
const DOCUMENT = '/.well-known/oauth-protected-resource/v1'
const SCOPES = ['orders:read', 'orders:write']

interface Guarded {
  app: FastifyInstance
  issuer: string
  clock: SteppedClock
  /** Signs a token with the key of the issuer. */
  token(changes?: Record<string, unknown>, header?: Record<string, unknown>): string
  /** The DPoP challenge at the end of the header. */
  proofs: string
}

async function inProcess(t: Test): Promise<Guarded> {
  const clock = steppedClock()
  const key = signingKey()
  const issuer = 'https://auth.example.com'
  const app = Fastify()
  await app.register(authPlugin, {
    issuer,
    clock,
    users: memoryUserStore(),
    password: { hasher: fastHasher() },
    keys: [{ ...key.privateKey.export({ format: 'jwk' }), alg: 'ES256', kid: key.kid }]
  })
  const api = app.protectedResource({ resource: RESOURCE, scopes: SCOPES })
  app.get('/v1/orders', { onRequest: api }, async (request) => ({ auth: request.auth, mcp: request.raw.auth }))
  app.post('/v1/orders', { onRequest: [api, api.requireScope('orders:write')] }, async () => ({}))
  app.get('/v1/fresh', { onRequest: [api, api.requireAuth({ maxAge: 60 })] }, async () => ({}))
  await app.ready()
  t.teardown(async () => {
    await app.close()
  })
  return {
    app,
    issuer,
    clock,
    proofs: '',
    token(changes = {}, header = {}) {
      const now = Math.floor(clock.now() / 1000)
      const claims = { iss: issuer, aud: RESOURCE, sub: 'u1', client_id: 'c1', scope: 'orders:read', sid: 's1' }
      return jws(
        { typ: 'at+jwt', alg: 'ES256', kid: key.kid, ...header },
        { ...claims, jti: `${Math.random()}`, iat: now, exp: now + 600, ...changes },
        key
      )
    }
  }
}

async function otherProcess(t: Test): Promise<Guarded> {
  const issuer = await testIssuer()
  const app = await testApi(issuer)
  t.teardown(async () => {
    await app.close()
    await issuer.close()
  })
  return {
    app,
    issuer: issuer.issuer,
    clock: issuer.clock,
    token: issuer.token,
    proofs: ', DPoP algs="ES256 EdDSA PS256 RS256"'
  }
}

for (const [name, guarded] of Object.entries({ inProcess, otherProcess })) {
  t.test(`${name}: accepts a token for the resource, and passes its claims to the handler`, async (t) => {
    const { app, token } = await guarded(t)
    const one = token()
    for (const authorization of [`Bearer ${one}`, `bearer  ${one}`, `Bearer ${one}`]) {
      const reply = await app.inject({ url: '/v1/orders', headers: { authorization } })
      t.equal(reply.statusCode, 200)
      t.match(reply.json(), {
        auth: { sub: 'u1', client_id: 'c1', aud: RESOURCE },
        mcp: { token: one, clientId: 'c1', scopes: ['orders:read'], resource: RESOURCE, extra: { sub: 'u1' } }
      })
    }
  })

  // covers R9728-5.1
  t.test(`${name}: sends a challenge with metadata URL and scopes to a request without a token`, async (t) => {
    const { app, proofs } = await guarded(t)
    for (const headers of [{}, { authorization: 'Basic dTpw' }]) {
      const reply = await app.inject({ url: '/v1/orders', headers })
      t.equal(reply.statusCode, 401)
      t.equal(
        reply.headers['www-authenticate'],
        `Bearer resource_metadata="${METADATA}", scope="orders:read orders:write"${proofs}`
      )
    }
  })

  t.test(`${name}: refuses tokens of other issuers, resources, types and keys`, async (t) => {
    const { app, issuer, clock, token } = await guarded(t)
    const now = Math.floor(clock.now() / 1000)
    const cases: Record<string, string> = {
      'the issuer as audience': token({ aud: issuer }),
      'another resource': token({ aud: 'https://api.example.com/v2' }),
      'a slash more': token({ aud: `${RESOURCE}/` }),
      'no audience': token({ aud: undefined }),
      'another issuer': token({ iss: 'https://evil.example' }),
      'an ID token': token({}, { typ: 'JWT' }),
      'a logout token': token({}, { typ: 'logout+jwt' }),
      'an expired token': token({ exp: now - 61 }),
      'a token from the future': token({ iat: now + 120 }),
      'no subject': token({ sub: undefined }),
      'an unknown key': token({}, { kid: 'nobody' }),
      'no algorithm': token({}, { alg: 'none' }),
      'another algorithm': token({}, { alg: 'PS256' }),
      'a key of its own': token({}, { jwk: signingKey().jwk }),
      'an opaque token': 'opaque',
      'a refresh token': `${'a'.repeat(22)}.${'b'.repeat(43)}`
    }
    for (const [kind, value] of Object.entries(cases)) {
      const reply = await app.inject({ url: '/v1/orders', headers: { authorization: `Bearer ${value}` } })
      t.equal(reply.statusCode, 401, kind)
      t.match(
        reply.headers['www-authenticate'],
        /^Bearer error="invalid_token", error_description="[^"]+", resource_metadata="https:\/\/api\.example\.com\//,
        kind
      )
      t.notMatch(reply.headers['www-authenticate'], / scope=/, kind)
    }
  })

  t.test(`${name}: rejects a token without the scope of the operation or without a recent sign-in`, async (t) => {
    const { app, clock, token } = await guarded(t)
    const now = Math.floor(clock.now() / 1000)
    const send = async (method: 'GET' | 'POST', url: string, changes: Record<string, unknown> = {}) =>
      await app.inject({ method, url, headers: { authorization: `Bearer ${token(changes)}` } })
    const little = await send('POST', '/v1/orders')
    t.equal(little.statusCode, 403)
    t.match(
      little.headers['www-authenticate'],
      /^Bearer error="insufficient_scope", scope="orders:write", resource_metadata="[^"]+", error_description="[^"]+"/
    )
    t.equal((await send('POST', '/v1/orders', { scope: 'orders:read orders:write' })).statusCode, 200)
    const old = await send('GET', '/v1/fresh', { auth_time: now - 61, acr: 'mfa' })
    t.equal(old.statusCode, 401)
    t.match(old.headers['www-authenticate'], /^Bearer error="insufficient_user_authentication".*max_age="60"/)
    t.equal((await send('GET', '/v1/fresh', { auth_time: now - 60, acr: 'mfa' })).statusCode, 200)
  })

  t.test(`${name}: serves the metadata of the resource to every origin`, async (t) => {
    const { app, issuer } = await guarded(t)
    for (const url of [DOCUMENT, '/.well-known/oauth-protected-resource']) {
      const reply = await app.inject({ url })
      t.equal(reply.statusCode, 200)
      t.equal(reply.headers['access-control-allow-origin'], '*')
      t.match(reply.json(), {
        resource: RESOURCE,
        authorization_servers: [issuer],
        scopes_supported: SCOPES,
        bearer_methods_supported: ['header']
      })
      t.equal((await app.inject({ method: 'HEAD', url })).statusCode, 200)
    }
  })
}
