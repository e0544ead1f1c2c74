import Fastify, { type FastifyInstance } from 'fastify'
import swagger from '@fastify/swagger'
import t from 'tap'
import authPlugin from '../../../lib/index.ts'
import { bearer } from '../../support/app.ts'
import { authJourney, ownOptions } from './support/host.ts'

t.test('@fastify/swagger lists every route with its schemas', async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => { await app.close() })
  await app.register(swagger, { openapi: {} })
  await app.register(authPlugin, ownOptions({ rateLimit: false }))
  await app.ready()
  const { paths = {} } = app.swagger() as { paths?: Record<string, Record<string, { tags?: string[], summary?: string, requestBody?: { content: Record<string, { schema: { properties?: object } }> }, responses?: object, description?: string }>> }
  const expected: Record<string, { method: string, fields?: string[], types?: number, secured?: boolean, success?: string }> = {
    '/auth/token': { method: 'post', fields: ['client_id', 'client_secret', 'grant_type', 'password', 'refresh_token', 'scope', 'username'], types: 2, success: '200' },
    '/auth/refresh': { method: 'post', success: '200' },
    '/auth/revoke': { method: 'post', fields: ['client_id', 'client_secret', 'token', 'token_type_hint'], types: 2, success: '200' },
    '/auth/register': { method: 'post', fields: ['password', 'username'], success: '201' },
    '/auth/password': { method: 'post', fields: ['current_password', 'new_password'], secured: true, success: '204' },
    '/auth/password-reset': { method: 'post', fields: ['username'], success: '202' },
    '/auth/password-reset/confirm': { method: 'post', fields: ['password', 'token'], success: '204' },
    '/auth/email/verify': { method: 'post', fields: ['token'], success: '204' },
    '/auth/sessions': { method: 'get', secured: true, success: '200' },
    '/auth/sessions/{id}': { method: 'delete', secured: true, success: '204' },
    '/.well-known/jwks.json': { method: 'get', success: '200' },
    '/.well-known/oauth-authorization-server': { method: 'get', success: '200' }
  }
  t.same(Object.keys(paths).sort(), Object.keys(expected).sort())
  for (const [path, { method, fields, types = 1, secured, success = '200' }] of Object.entries(expected)) {
    const operation = paths[path]?.[method]
    t.match(operation, { tags: ['auth'], summary: /\w/ }, path)
    t.ok(operation?.responses !== undefined && success in operation.responses, `${path} has a ${success}`)
    t.equal(/access token/.test(operation?.description ?? ''), secured === true, path)
    const content = operation?.requestBody?.content ?? {}
    if (fields !== undefined) {
      t.equal(Object.keys(content).length, types, path)
      for (const { schema } of Object.values(content)) t.same(Object.keys(schema.properties ?? {}).sort(), fields)
    }
  }
  t.same(await authJourney(app), [], 'and the routes work')
})

t.test("auth routes write to the host's logger, with its request ids", async (t) => {
  const lines: Array<Record<string, unknown>> = []
  const app = Fastify({ requestIdHeader: 'x-request-id', logger: { level: 'info', stream: { write: (line: string) => { lines.push(JSON.parse(line) as Record<string, unknown>) } } } }) as unknown as FastifyInstance
  t.teardown(async () => { await app.close() })
  await app.register(authPlugin, ownOptions())
  await app.inject({ method: 'POST', url: '/auth/refresh', headers: { 'x-request-id': 'of-the-host', ...bearer('x.y') } })
  t.same(lines.filter(({ reqId }) => reqId === 'of-the-host').map(({ msg }) => msg), ['incoming request', 'request refused', 'request completed'])
})

t.test('hosts that removed their parsers, or count on small bodies, change nothing for auth routes', async (t) => {
  for (const order of ['before', 'after'] as const) {
    const app = Fastify({ bodyLimit: 10, logger: false }) as unknown as FastifyInstance
    const strip = (): void => {
      app.removeAllContentTypeParsers()
      app.addContentTypeParser('*', (_request, _payload, done) => { done(new Error('the parser of the host')) })
    }
    if (order === 'before') strip()
    await app.register(authPlugin, ownOptions({ rateLimit: false }))
    if (order === 'after') strip()
    app.post('/host', async () => 'parsed')
    t.same(await authJourney(app), [], order)
    t.match((await app.inject({ method: 'POST', url: '/host', payload: '{}' , headers: { 'content-type': 'application/json' } })).json(), { message: 'the parser of the host' })
    await app.close()
  }
})

t.test("refusals of app.authenticate look alike on host routes, whatever the route's response schema and serializer", async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => { await app.close() })
  app.setReplySerializer((payload) => JSON.stringify({ wrapped: payload }))
  await app.register(authPlugin, ownOptions())
  const response = { '4xx': { type: 'object', properties: { message: { type: 'string' } } } }
  app.get('/mine', { onRequest: [app.authenticate], schema: { response } }, async () => 'mine')
  const reply = await app.inject({ url: '/mine' })
  t.equal(reply.statusCode, 401)
  t.match(reply.headers, { 'www-authenticate': 'Bearer', 'content-type': 'application/json; charset=utf-8' })
  t.same(Object.keys(reply.json()), ['error', 'error_description'])
})
