import Fastify, { type FastifyInstance, type FastifySchema, type RouteOptions } from 'fastify'
import t, { type Test } from '../../support/tap.ts'
import { createCors, removeCorsHeaders } from '../../../lib/http/edge/cors.ts'

const SPA = 'https://spa.example'
const CLIENTS = [{ clientId: 'spa', redirectUris: [`${SPA}/cb`] }]
const NAMES = [
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'access-control-allow-methods',
  'access-control-allow-headers',
  'access-control-allow-private-network',
  'access-control-expose-headers',
  'access-control-max-age'
]

function host(t: Test): FastifyInstance {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  return app
}

t.test('removes the CORS headers of the host from the routes of the plugin', async (t) => {
  const app = host(t)
  app.addHook('onSend', async (_request, reply) => {
    for (const name of NAMES) reply.header(name, 'of the host')
    reply.header('x-other', 'stays')
  })
  app.get('/host', async () => 'host')
  const { anyOrigin, noOrigin, ofClients } = createCors(CLIENTS)
  for (const [path, policy] of [
    ['/any', anyOrigin],
    ['/none', noOrigin],
    ['/clients', ofClients]
  ] as const) {
    await app.register(async (child) => {
      policy(child)
      child.get(path, async () => 'ours')
    })
  }
  const corsOf = async (url: string, origin: string): Promise<Record<string, unknown>> => {
    const { headers } = await app.inject({ url, headers: { origin } })
    t.equal(headers['x-other'], 'stays')
    return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))
  }
  t.strictSame(await corsOf('/host', SPA), Object.fromEntries(NAMES.map((name) => [name, 'of the host'])))
  t.strictSame(await corsOf('/none', SPA), {})
  t.strictSame(await corsOf('/any', SPA), { 'access-control-allow-origin': '*' })
  t.strictSame(Object.keys(await corsOf('/clients', SPA)), [
    'access-control-allow-origin',
    'access-control-expose-headers'
  ])
  t.strictSame(await corsOf('/clients', 'https://evil.example'), {})
})

t.test('removes only the CORS headers that are present', async (t) => {
  const touched: string[] = []
  removeCorsHeaders({
    hasHeader: (name: string) => name === 'access-control-max-age',
    removeHeader: (name: string) => {
      touched.push(name)
    }
  } as never)
  t.strictSame(touched, ['access-control-max-age'])
})

t.test('keeps the existing Vary values, and adds Origin once', async (t) => {
  const cases: Array<[given: string | string[] | undefined, sent: string]> = [
    [undefined, 'Origin'],
    ['Accept-Encoding', 'Accept-Encoding, Origin'],
    ['origin', 'origin'],
    ['ORIGIN , accept', 'ORIGIN , accept'],
    ['*', '*'],
    ['a,*', 'a,*'],
    [' a ,, b', 'a, b, Origin'],
    [['a', 'b'], 'a, b, Origin'],
    ['', 'Origin'],
    ['x-origin', 'x-origin, Origin']
  ]
  for (const [given, sent] of cases) {
    const app = host(t)
    createCors(CLIENTS).ofClients(app)
    app.get('/', async (_request, reply) => await (given === undefined ? reply : reply.header('vary', given)).send('x'))
    t.equal((await app.inject('/')).headers.vary, sent, JSON.stringify(given))
  }
})

t.test('adds one hidden OPTIONS route per path with the methods of all its routes', async (t) => {
  const app = host(t)
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => {
    routes.push(route)
  })
  await app.register(
    async (child) => {
      createCors(CLIENTS).noOrigin(child)
      child.get('/a', { config: { mine: 1 } as never }, async () => 'a')
      child.route({ method: ['POST', 'PUT'], url: '/a', handler: async () => 'a' })
      child.get('/b', async () => 'b')
    },
    { prefix: '/p' }
  )
  await app.ready()
  t.equal((await app.inject({ method: 'OPTIONS', url: '/p/a' })).headers.allow, 'GET, HEAD, POST, PUT')
  t.equal((await app.inject({ method: 'OPTIONS', url: '/p/b' })).headers.allow, 'GET, HEAD')
  const options = routes.filter(({ method }) => method === 'OPTIONS')
  t.strictSame(
    options.map(({ url }) => url),
    ['/p/a', '/p/b']
  )
  for (const { schema, config } of options) {
    t.equal((schema as FastifySchema & { hide?: boolean }).hide, true)
    t.match(config, { cors: false, fastifyAuthority: { callers: 'anyone' } })
  }
  t.match(routes.find(({ method, url }) => method === 'GET' && url === '/p/a')?.config, { mine: 1, cors: false })
})

t.test('keeps an OPTIONS route that the host or the plugin has already defined', async (t) => {
  const app = host(t)
  app.options('/a', async () => 'of the host')
  await app.register(async (child) => {
    createCors(CLIENTS).noOrigin(child)
    child.get('/a', async () => 'a')
    child.options('/b', async () => 'ours')
    child.get('/b', async () => 'b')
  })
  t.equal((await app.inject({ method: 'OPTIONS', url: '/a' })).body, 'of the host')
  t.equal((await app.inject({ method: 'OPTIONS', url: '/b' })).body, 'ours')
})

t.test('answers OPTIONS separately for routes with different constraints', async (t) => {
  const app = host(t)
  await app.register(async (child) => {
    createCors(CLIENTS).noOrigin(child)
    child.get('/', { constraints: { host: 'a.example' } }, async () => 'a')
    child.post('/', { constraints: { host: 'b.example' } }, async () => 'b')
  })
  t.equal(
    (await app.inject({ method: 'OPTIONS', url: '/', headers: { host: 'a.example' } })).headers.allow,
    'GET, HEAD'
  )
  t.equal((await app.inject({ method: 'OPTIONS', url: '/', headers: { host: 'b.example' } })).headers.allow, 'POST')
  t.equal((await app.inject({ method: 'OPTIONS', url: '/' })).statusCode, 404)
})

t.test('runs the hooks of the route before the CORS hook', async (t) => {
  const app = host(t)
  const seen: string[] = []
  await app.register(async (child) => {
    createCors(CLIENTS).anyOrigin(child)
    child.get(
      '/one',
      {
        onSend: async (_request, reply) => {
          seen.push(String(reply.hasHeader('access-control-allow-origin')))
        }
      },
      async () => 'x'
    )
    child.get(
      '/two',
      {
        onSend: [
          async () => {
            seen.push('first')
          },
          async () => {
            seen.push('second')
          }
        ]
      },
      async () => 'x'
    )
  })
  t.equal((await app.inject('/one')).headers['access-control-allow-origin'], '*')
  t.equal((await app.inject('/two')).headers['access-control-allow-origin'], '*')
  t.strictSame(seen, ['false', 'first', 'second'])
})
