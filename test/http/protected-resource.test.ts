import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from '../support/tap.ts'
import authPlugin, { type AuthorityOptions, type Client, memoryUserStore } from '../../lib/index.ts'
import { fastHasher } from '../../lib/testing/index.ts'
import { ISSUER, PASSWORD, signUp, tellCode } from '../support/app.ts'
import { decodeJwt } from '../support/jwt.ts'

const CLIENTS: AuthorityOptions['clients'] = [{ clientId: 'spa', grantTypes: ['password', 'refresh_token'] }]

async function service(
  t: Test,
  setUp: (app: FastifyInstance) => unknown,
  options: Partial<AuthorityOptions> = {}
): Promise<{ app: FastifyInstance; log: string[]; tokenFor(params: Record<string, string>): Promise<string> }> {
  const log: string[] = []
  const app = Fastify({
    logger: {
      level: 'info',
      stream: {
        write(line: string) {
          log.push(line)
        }
      }
    }
  }) as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  await app.register(authPlugin, {
    issuer: ISSUER,
    users: memoryUserStore(),
    clients: CLIENTS,
    registration: { username: 'any' },
    password: { hasher: fastHasher() },
    ...options
  })
  await setUp(app)
  return {
    app,
    log,
    async tokenFor(params) {
      const payload = { grant_type: 'password', username: 'ann', password: PASSWORD, client_id: 'spa', ...params }
      const reply = await app.inject({ method: 'POST', url: '/auth/token', payload })
      t.equal(reply.statusCode, 200, reply.body)
      return reply.json<{ access_token: string }>().access_token
    }
  }
}

// covers R9728-2
t.test('adds an API at a path, and accepts its tokens only at its own guard', async (t) => {
  const { app, tokenFor } = await service(t, (app) => {
    const notes = app.protectedResource({
      resource: '/notes',
      scopes: { 'notes:read': 'read your notes' },
      name: 'Notes'
    })
    const mail = app.protectedResource({ resource: '/mail', scopes: { 'mail:read': { en: 'read your mail' } } })
    app.get('/notes', { onRequest: notes, errorHandler: tellCode }, async (request) => request.auth)
    app.get('/mail', { onRequest: mail, errorHandler: tellCode }, async (request) => request.auth)
    app.get('/me', { onRequest: app.authenticate, errorHandler: tellCode }, async (request) => request.auth)
    app.delete('/notes', { onRequest: notes, errorHandler: tellCode }, async () => {
      throw notes.insufficientScope(['notes:read', 'notes:delete'])
    })
  })
  await signUp(app)
  const audiences: Record<string, string> = {
    '/notes': await tokenFor({ resource: `${ISSUER}/notes` }),
    '/mail': await tokenFor({ resource: `${ISSUER}/mail` }),
    '/me': await tokenFor({})
  }
  for (let round = 0; round < 2; round++) {
    for (const [of, token] of Object.entries(audiences)) {
      for (const url of Object.keys(audiences)) {
        const reply = await app.inject({ url, headers: { authorization: `Bearer ${token}` } })
        t.equal(reply.statusCode, of === url ? 200 : 401, `a token for ${of} at ${url}`)
      }
    }
  }
  t.match(decodeJwt(audiences['/notes'] ?? '').claims, { aud: `${ISSUER}/notes`, scope: 'notes:read' })
  const document = await app.inject('/.well-known/oauth-protected-resource/notes')
  t.match(document.json(), { resource: `${ISSUER}/notes`, resource_name: 'Notes', scopes_supported: ['notes:read'] })
  t.equal(document.json().dpop_signing_alg_values_supported, undefined)
  t.equal((await app.inject('/.well-known/oauth-protected-resource')).statusCode, 404, 'there are two resources')
  const refused = await app.inject({
    method: 'DELETE',
    url: '/notes',
    headers: { authorization: `Bearer ${audiences['/notes']}` }
  })
  t.equal(refused.statusCode, 403)
  t.match(
    refused.headers['www-authenticate'],
    `Bearer error="insufficient_scope", scope="notes:read notes:delete", resource_metadata="${ISSUER}/.well-known/`
  )
  const metadata = await app.inject('/.well-known/oauth-authorization-server')
  t.match(metadata.json().scopes_supported, ['openid', 'profile', 'email', 'offline_access', 'notes:read', 'mail:read'])
})

t.test('accepts a token with the required acr, and throws for an impossible acr or no scopes', async (t) => {
  const { app, tokenFor } = await service(t, (app) => {
    const api = app.protectedResource({ resource: '/api' })
    app.get(
      '/api',
      { onRequest: [api, api.requireAuth({ acr: 'password' })], errorHandler: tellCode },
      async () => 'in'
    )
    t.throws(() => api.requireAuth({ acr: 'mfa' }), { code: 'FST_AUTHORITY_INVALID_OPTIONS' })
    t.throws(() => api.requireScope(), { code: 'FST_AUTHORITY_INVALID_OPTIONS' })
  })
  await signUp(app)
  const headers = { authorization: `Bearer ${await tokenFor({ resource: `${ISSUER}/api` })}` }
  t.equal((await app.inject({ url: '/api', headers })).statusCode, 200)
})

