import Fastify from 'fastify'
import t from '../../support/tap.ts'
import resourceServer from '../../../lib/resource/index.ts'
import { jws, RESOURCE, signingKey, type SigningKey, testApi, testIssuer, testWorld as world } from './world.ts'

const METADATA = 'https://api.example.com/.well-known/oauth-protected-resource/v1'
const ALGS = 'DPoP algs="ES256 EdDSA PS256 RS256"'

t.test('accepts a token of the issuer for this resource', async (t) => {
  const { issuer, get } = await world(t)
  const token = issuer.token({ aud: ['https://other.example', RESOURCE] })
  const { statusCode, json } = await get(`Bearer ${token}`).then((r) => ({ statusCode: r.statusCode, json: r.json() }))
  t.equal(statusCode, 200)
  t.match(json.auth, { sub: 'u1', client_id: 'c1', scope: 'orders:read' })
  t.match(json.mcp, { token, clientId: 'c1', scopes: ['orders:read'], resource: RESOURCE, extra: { sub: 'u1' } })
  t.type(json.mcp.expiresAt, 'number')
})

t.test('sends a challenge with metadata URL and scopes to a request without a token', async (t) => {
  const { get } = await world(t)
  const { statusCode, headers } = await get()
  t.equal(statusCode, 401)
  t.equal(
    headers['www-authenticate'],
    `Bearer resource_metadata="${METADATA}", scope="orders:read orders:write", ${ALGS}`
  )
})

t.test('refuses tokens that are no access token of this issuer for this resource', async (t) => {
  const { issuer, get } = await world(t)
  const now = Math.floor(issuer.clock.now() / 1000)
  const key = issuer.keys[0] as SigningKey
  const cases: Record<string, string> = {
    'another audience': issuer.token({ aud: 'https://api.example.com/v2' }),
    'the issuer as audience': issuer.token({ aud: issuer.issuer }),
    'no audience': issuer.token({ aud: undefined }),
    'another issuer': issuer.token({ iss: 'https://evil.example' }),
    'an ID token': issuer.token({}, { typ: 'JWT' }),
    'a token without typ': issuer.token({}, { typ: undefined }),
    'a logout token': issuer.token({}, { typ: 'logout+jwt' }),
    'an expired token': issuer.token({ exp: now - 6 }),
    'a token from the future': issuer.token({ iat: now + 60 }),
    'a token that is not valid yet': issuer.token({ nbf: now + 60 }),
    'no expiry': issuer.token({ exp: undefined }),
    'no subject': issuer.token({ sub: undefined }),
    'no client': issuer.token({ client_id: undefined }),
    'a key of a stranger under a known id': jws(
      { typ: 'at+jwt', alg: 'ES256', kid: key.kid },
      { iss: issuer.issuer, aud: RESOURCE, sub: 'u1', client_id: 'c1', jti: 'x', iat: now, exp: now + 60 },
      signingKey()
    ),
    'a key that the token brings itself': issuer.token({}, { jwk: key.jwk }),
    'another algorithm than that of the key': issuer.token({}, { alg: 'PS256' }),
    'no algorithm': issuer.token({}, { alg: 'none' }),
    'a shared secret': issuer.token({}, { alg: 'HS256', kid: 'shared' }),
    'an opaque token': 'opaque',
    'two tokens': `${issuer.token()}, Bearer ${issuer.token()}`,
    'a token of 9,000 characters': issuer.token({ extra: 'x'.repeat(9000) })
  }
  for (const [name, token] of Object.entries(cases)) {
    const { statusCode, headers } = await get(`Bearer ${token}`)
    t.equal(statusCode, 401, name)
    t.match(
      headers['www-authenticate'],
      /^Bearer error="invalid_token", error_description="[^"]+", resource_metadata="/,
      name
    )
    t.notMatch(headers['www-authenticate'], 'scope=', name)
  }
  t.equal((await get('Basic dTpw')).statusCode, 401)
})

t.test('accepts tokens when clocks differ by 4 seconds', async (t) => {
  const { issuer, get } = await world(t)
  const now = Math.floor(issuer.clock.now() / 1000)
  t.equal((await get(`Bearer ${issuer.token({ exp: now - 4 })}`)).statusCode, 200)
  t.equal((await get(`Bearer ${issuer.token({ iat: now + 4, nbf: now + 4 })}`)).statusCode, 200)
})

t.test('refuses an accepted token after its expiry', async (t) => {
  const { issuer, get } = await world(t)
  const token = issuer.token()
  t.equal((await get(`Bearer ${token}`)).statusCode, 200)
  issuer.clock.step(604_999)
  t.equal((await get(`Bearer ${token}`)).statusCode, 200)
  issuer.clock.step(1)
  t.equal((await get(`Bearer ${token}`)).statusCode, 401)
})

