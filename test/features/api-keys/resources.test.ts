/** Keys for one API of the option `resources`. */
import Fastify from 'fastify'
import t from '../../support/tap.ts'
import authPlugin, { memoryApiKeyStore, memoryUserStore } from '../../../lib/index.ts'
import { bearer, tellCode } from '../../support/app.ts'

t.test('accepts a key of one API at that API alone', async (t) => {
  const resources = [
    { resource: 'https://orders.example', scopes: { 'orders:read': 'see orders' } },
    { resource: 'https://bills.example/', scopes: { 'bills:read': 'see bills' } }
  ]
  const app = Fastify()
  t.teardown(() => app.close())
  const users = memoryUserStore()
  await app.register(authPlugin, {
    issuer: 'http://localhost:3000',
    users,
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
    t.match(refused.json(), { error: 'invalid_token', error_description: 'The API key is not valid.' })
    t.match(refused.headers['www-authenticate'], /error="invalid_token".*resource_metadata=/)
  }
  const own = await apiKeys.create({ userId, name: 'Own' })
  t.equal((await app.inject({ url: '/orders', headers: bearer(own.key) })).statusCode, 401)
  const both = { 'x-api-key': key, authorization: 'Bearer x' }
  t.equal((await app.inject({ url: '/orders', headers: both })).statusCode, 400)
  for (const asked of [
    { resource: 'https://unknown.example' },
    { resource: 'https://orders.example', scopes: ['bills:read'] },
    { resource: 'https://orders.example', scopes: ['reports:read'] },
    { scopes: ['orders:read'] }
  ])
    await t.rejects(apiKeys.create({ userId, name: 'x', ...asked }), {
      name: 'OAuthError',
      message: /scopes|resource/
    })
})
