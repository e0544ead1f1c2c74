import t from '../support/tap.ts'
import Fastify, { type FastifyInstance } from 'fastify'
import authPlugin, { type AuthorityOptions } from '../../lib/index.ts'
import { GRANTS } from '../../lib/oauth/grants/registry.ts'
import { LOCALES } from '../../lib/pages/texts.ts'
import { CLIENTS, KEYS } from '../support/openid.ts'
import { ownOptions } from './coexistence/support/host.ts'

type Teardown = Pick<typeof t, 'teardown'>

const SIGNING = ['ES256', 'EdDSA', 'PS256', 'RS256']
const GRANT_TYPES = GRANTS.map(({ type }) => type)
const WELL_KNOWN = '/.well-known/oauth-authorization-server'
const OPENID = '/.well-known/openid-configuration'

async function appWith(
  t: Teardown,
  options: Partial<AuthorityOptions> = {},
  prefix?: string
): Promise<FastifyInstance> {
  const app = Fastify({ trustProxy: true }) as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  if (prefix === undefined) await app.register(authPlugin, ownOptions(options))
  else
    await app.register(
      async (child) => {
        await child.register(authPlugin, ownOptions(options))
      },
      { prefix }
    )
  await app.ready()
  return app
}

// covers R8414-2
t.test('lists the features of the configuration in the metadata', async (t) => {
  const app = await appWith(t, { issuer: 'https://auth.example.com', scopes: ['openid', 'admin'] })
  const reply = await app.inject({
    url: WELL_KNOWN,
    headers: {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'gopher',
      origin: 'https://anybody.example'
    }
  })
  t.equal(reply.statusCode, 200)
  t.match(reply.headers['content-type'], /^application\/json/)
  t.equal(reply.headers['cache-control'], 'public, max-age=300')
  t.equal(reply.headers['access-control-allow-origin'], '*')
  t.strictSame(reply.json(), {
    issuer: 'https://auth.example.com',
    token_endpoint: 'https://auth.example.com/auth/token',
    revocation_endpoint: 'https://auth.example.com/auth/revoke',
    jwks_uri: 'https://auth.example.com/.well-known/jwks.json',
    grant_types_supported: GRANT_TYPES.filter((type) => type !== 'authorization_code'),
    response_types_supported: [],
    scopes_supported: ['openid', 'admin'],
    acr_values_supported: ['password'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: SIGNING,
    revocation_endpoint_auth_methods_supported: [
      'none',
      'client_secret_basic',
      'client_secret_post',
      'private_key_jwt'
    ],
    revocation_endpoint_auth_signing_alg_values_supported: SIGNING,
    introspection_endpoint: 'https://auth.example.com/auth/introspect',
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    introspection_endpoint_auth_signing_alg_values_supported: SIGNING
  })
  t.equal((await app.inject({ url: OPENID })).statusCode, 404, 'no client, no OpenID provider')
})

t.test('OIDC-Discovery-3 R8414-2 serves the same document at both addresses when a client can use codes', async (t) => {
  const app = await appWith(t, { issuer: 'https://auth.example.com', keys: KEYS, clients: CLIENTS })
  const headers = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'gopher',
    origin: 'https://anybody.example'
  }
  const oauth = await app.inject({ url: WELL_KNOWN, headers })
  const openid = await app.inject({ url: OPENID, headers })
  t.equal(openid.statusCode, 200)
  t.match(openid.headers, {
    'content-type': /^application\/json/,
    'cache-control': 'public, max-age=300',
    'access-control-allow-origin': '*'
  })
  t.strictSame(openid.json(), oauth.json())
  const { claims_supported: claims, ...document } = openid.json() as Record<string, unknown> & {
    claims_supported: string[]
  }
  t.strictSame(document, {
    issuer: 'https://auth.example.com',
    token_endpoint: 'https://auth.example.com/auth/token',
    revocation_endpoint: 'https://auth.example.com/auth/revoke',
    introspection_endpoint: 'https://auth.example.com/auth/introspect',
    jwks_uri: 'https://auth.example.com/.well-known/jwks.json',
    grant_types_supported: GRANT_TYPES,
    response_types_supported: ['code'],
    scopes_supported: ['openid', 'profile', 'email', 'offline_access'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: SIGNING,
    revocation_endpoint_auth_methods_supported: [
      'none',
      'client_secret_basic',
      'client_secret_post',
      'private_key_jwt'
    ],
    revocation_endpoint_auth_signing_alg_values_supported: SIGNING,
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    introspection_endpoint_auth_signing_alg_values_supported: SIGNING,
    authorization_endpoint: 'https://auth.example.com/auth/authorize',
    userinfo_endpoint: 'https://auth.example.com/auth/userinfo',
    end_session_endpoint: 'https://auth.example.com/auth/logout',
    response_modes_supported: ['query', 'fragment', 'form_post'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256', 'RS256'],
    claims_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    prompt_values_supported: ['none', 'login', 'consent', 'select_account', 'create'],
    acr_values_supported: ['password'],
    ui_locales_supported: [...LOCALES],
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true
  })
  for (const claim of [
    'sub',
    'iss',
    'aud',
    'exp',
    'iat',
    'auth_time',
    'nonce',
    'acr',
    'amr',
    'sid',
    'name',
    'preferred_username',
    'email',
    'email_verified'
  ])
    t.ok(claims.includes(claim), claim)
})

t.test('lists redirect sign-in only when a client, pages and public keys support it', async (t) => {
  const rows: Array<[string, Partial<AuthorityOptions>, boolean]> = [
    ['a client store, which may have one', { clients: { findById: async () => null } }, true],
    [
      'a client that lists the grant',
      { clients: [{ clientId: 'a', redirectUris: ['https://a.example/cb'], grantTypes: ['authorization_code'] }] },
      true
    ],
    ["the host's own sign-in page", { clients: CLIENTS, pages: { loginUrl: '/sign-in' } }, true],
    ['no client', {}, false],
    ['a client without redirect URIs', { clients: [{ clientId: 'a' }] }, false],
    [
      'a client with another grant',
      { clients: [{ clientId: 'a', redirectUris: ['https://a.example/cb'], grantTypes: ['password'] }] },
      false
    ],
    ['no pages', { clients: CLIENTS, pages: false }, false],
    ['a shared secret', { clients: CLIENTS, keys: { secret: 'a shared secret of 32 bytes or more' } }, false]
  ]
  for (const [what, options, offered] of rows) {
    const app = await appWith(t, { issuer: 'https://a.example', keys: KEYS, ...options })
    const document = (await app.inject({ url: WELL_KNOWN })).json() as Record<string, string[]>
    t.equal('authorization_endpoint' in document, offered, what)
    t.strictSame(document['response_types_supported'], offered ? ['code'] : [], what)
    t.equal(document['grant_types_supported']?.includes('authorization_code'), offered, what)
    for (const url of [OPENID, '/auth/authorize', '/auth/consent'])
      t.equal(app.hasRoute({ method: 'GET', url }), offered, `${what}: ${url}`)
    const grant = await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'authorization_code', code: 'x' }
    })
    t.equal(grant.json().error === 'unsupported_grant_type', !offered, `${what}: the grant`)
  }
})