t.test('accepts algorithms of the option algs, and refuses another', async (t) => {
  const { issuer, get } = await world(t, { algs: ['ES256', 'EdDSA', 'PS256'] })
  issuer.keys.push(...['EdDSA', 'PS256', 'RS256'].map((alg) => signingKey(alg)))
  for (const key of issuer.keys) {
    const { statusCode } = await get(`Bearer ${issuer.token({}, {}, key)}`)
    t.equal(statusCode, key.alg === 'RS256' ? 401 : 200, key.alg)
  }
})

t.test('verifies a token without a key id with every key, and reports the reason of the matching key', async (t) => {
  const { issuer, get } = await world(t)
  issuer.keys.push(signingKey())
  const now = Math.floor(issuer.clock.now() / 1000)
  for (const key of issuer.keys) {
    t.equal((await get(`Bearer ${issuer.token({}, { kid: undefined }, key)}`)).statusCode, 200)
    const { headers } = await get(`Bearer ${issuer.token({ exp: now - 60 }, { kid: undefined }, key)}`)
    t.match(headers['www-authenticate'], /has expired/)
  }
})

t.test('requires scopes and a recent sign-in, with a challenge that names the resource metadata', async (t) => {
  const { issuer, app, get } = await world(t)
  const { statusCode, headers } = await app.inject({
    method: 'POST',
    url: '/v1/orders',
    headers: { authorization: `Bearer ${issuer.token()}` }
  })
  t.equal(statusCode, 403)
  t.equal(
    headers['www-authenticate'],
    `Bearer error="insufficient_scope", scope="orders:write", resource_metadata="${METADATA}", error_description="The token must grant the scope orders:write.", ${ALGS}`
  )
  const old = await get(`Bearer ${issuer.token({ acr: 'password', auth_time: 1 })}`, {}, '/v1/fresh')
  t.equal(old.statusCode, 401)
  t.match(old.headers['www-authenticate'], /error="insufficient_user_authentication".*acr_values="mfa", max_age="60"/)
  const sid = 's1'
  const fresh = issuer.token({ sid, acr: 'mfa', auth_time: Math.floor(issuer.clock.now() / 1000) - 59 })
  t.equal((await get(`Bearer ${fresh}`, {}, '/v1/fresh')).statusCode, 200)
})

t.test('serves its metadata to every origin, also at the root', async (t) => {
  const { issuer, app } = await world(t, { name: 'Orders' })
  for (const url of ['/.well-known/oauth-protected-resource/v1', '/.well-known/oauth-protected-resource']) {
    const { statusCode, headers, json } = await app
      .inject({ url })
      .then((r) => ({ ...r, json: r.json(), statusCode: r.statusCode, headers: r.headers }))
    t.equal(statusCode, 200)
    t.equal(headers['access-control-allow-origin'], '*')
    t.equal(headers['cache-control'], 'public, max-age=300')
    t.same(json, {
      resource: RESOURCE,
      authorization_servers: [issuer.issuer],
      scopes_supported: ['orders:read', 'orders:write'],
      bearer_methods_supported: ['header'],
      resource_name: 'Orders',
      dpop_signing_alg_values_supported: ['ES256', 'EdDSA', 'PS256', 'RS256']
    })
    t.equal((await app.inject({ method: 'HEAD', url })).statusCode, 200)
    t.equal((await app.inject({ method: 'OPTIONS', url })).headers['access-control-allow-origin'], '*')
  }
})

t.test('serves no metadata at the root of an app with two resources', async (t) => {
  const app = Fastify()
  t.teardown(async () => {
    await app.close()
  })
  for (const name of ['a', 'b'])
    app.register(async (child) => {
      await child.register(resourceServer, { issuer: 'https://i.example', resource: `https://api.example.com/${name}` })
    })
  await app.ready()
  t.equal((await app.inject('/.well-known/oauth-protected-resource')).statusCode, 404)
  t.match((await app.inject('/.well-known/oauth-protected-resource/b')).json(), {
    resource: 'https://api.example.com/b'
  })
})

t.test('starts while the issuer is down, and answers 503 until it has keys', async (t) => {
  const { issuer, get } = await world(t)
  issuer.down = true
  const token = `Bearer ${issuer.token()}`
  const { statusCode, headers } = await get(token)
  t.equal(statusCode, 503)
  t.equal(headers['retry-after'], '5')
  t.equal((await get()).statusCode, 401)
  issuer.down = false
  issuer.clock.step(1000)
  t.equal((await get(token)).statusCode, 200)
  issuer.down = true
  issuer.clock.step(20 * 60_000)
  t.equal((await get(`Bearer ${issuer.token()}`)).statusCode, 200, 'the keys are kept')
})

