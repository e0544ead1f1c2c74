import Fastify, { type FastifyInstance } from 'fastify'
import swagger from '@fastify/swagger'
import t from '../../support/tap.ts'
import authPlugin, { memoryFactorStore } from '../../../lib/index.ts'
import type { CallersConfig } from '../../../lib/http/edge/callers.ts'
import { bearer, plainUrl } from '../../support/app.ts'
import { CLIENTS, KEYS } from '../../support/openid.ts'
import { authJourney, ownOptions } from './support/host.ts'

interface Operation {
  tags?: string[]
  summary?: string
  parameters?: Array<{ name: string; in: string }>
  requestBody?: { content: Record<string, { schema: { properties?: object } }> }
  responses?: object
  description?: string
}
/** A route as it was declared. */
interface Declared {
  schema: { body?: Fields; querystring?: Fields; consumes?: string[]; response?: object }
  declared: CallersConfig['fastifyAuthority']
}
interface Fields {
  properties?: object
  anyOf?: Fields[]
}

/** The field names of a schema, also of a schema with alternatives (`anyOf`). */
function fieldsOf({ properties, anyOf = [] }: Fields = {}): string[] {
  return properties === undefined ? anyOf.flatMap(fieldsOf) : Object.keys(properties).sort()
}

t.test('@fastify/swagger lists every route with its schemas', async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  await app.register(swagger, { openapi: {} })
  const routes = new Map<string, Declared>()
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    const { hide = false, ...rest } = (schema ?? {}) as Declared['schema'] & { hide?: boolean }
    if (hide || method === 'HEAD') return
    routes.set(`${String(method).toLowerCase()} ${plainUrl(url).replace(/:(\w+)/g, '{$1}')}`, {
      schema: rest,
      declared: (config as unknown as CallersConfig).fastifyAuthority
    })
  })
  await app.register(
    authPlugin,
    ownOptions({ rateLimit: false, keys: KEYS, clients: CLIENTS, factors: memoryFactorStore() })
  )
  await app.ready()
  const { paths = {} } = app.swagger() as { paths?: Record<string, Record<string, Operation>> }
  const operations = new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation])
    )
  )
  t.ok(routes.size > 70, String(routes.size))
  t.same([...operations.keys()].sort(), [...routes.keys()].sort())
  for (const [name, { schema, declared }] of routes) {
    const operation = operations.get(name)
    t.match(operation, { tags: [/^auth/], summary: /\w/ }, name)
    const responses = Object.keys(operation?.responses ?? {})
    for (const status of Object.keys(schema.response ?? {})) t.ok(responses.includes(status), `${name} has a ${status}`)
    t.equal(
      /access token/.test(operation?.description ?? ''),
      declared.callers === 'account' || typeof declared.callers === 'object',
      name
    )
    t.same(
      (operation?.parameters ?? [])
        .filter((one) => one.in === 'query')
        .map((one) => one.name)
        .sort(),
      fieldsOf(schema.querystring),
      name
    )
    const content = operation?.requestBody?.content ?? {}
    t.same(
      Object.keys(content).sort(),
      schema.body === undefined ? [] : (schema.consumes ?? ['application/json']).toSorted(),
      name
    )
    for (const { schema: body } of Object.values(content)) t.same(fieldsOf(body), fieldsOf(schema.body), name)
  }
  t.same(await authJourney(app), [], 'and the routes work')
})

t.test('writes auth requests to the logger of the host, with its request ids', async (t) => {
  const lines: Array<Record<string, unknown>> = []
  const app = Fastify({
    requestIdHeader: 'x-request-id',
    logger: {
      level: 'debug',
      stream: {
        write: (line: string) => {
          lines.push(JSON.parse(line) as Record<string, unknown>)
        }
      }
    }
  }) as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  await app.register(authPlugin, ownOptions())
  await app.inject({
    method: 'POST',
    url: '/auth/refresh',
    headers: { 'x-request-id': 'of-the-host', ...bearer('x.y') }
  })
  t.same(
    lines.filter(({ reqId }) => reqId === 'of-the-host').map(({ msg }) => msg),
    ['incoming request', 'fastify-authority: request refused', 'request completed']
  )
})

t.test('runs the JSON endpoints when the host removed its parsers and has a small body limit', async (t) => {
  for (const order of ['before', 'after'] as const) {
    const app = Fastify({ bodyLimit: 10, logger: false }) as unknown as FastifyInstance
    const strip = (): void => {
      app.removeAllContentTypeParsers()
      app.addContentTypeParser('*', (_request, _payload, done) => {
        done(new Error('the parser of the host'))
      })
    }
    if (order === 'before') strip()
    await app.register(authPlugin, ownOptions({ rateLimit: false }))
    if (order === 'after') strip()
    app.post('/host', async () => 'parsed')
    t.same(await authJourney(app), [], order)
    t.match(
      (
        await app.inject({
          method: 'POST',
          url: '/host',
          payload: '{}',
          headers: { 'content-type': 'application/json' }
        })
      ).json(),
      { message: 'the parser of the host' }
    )
    await app.close()
  }
})

t.test('app.authenticate on a host route answers 401 with a challenge and a body that fits the schema', async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  await app.register(authPlugin, ownOptions())
  const response = { '4xx': { type: 'object', properties: { message: { type: 'string' } } } }
  app.get('/mine', { onRequest: [app.authenticate], schema: { response } }, async () => 'mine')
  const reply = await app.inject({ url: '/mine' })
  t.equal(reply.statusCode, 401)
  t.match(reply.headers, { 'www-authenticate': 'Bearer', 'content-type': 'application/json; charset=utf-8' })
  t.same(reply.json(), { message: 'A Bearer token is required.' })
})
