/** Keys for one API of the option `resources`. */
import Fastify, { type FastifyInstance } from 'fastify'
import t from '../../support/tap.ts'
import authPlugin, { memoryApiKeyStore, memoryUserStore, type ResourceOptions } from '../../../lib/index.ts'
import { apiKeyOf } from '../../../lib/protocol/credential.ts'
import { steppedClock } from '../../../lib/testing/index.ts'
import { bearer, tellCode } from '../../support/app.ts'

t.test('accepts an API key that was made for one API only at that API', async (t) => {
  const resources = [
    { resource: 'https://orders.example', scopes: { 'orders:read': 'see orders' } },
    { resource: 'https://bills.example/', scopes: { 'bills:read': 'see bills' } }
  ]
  const app = Fastify()
  t.teardown(() => app.close())
  const users = memoryUserStore()
  const clock = steppedClock()
  await app.register(authPlugin, {
    issuer: 'http://localhost:3000',
    users,
    clock,
    apiKeys: memoryApiKeyStore(),
    scopes: ['openid', 'reports:read'],
    resources
  })
  const orders = app.protectedResource({ resource: 'https://orders.example' })
  const bills = app.protectedResource({ resource: 'https://bills.example' })
  const at = (url: string, onRequest: unknown): void => {
    app.get(url, { onRequest: onRequest as never, errorHandler: tellCode }, async (request) => ({
      auth: request.auth,
      mcp: request.raw.auth
    }))
  }
  at('/own', [app.authenticate])
  at('/orders', [orders, orders.requireScope('orders:read')])
  at('/bills', [bills])
  at('/fresh', [orders, orders.requireAuth({ maxAge: 300 })])
  const { id: userId } = await users.create({ username: 'ann', passwordHash: null })
  const { apiKeys } = app.authority
  const { key, ...made } = await apiKeys.create({
    userId,
    name: 'One',
    resource: 'https://ORDERS.example:443/',
    scopes: ['orders:read']
  })
  t.equal(made.resource, 'https://orders.example')
  for (const headers of [bearer(key), { 'x-api-key': key }] as Array<Record<string, string>>) {
    const statusOf = async (url: string): Promise<number> => (await app.inject({ url, headers })).statusCode
    const good = await app.inject({ url: '/orders', headers })
    t.equal(good.statusCode, 200)
    t.match(good.json(), {
      auth: { sub: userId, aud: 'https://orders.example', api_key: made.id },
      mcp: { token: key, scopes: ['orders:read'], extra: { sub: userId } }
    })
    for (const url of ['/own', '/bills']) t.equal(await statusOf(url), 401, url)
    t.equal(await statusOf('/fresh'), 403)
    const refused = await app.inject({ url: '/bills', headers })
    t.match(refused.json(), {
      error: 'invalid_token',
      error_description: 'The API key was made for https://orders.example alone.'
    })
    t.match(refused.headers['www-authenticate'], /error="invalid_token".*resource_metadata=/)
  }
  const own = await apiKeys.create({ userId, name: 'Own' })
  const descriptionOf = async (url: string, sent: string): Promise<string> =>
    (await app.inject({ url, headers: bearer(sent) })).json().error_description
  t.equal(
    await descriptionOf('/orders', own.key),
    'The API key was made without a resource, and this API takes keys for https://orders.example.'
  )
  t.equal(await descriptionOf('/own', key), 'The API key was made for https://orders.example alone.')
  const short = await apiKeys.create({ userId, name: 'Short', expiresIn: 1 })
  clock.step(1000)
  await apiKeys.revoke(userId, own.id)
  for (const [name, sent] of Object.entries({
    unknown: apiKeyOf('fa', Buffer.alloc(32, 1)),
    expired: short.key,
    revoked: own.key
  }))
    t.equal(await descriptionOf('/orders', sent), 'The API key is not valid.', name)
  const both = { 'x-api-key': key, authorization: 'Bearer x' }
  t.equal((await app.inject({ url: '/orders', headers: both })).statusCode, 400)
  for (const [asked, error] of [
    [{ resource: 'https://unknown.example' }, 'invalid_target'],
    [{ resource: 'https://orders.example', scopes: ['bills:read'] }, 'invalid_scope'],
    [{ resource: 'https://orders.example', scopes: ['reports:read'] }, 'invalid_scope'],
    [{ scopes: ['orders:read'] }, 'invalid_scope'],
    [{ resource: null, scopes: ['reports:read', 'bills:read'] }, 'invalid_scope']
  ] as const)
    await t.rejects(apiKeys.create({ userId, name: 'x', ...asked }), { name: 'OAuthError', error })
})