t.test('fetches the keys for an unknown key id once in thirty seconds', async (t) => {
  const { issuer, get } = await world(t)
  t.equal((await get(`Bearer ${issuer.token()}`)).statusCode, 200)
  const next = signingKey()
  const stranger = `Bearer ${issuer.token({}, {}, signingKey())}`
  const asked = issuer.asked.get('/keys') ?? 0
  t.same(await Promise.all([1, 2, 3, 4].map(async () => (await get(stranger)).statusCode)), [401, 401, 401, 401])
  t.equal(issuer.asked.get('/keys'), asked + 1)
  issuer.keys = [next]
  t.equal((await get(`Bearer ${issuer.token()}`)).statusCode, 401)
  issuer.clock.step(30_000)
  t.equal((await get(`Bearer ${issuer.token()}`)).statusCode, 200)
})

t.test('answers 503 if the metadata name another issuer', async (t) => {
  const { issuer, app } = await world(t, {})
  await app.close()
  const other = await testApi({ ...issuer, issuer: `${issuer.issuer}/` })
  t.teardown(async () => {
    await other.close()
  })
  const { statusCode } = await other.inject({
    url: '/v1/orders',
    headers: { authorization: `Bearer ${issuer.token()}` }
  })
  t.equal(statusCode, 503)
})

t.test('finds the metadata of an issuer with a path', async (t) => {
  const issuer = await testIssuer('/tenant')
  const app = await testApi(issuer)
  t.teardown(async () => {
    await app.close()
    await issuer.close()
  })
  t.equal(
    (await app.inject({ url: '/v1/orders', headers: { authorization: `Bearer ${issuer.token()}` } })).statusCode,
    200
  )
})

t.test('introspects each token at most once in ten seconds', async (t) => {
  const { issuer, get } = await world(t, { introspection: { clientId: 'api', clientSecret: 's%cret' } })
  const token = issuer.token()
  const all = await Promise.all([1, 2, 3].map(async () => (await get(`Bearer ${token}`)).statusCode))
  t.same(all, [200, 200, 200])
  t.equal(issuer.asked.get('/introspect'), 1)
  issuer.inactive.add(token)
  issuer.clock.step(9999)
  t.equal((await get(`Bearer ${token}`)).statusCode, 200)
  issuer.clock.step(1)
  t.equal((await get(`Bearer ${token}`)).statusCode, 401)
  issuer.introspection = { aud: 'https://other.example' }
  t.equal((await get(`Bearer ${issuer.token()}`)).statusCode, 401)
  issuer.introspection = { iss: 'https://other.example' }
  t.equal((await get(`Bearer ${issuer.token()}`)).statusCode, 401)
  issuer.introspection = {}
  const another = issuer.token()
  issuer.down = true
  t.equal((await get(`Bearer ${another}`)).statusCode, 503)
  issuer.down = false
  t.equal((await get(`Bearer ${another}`)).statusCode, 200, 'a failure is not kept')
})

t.test('stops the start for an invalid option, and names it', async (t) => {
  const issuer = 'https://i.example'
  const cases: Array<[string, Record<string, unknown>]> = [
    ['issuer', { resource: RESOURCE }],
    ['issuer', { issuer: 'i.example', resource: RESOURCE }],
    ['resource', { issuer }],
    ['resource', { issuer, resource: 'http://api.example.com' }],
    ['resource', { issuer, resource: `${RESOURCE}?a=1` }],
    ['resource', { issuer, resource: `${RESOURCE}#a` }],
    ['scopes', { issuer, resource: RESOURCE, scopes: ['a b'] }],
    ['scopes', { issuer, resource: RESOURCE, scopes: ['offline_access'] }],
    ['algs', { issuer, resource: RESOURCE, algs: ['HS256'] }],
    ['jwksUri', { issuer, resource: RESOURCE, jwksUri: 'file:///keys' }],
    ['introspection.clientSecret', { issuer, resource: RESOURCE, introspection: { clientId: 'a' } }],
    ['audience', { issuer, resource: RESOURCE, audience: 'x' }]
  ]
  for (const [path, options] of cases) {
    const app = Fastify()
    await t.rejects(
      async () => await app.register(resourceServer, options as never),
      {
        code: 'FST_AUTHORITY_INVALID_OPTIONS',
        message: `"${path}"`
      },
      path
    )
    await app.close().catch(() => {})
  }
})