t.test('guards a resource of the option resources, and names a subset of its scopes in the challenge', async (t) => {
  const { app, log } = await service(
    t,
    (app) => {
      const api = app.protectedResource({ resource: 'HTTPS://api.example.com/', scopes: ['read'] })
      app.get('/api', { onRequest: api, errorHandler: tellCode }, async () => 'in')
      t.throws(() => app.protectedResource({ resource: 'https://api.example.com', scopes: ['other'] }), {
        message: /other is no scope/
      })
    },
    { resources: [{ resource: 'https://api.example.com', scopes: ['read', 'write'] }] }
  )
  const reply = await app.inject('/api')
  const metadata = 'https://api.example.com/.well-known/oauth-protected-resource'
  t.equal(reply.headers['www-authenticate'], `Bearer resource_metadata="${metadata}", scope="read"`)
  const document = await app.inject('/.well-known/oauth-protected-resource')
  t.match(document.json(), { resource: 'https://api.example.com', scopes_supported: ['read', 'write'] })
  t.equal(log.filter((line) => line.includes('bare names: read, write')).length, 1)
  t.throws(() => app.protectedResource({ resource: '/late' }), { code: 'FST_AUTHORITY_INVALID_OPTIONS' })
})

t.test('stops the start for an invalid API, and for one that contradicts another option', async (t) => {
  const api = { resource: 'https://api.example.com', scopes: ['read'] }
  const cases: Array<[string, Partial<AuthorityOptions>]> = [
    ['resources[1].resource', { resources: [api, { resource: 'https://API.example.com:443/' }] }],
    ['resources[0].resource', { resources: [{ resource: ISSUER }] }],
    ['resources[0].resource', { resources: [api], accessToken: { audience: ['https://x.example', api.resource] } }],
    ['resources[0].resource', { resources: [{ resource: 'http://api.example.com' }] }],
    ['resources[0].resource', { resources: [{ resource: 'https://api.example.com?x' }] }],
    ['resources[0].resource', { resources: [{ resource: '//evil.example/x' }] }],
    ['resources[0].scopes', { resources: [{ ...api, scopes: ['openid'] }] }],
    ['resources[0].scopes', { resources: [{ ...api, scopes: ['offline_access'] }] }],
    ['resources[0].scopes', { resources: [{ ...api, scopes: ['profile'] }], scopes: ['openid'] }],
    ['resources[0].scopes', { resources: [api], scopes: ['openid', 'read'] }],
    ['resources[0].scopes', { resources: [{ ...api, scopes: ['two words'] }] }],
    ['resources[1].scopes', { resources: [api, { resource: '/other', scopes: { read: 'read' } }] }],
    ['resources[0].scope', { resources: [{ ...api, scope: ['x'] } as never] }],
    ['resources.read.xx', { resources: [{ ...api, scopes: { read: { xx: 'x' } as never } }] }],
    [
      'resources[0].accessToken.alg',
      {
        resources: [{ ...api, accessToken: { alg: 'RS256' } }],
        keys: { secret: 'zyxwvutsrqponmlkjihgfedcba9876543210' }
      }
    ],
    ['clients[0].resources[0]', { clients: [{ clientId: 'a', resources: ['orders'] }] }],
    ['clients[0].scopes', { clients: [{ clientId: 'a', scopes: ['write'] }], resources: [api] }]
  ]
  for (const [path, options] of cases) {
    const app = Fastify()
    await t.rejects(
      async () => {
        await app.register(authPlugin, { issuer: ISSUER, users: memoryUserStore(), ...options })
      },
      {
        code: 'FST_AUTHORITY_INVALID_OPTIONS',
        message: new RegExp(`^Invalid option "${path.replaceAll(/[[\]]/g, '\\$&')}"`)
      },
      path
    )
    await app.close()
  }
})

t.test('warns once of a scope that no token for the API can have', async (t) => {
  const { log } = await service(
    t,
    (app) => {
      const orders = app.protectedResource({ resource: '/orders', scopes: { 'orders:read': 'see your orders' } })
      orders.requireScope('orders:read')
      for (let time = 0; time < 2; time++) orders.requireScope('orders:read', 'profile')
      const listed = app.protectedResource({ resource: 'https://api.example.com', scopes: ['read'] })
      listed.requireScope('write')
      app.protectedResource({ resource: '/bare' }).requireScope('any')
    },
    { resources: [{ resource: 'https://api.example.com', scopes: ['read', 'write'] }] }
  )
  const warnings = log
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ code }) => code === 'FST_AUTHORITY_UNKNOWN_SCOPE')
  t.match(warnings, [
    {
      level: 40,
      msg: /protectedResource\.requireScope\('profile'\) refuses.*The API http:.*\/orders has orders:read:/
    },
    { level: 40, msg: /protectedResource\.requireScope\('any'\) refuses.*The API http:.*\/bare has no scope:/ }
  ])
  t.equal(warnings.length, 2)
})

t.test('stops the start if a client names an API that is neither listed nor added before ready', async (t) => {
  const added = (app: FastifyInstance): unknown => app.protectedResource({ resource: '/orders' })
  const ready = async (client: Partial<Client>, setUp: typeof added): Promise<void> => {
    const { app } = await service(t, setUp, {
      resources: [{ resource: 'https://api.example.com' }],
      clients: [{ clientId: 'first' }, { clientId: 'second', redirectUris: ['https://app.example/cb'], ...client }]
    })
    await app.ready()
  }
  for (const field of ['resources', 'introspects'] as const) {
    for (const good of ['/orders', `${ISSUER}/orders`, 'https://API.example.com/'])
      await t.resolves(ready({ [field]: [good] }, added), `${field}: ${good}`)
    await t.resolves(ready({ [field]: [] }, added), `${field}: none`)
    for (const [bad, setUp] of [
      ['/o', added],
      ['/orders', () => {}],
      ['https://api.example.com/orders', added]
    ] as const)
      await t.rejects(
        ready({ [field]: ['https://api.example.com', bad] }, setUp),
        {
          code: 'FST_AUTHORITY_INVALID_OPTIONS',
          message: new RegExp(
            `"clients\\[1\\]\\.${field}\\[1\\]": got "${bad}"; it takes .*https://api\\.example\\.com`
          )
        },
        `${field}: ${bad}`
      )
  }
})
