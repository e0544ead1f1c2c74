import t from 'tap'
import Fastify, { type FastifyInstance } from 'fastify'
import authPlugin, { type AuthorityOptions } from '../../lib/index.ts'
import { ownOptions } from './coexistence/support/host.ts'

type Teardown = Pick<typeof t, 'teardown'>

const WELL_KNOWN = '/.well-known/oauth-authorization-server'

async function appWith (t: Teardown, options: Partial<AuthorityOptions> = {}, prefix?: string): Promise<FastifyInstance> {
  const app = Fastify({ trustProxy: true }) as unknown as FastifyInstance
  t.teardown(async () => { await app.close() })
  if (prefix === undefined) await app.register(authPlugin, ownOptions(options))
  else await app.register(async (child) => { await child.register(authPlugin, ownOptions(options)) }, { prefix })
  await app.ready()
  return app
}

t.test('R8414-2 the document says what this configuration offers', async (t) => {
  const app = await appWith(t, { issuer: 'https://auth.example.com', scopes: ['openid', 'admin'] })
  const reply = await app.inject({ url: WELL_KNOWN, headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'gopher', origin: 'https://anybody.example' } })
  t.equal(reply.statusCode, 200)
  t.match(reply.headers['content-type'], /^application\/json/)
  t.equal(reply.headers['cache-control'], 'public, max-age=300')
  t.equal(reply.headers['access-control-allow-origin'], '*')
  t.strictSame(reply.json(), {
    issuer: 'https://auth.example.com',
    token_endpoint: 'https://auth.example.com/auth/token',
    revocation_endpoint: 'https://auth.example.com/auth/revoke',
    jwks_uri: 'https://auth.example.com/.well-known/jwks.json',
    grant_types_supported: ['password', 'refresh_token', 'client_credentials'],
    response_types_supported: [],
    scopes_supported: ['openid', 'admin'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    revocation_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post']
  })
})

t.test('what is off is not in it, and what is moved is where it is', async (t) => {
  const off = (await (await appWith(t, { passwordGrant: false, keys: { secret: 'a shared secret of 32 bytes or more' } })).inject({ url: WELL_KNOWN })).json()
  t.notOk('jwks_uri' in off, 'a shared secret has no key set')
  t.notOk(off.grant_types_supported.includes('password'))
  const moved = await appWith(t, { issuer: 'https://a.example', prefix: '/v1', paths: { token: '/oauth/token', jwks: '/keys', metadata: '/meta' } })
  t.match((await moved.inject({ url: '/meta' })).json(), { token_endpoint: 'https://a.example/oauth/token', revocation_endpoint: 'https://a.example/v1/revoke', jwks_uri: 'https://a.example/keys' })
  t.equal((await moved.inject({ url: WELL_KNOWN })).statusCode, 404)
})

t.test('R8414-3.1 the path of an issuer comes after the well-known part', async (t) => {
  const app = await appWith(t, { issuer: 'https://a.example/one' })
  const document = (await app.inject({ url: `${WELL_KNOWN}/one` })).json()
  t.equal(document.issuer, 'https://a.example/one', 'R8414-3.3 exactly as configured')
  t.equal((await app.inject({ url: WELL_KNOWN })).statusCode, 404)
  const nested = await appWith(t, { issuer: 'https://a.example/one' }, '/one')
  t.match((await nested.inject({ url: `/one${WELL_KNOWN}/one` })).json(), { issuer: 'https://a.example/one', token_endpoint: 'https://a.example/one/auth/token', jwks_uri: 'https://a.example/one/.well-known/jwks.json' })
})

t.test('every endpoint in the document is there', async (t) => {
  const app = await appWith(t, { issuer: 'https://a.example' }, '/nested')
  const document = (await app.inject({ url: `/nested${WELL_KNOWN}` })).json() as Record<string, string>
  for (const [name, method] of [['token_endpoint', 'POST'], ['revocation_endpoint', 'POST'], ['jwks_uri', 'GET']] as const) {
    t.ok(app.hasRoute({ method, url: new URL(document[name] ?? '').pathname }), name)
  }
})

for (const [what, second, host, url] of [
  ['two hosts', 'https://b.example', 'b.example', WELL_KNOWN],
  ['one host, two paths', 'https://a.example/two', 'a.example', `${WELL_KNOWN}/two`],
  ['one issuer', 'https://a.example', 'a.example', '/b/oauth-authorization-server']
] as const) {
  t.test(`two plugins in one app, ${what}: each has its document`, async (t) => {
    const app = Fastify() as unknown as FastifyInstance
    t.teardown(async () => { await app.close() })
    await app.register(authPlugin, ownOptions({ issuer: 'https://a.example' }))
    await app.register(authPlugin, ownOptions({ issuer: second, prefix: '/b', decorators: { authenticate: 'authenticateB', requireScope: 'requireScopeB', authority: 'authorityB', auth: 'authB' } }))
    t.match((await app.inject({ url: WELL_KNOWN, headers: { host: 'a.example' } })).json(), { issuer: 'https://a.example', token_endpoint: 'https://a.example/auth/token' })
    t.match((await app.inject({ url, headers: { host } })).json(), { issuer: second, token_endpoint: `${new URL(second).origin}/b/token` })
  })
}