t.test('omits disabled features and lists moved endpoints with their address', async (t) => {
  const off = (
    await (
      await appWith(t, { passwordGrant: false, keys: { secret: 'a shared secret of 32 bytes or more' } })
    ).inject({ url: WELL_KNOWN })
  ).json()
  t.notOk('jwks_uri' in off, 'a shared secret has no key set')
  t.notOk(off.grant_types_supported.includes('password'))
  const moved = await appWith(t, {
    issuer: 'https://a.example',
    prefix: '/v1',
    paths: { token: '/oauth/token', jwks: '/keys' }
  })
  t.match((await moved.inject({ url: WELL_KNOWN })).json(), {
    token_endpoint: 'https://a.example/oauth/token',
    revocation_endpoint: 'https://a.example/v1/revoke',
    jwks_uri: 'https://a.example/keys'
  })
  const openid = await appWith(t, {
    issuer: 'https://a.example',
    keys: KEYS,
    clients: CLIENTS,
    prefix: '/v1',
    paths: {
      authorize: '/oauth/authorize',
      userinfo: '/me/info',
      introspect: '/oauth/introspect'
    }
  })
  t.match((await openid.inject({ url: OPENID })).json(), {
    authorization_endpoint: 'https://a.example/oauth/authorize',
    userinfo_endpoint: 'https://a.example/me/info',
    introspection_endpoint: 'https://a.example/oauth/introspect',
    end_session_endpoint: 'https://a.example/v1/logout'
  })
})