t.test('creates no key for an API with allowedClients, and rejects keys that were created before', async (t) => {
  const users = memoryUserStore()
  const store = memoryApiKeyStore()
  const { id: userId } = await users.create({ username: 'ann', passwordHash: null })
  const started = async (allowedClients?: string[]) => {
    const app = Fastify()
    t.teardown(() => app.close())
    const resources = [
      { resource: 'https://internal.example', scopes: ['internal'], ...(allowedClients && { allowedClients }) }
    ]
    await app.register(authPlugin, { issuer: 'http://localhost:3000', users, apiKeys: store, resources })
    const guard = app.protectedResource({ resource: 'https://internal.example' })
    app.get('/internal', { onRequest: guard, errorHandler: tellCode }, async ({ auth }) => auth)
    return app
  }
  const asked = { userId, name: 'x', resource: 'https://internal.example' }
  const { key } = await (await started()).authority.apiKeys.create(asked)
  const app = await started(['machine'])
  await t.rejects(app.authority.apiKeys.create(asked), { name: 'OAuthError', error: 'invalid_target' })
  t.equal((await app.inject({ url: '/internal', headers: bearer(key) })).statusCode, 401)
})

t.test('removes scopes and resources from existing keys when the options no longer contain them', async (t) => {
  const users = memoryUserStore()
  const store = memoryApiKeyStore()
  const { id: userId } = await users.create({ username: 'ann', passwordHash: null })
  const started = async (scopes: string[], resources: ResourceOptions[], keyScopes?: string[]) => {
    const app = Fastify()
    t.teardown(() => app.close())
    const apiKeys = { store, ...(keyScopes === undefined ? {} : { scopes: keyScopes }) }
    await app.register(authPlugin, { issuer: 'http://localhost:3000', users, apiKeys, scopes, resources })
    const [{ resource } = { resource: '' }] = resources
    const guards = [app.authenticate, ...(resource === '' ? [] : [app.protectedResource({ resource })])]
    for (const [index, guard] of guards.entries())
      app.get(`/${index}`, { onRequest: guard as never, errorHandler: tellCode }, async ({ auth }) => auth)
    return app
  }
  const orders = { resource: 'https://orders.example', scopes: { 'orders:read': 'see', 'orders:write': 'change' } }
  const before = await started(['openid', 'reports:read', 'reports:write'], [orders])
  const { apiKeys } = before.authority
  const own = await apiKeys.create({ userId, name: 'Own', scopes: ['reports:read', 'reports:write'] })
  const api = await apiKeys.create({
    userId,
    name: 'API',
    scopes: ['orders:read', 'orders:write'],
    resource: orders.resource
  })
  const scopeAt = async (app: FastifyInstance, url: string, key: string): Promise<unknown> =>
    (await app.inject({ url, headers: { 'x-api-key': key } })).json().scope
  t.equal(await scopeAt(before, '/0', own.key), 'reports:read reports:write')
  t.equal(await scopeAt(before, '/1', api.key), 'orders:read orders:write')

  const fewer = [{ ...orders, scopes: { 'orders:read': 'see' } }]
  const after = await started(['openid', 'reports:read'], fewer)
  t.equal(await scopeAt(after, '/0', own.key), 'reports:read')
  t.equal(await scopeAt(after, '/1', api.key), 'orders:read')
  t.same((await after.authority.apiKeys.verify(api.key)).scopes, ['orders:read'])
  t.same(
    (await after.authority.apiKeys.list(userId)).map(({ scopes }) => scopes),
    [['reports:read'], ['orders:read']]
  )
  // A key for the host's own routes loses a scope that moves to an API.
  const moved = await started(['openid'], [{ ...orders, scopes: { 'reports:read': 'see' } }])
  t.equal(await scopeAt(moved, '/0', own.key), undefined)
  const narrowed = await started(['openid', 'reports:read'], fewer, ['orders:read'])
  t.equal(await scopeAt(narrowed, '/0', own.key), undefined)
  t.equal(await scopeAt(narrowed, '/1', api.key), 'orders:read')

  const without = await started(['openid', 'reports:read'], [])
  await t.rejects(without.authority.apiKeys.verify(api.key), { name: 'OAuthError', error: 'invalid_token' })
  t.equal((await without.inject({ url: '/0', headers: { 'x-api-key': api.key } })).statusCode, 401)
  t.match(await without.authority.apiKeys.list(userId), [{ scopes: ['reports:read'] }, { id: api.id, scopes: [] }])
})
