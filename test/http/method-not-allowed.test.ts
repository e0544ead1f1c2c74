/** Other methods at the paths of the protocol endpoints: 405 with Allow (RFC 9110 §15.5.6). */
import Fastify, { type FastifyInstance } from 'fastify'
import swagger from '@fastify/swagger'
import t from '../support/tap.ts'
import authPlugin from '../../lib/index.ts'
import { testApp } from '../support/app.ts'
import { CLIENTS, KEYS } from '../support/openid.ts'
import { ownOptions } from './coexistence/support/host.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const ALLOWED: Record<string, string> = {
  '/auth/token': 'POST',
  '/auth/refresh': 'POST',
  '/auth/revoke': 'POST',
  '/auth/introspect': 'POST',
  '/auth/userinfo': 'GET, HEAD, POST',
  '/.well-known/jwks.json': 'GET, HEAD',
  '/.well-known/oauth-authorization-server': 'GET, HEAD',
  '/.well-known/openid-configuration': 'GET, HEAD'
}

async function walk(app: FastifyInstance, allowed: Record<string, string>): Promise<string[]> {
  const wrong: string[] = []
  for (const [url, allow] of Object.entries(allowed))
    for (const method of METHODS) {
      const reply = await app.inject({ method, url })
      const isOther = !allow.split(', ').includes(method)
      if (isOther !== (reply.statusCode === 405)) wrong.push(`${method} ${url}: ${reply.statusCode}`)
      if (!isOther) continue
      const { error } = method === 'HEAD' ? { error: 'invalid_request' } : reply.json<{ error: string }>()
      if (reply.headers.allow !== allow || reply.headers['cache-control'] !== 'no-store' || error !== 'invalid_request')
        wrong.push(`${method} ${url}: ${JSON.stringify(reply.headers)} ${reply.body}`)
    }
  return wrong
}

t.test('answers 405 with Allow to other methods at the protocol endpoints', async (t) => {
  const { app, close } = await testApp({ keys: KEYS, clients: CLIENTS })
  t.teardown(close)
  t.strictSame(await walk(app, ALLOWED), [])
})

t.test('answers 405 at moved paths, and 404 next to them', async (t) => {
  const { app, close } = await testApp({ keys: KEYS, clients: CLIENTS, paths: { token: '/oauth/v1.0/token.json' } })
  t.teardown(close)
  t.strictSame(await walk(app, { '/oauth/v1.0/token.json': 'POST' }), [])
  for (const url of ['/oauth/v1.0/tokenXjson', '/oauth/v1.0/a-token.json', '/oauth/v1.0/token.json2', '/auth/token'])
    t.equal((await app.inject({ url })).statusCode, 404, url)
})

t.test('answers 405 before it reads the body', async (t) => {
  const { app, close } = await testApp({})
  t.teardown(close)
  const reply = await app.inject({
    method: 'PUT',
    url: '/auth/token',
    headers: { 'content-type': 'text/plain' },
    payload: 'x'.repeat(100_000)
  })
  t.equal(reply.statusCode, 405)
})

t.test('serves a host route of another method at our path, registered before or after the plugin', async (t) => {
  for (const order of ['before', 'after'] as const) {
    const app = Fastify() as unknown as FastifyInstance
    const routes = (): void => {
      app.get('/auth/token', async () => 'a page of the host')
      app.route({ method: ['PUT', 'DELETE'], url: '/auth/revoke', handler: async () => 'a page of the host' })
    }
    if (order === 'before') routes()
    await app.register(authPlugin, ownOptions({ rateLimit: false }))
    if (order === 'after') routes()
    t.equal((await app.inject({ url: '/auth/token' })).body, 'a page of the host', order)
    t.equal((await app.inject({ method: 'HEAD', url: '/auth/token' })).statusCode, 200, order)
    t.equal((await app.inject({ method: 'DELETE', url: '/auth/revoke' })).body, 'a page of the host', order)
    t.equal((await app.inject({ method: 'PATCH', url: '/auth/revoke' })).statusCode, 405, order)
    await app.close()
  }
})

t.test('answers 405 at our paths despite wildcard routes of the host, which keep all other paths', async (t) => {
  for (const url of ['/auth/:page', '/auth/*', '/:first/:second', '/*'])
    for (const order of ['before', 'after'] as const) {
      const app = Fastify() as unknown as FastifyInstance
      const routes = (): void => {
        app.get(url, async () => 'a page of the host')
      }
      if (order === 'before') routes()
      await app.register(authPlugin, ownOptions({ rateLimit: false }))
      if (order === 'after') routes()
      for (const method of ['GET', 'HEAD'] as const) {
        const refused = await app.inject({ method, url: '/auth/token' })
        t.strictSame([refused.statusCode, refused.headers.allow], [405, 'POST'], `${method} ${url} ${order}`)
        for (const other of ['/auth/anything-else', '/auth/t', '/auth/tokens', '/auth/toke', '/auth/Token']) {
          const { statusCode, body } = await app.inject({ method, url: other })
          const expected = [200, method === 'GET' ? 'a page of the host' : '']
          t.strictSame([statusCode, body], expected, `${method} ${other} by ${url} ${order}`)
        }
      }
      t.equal((await app.inject({ method: 'POST', url: '/auth/token' })).statusCode, 400)
      await app.close()
    }
})

t.test('adds no route for other methods to the OpenAPI document of the host', async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  await app.register(swagger, { openapi: {} })
  await app.register(authPlugin, ownOptions())
  await app.ready()
  const { paths = {} } = app.swagger() as { paths?: Record<string, object> }
  t.strictSame(Object.keys(paths['/auth/token'] ?? {}), ['post'])
  t.strictSame(
    Object.keys(paths).filter((path) => /[:^]/.test(path)),
    []
  )
})