// covers R8414-3.1
t.test('OIDC-Discovery-4 serves the metadata with the issuer path after or before the well-known part', async (t) => {
  const app = await appWith(t, { issuer: 'https://a.example/one', keys: KEYS, clients: CLIENTS })
  const document = (await app.inject({ url: `${WELL_KNOWN}/one` })).json()
  t.equal(document.issuer, 'https://a.example/one', 'R8414-3.3 exactly as configured')
  t.strictSame((await app.inject({ url: `/one${OPENID}` })).json(), document)
  for (const url of [WELL_KNOWN, OPENID, `${OPENID}/one`]) t.equal((await app.inject({ url })).statusCode, 404, url)
  const nested = await appWith(t, { issuer: 'https://a.example/one', keys: KEYS, clients: CLIENTS }, '/one')
  t.match((await nested.inject({ url: `/one${OPENID}` })).json(), {
    issuer: 'https://a.example/one',
    authorization_endpoint: 'https://a.example/one/auth/authorize',
    end_session_endpoint: 'https://a.example/one/auth/logout'
  })
  t.match((await nested.inject({ url: `/one${WELL_KNOWN}/one` })).json(), {
    issuer: 'https://a.example/one',
    token_endpoint: 'https://a.example/one/auth/token',
    jwks_uri: 'https://a.example/one/.well-known/jwks.json'
  })
})

t.test('has a route for every endpoint in the metadata', async (t) => {
  const app = await appWith(t, { issuer: 'https://a.example', keys: KEYS, clients: CLIENTS }, '/nested')
  const document = (await app.inject({ url: `/nested${WELL_KNOWN}` })).json() as Record<string, string>
  const endpoints = Object.keys(document).filter((name) => /_(?:endpoint|uri)$/.test(name))
  t.equal(endpoints.length, 7)
  for (const name of endpoints) {
    const url = new URL(document[name] ?? '').pathname
    const methods = (['GET', 'POST'] as const).filter((method) => app.hasRoute({ method, url }))
    t.strictSame(
      methods,
      {
        jwks_uri: ['GET'],
        authorization_endpoint: ['GET', 'POST'],
        userinfo_endpoint: ['GET', 'POST'],
        end_session_endpoint: ['GET', 'POST']
      }[name] ?? ['POST'],
      name
    )
  }
})

for (const [what, second, host, url, openidUrl] of [
  ['two hosts', 'https://b.example', 'b.example', WELL_KNOWN, OPENID],
  ['one host, two paths', 'https://a.example/two', 'a.example', `${WELL_KNOWN}/two`, `/two${OPENID}`],
  ['one issuer', 'https://a.example', 'a.example', '/b/oauth-authorization-server', '/b/openid-configuration']
] as const) {
  t.test(`two plugins in one app, ${what}: serves the metadata of each plugin`, async (t) => {
    const app = Fastify() as unknown as FastifyInstance
    t.teardown(async () => {
      await app.close()
    })
    await app.register(authPlugin, ownOptions({ issuer: 'https://a.example', keys: KEYS, clients: CLIENTS }))
    await app.register(
      authPlugin,
      ownOptions({
        issuer: second,
        keys: KEYS,
        clients: CLIENTS,
        prefix: '/b',
        decorators: {
          authenticate: 'authenticateB',
          requireScope: 'requireScopeB',
          authority: 'authorityB',
          auth: 'authB'
        }
      })
    )
    t.match((await app.inject({ url: WELL_KNOWN, headers: { host: 'a.example' } })).json(), {
      issuer: 'https://a.example',
      token_endpoint: 'https://a.example/auth/token'
    })
    t.match((await app.inject({ url, headers: { host } })).json(), {
      issuer: second,
      token_endpoint: `${new URL(second).origin}/b/token`
    })
    t.match((await app.inject({ url: OPENID, headers: { host: 'a.example' } })).json(), {
      issuer: 'https://a.example',
      authorization_endpoint: 'https://a.example/auth/authorize'
    })
    t.match((await app.inject({ url: openidUrl, headers: { host } })).json(), {
      issuer: second,
      authorization_endpoint: `${new URL(second).origin}/b/authorize`
    })
  })
}
