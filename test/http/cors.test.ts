import Fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify'
import t, { type Test } from '../support/tap.ts'
import { OAuthError } from '../../lib/errors.ts'
import { registerBodyParsers, useStrictValidation } from '../../lib/http/edge/body.ts'
import { createCors, oncePerRequest, rememberClient } from '../../lib/http/edge/cors.ts'
import { guarded, useErrorReply } from '../../lib/http/edge/error-reply.ts'
import type { Client, ClientStore } from '../../lib/ports/client-store.ts'
import { processorSeconds } from '../support/in-time.ts'

const SPA = 'https://spa.example'
const OTHER = 'https://other.example'
const EVIL = 'https://evil.example'
const CLIENTS: Client[] = [
  {
    clientId: 'spa',
    applicationType: 'native',
    redirectUris: [`${SPA}/callback?x=1`, 'http://localhost:5173/cb', 'com.example.app:/cb', 'no url']
  },
  {
    clientId: 'other',
    redirectUris: ['https://elsewhere.example/cb'],
    origins: [`${OTHER}/`, 'capacitor://localhost', '*', 'null', 'HTTPS://Upper.example:443']
  },
  { clientId: 'server', clientSecret: 's'.repeat(32) }
]

/** An app with stub routes under the CORS policies of the real endpoints. */
async function corsApp(t: Test, clients: Client[] | ClientStore): Promise<FastifyInstance> {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  const clientsOf =
    'findById' in clients ? oncePerRequest(clients, { countWork: async (_request, _rule, work) => await work() }) : null
  const cors = createCors(clientsOf === null ? (clients as Client[]) : [], clientsOf)
  const answer = async (body: unknown): Promise<unknown> =>
    await guarded(async () => {
      const { fail } = (body ?? {}) as { fail?: string }
      if (fail === 'bug') throw new Error('a bug')
      if (fail !== undefined)
        throw new OAuthError(
          fail as 'invalid_grant',
          'As wished.',
          fail === 'too_many_requests' ? { headers: { 'retry-after': '9' } } : {}
        )
      return {}
    })
  const group = async (
    policy: (child: FastifyInstance) => void,
    routes: (child: FastifyInstance) => void
  ): Promise<void> => {
    await app.register(async (child) => {
      useStrictValidation(child)
      useErrorReply(child, app)
      policy(child)
      registerBodyParsers(child, { forms: true })
      routes(child)
    })
  }
  await group(cors.ofClients, (child) => {
    child.post('/token', { bodyLimit: 200 }, async (request) => await answer(request.body))
    child.post('/remembering', async (request) => {
      // Imitates the token endpoint, which looks the client up and remembers it.
      await clientsOf?.(request).findById('spa')
      rememberClient(request, 'spa')
      return await answer(request.body)
    })
  })
  await group(cors.ofAccessTokens, (child) => {
    const onRequest = async (request: Parameters<typeof rememberClient>[0]): Promise<void> => {
      const [, token] = request.headers.authorization?.split(' ') ?? []
      if (token === undefined || token === 'forged')
        throw new OAuthError('invalid_token', 'No.', { headers: { 'www-authenticate': 'Bearer' } })
      rememberClient(request, token)
    }
    child.get('/userinfo', { onRequest }, async () => ({}))
    child.post('/userinfo', { onRequest }, async (request) => await answer(request.body))
  })
  await group(cors.anyOrigin, (child) => {
    child.get('/jwks', async (request) => await answer(request.query))
  })
  await group(cors.noOrigin, (child) => {
    child.get('/authorize', async () => ({}))
    child.post('/authorize', async () => ({}))
  })
  await app.ready()
  return app
}

const store = (clients: Client[]): ClientStore & { asked: string[] } => {
  const asked: string[] = []
  return {
    asked,
    async findById(clientId) {
      asked.push(clientId)
      if (clientId === 'down') throw new Error('the store is down')
      return clients.find((client) => client.clientId === clientId) ?? null
    }
  }
}

const preflight = async (
  app: FastifyInstance,
  url: string,
  origin: string | undefined,
  headers = 'authorization, dpop, x-anything'
): Promise<LightMyRequestResponse> =>
  await app.inject({
    method: 'OPTIONS',
    url,
    headers: {
      ...(origin === undefined ? {} : { origin }),
      'access-control-request-method': 'POST',
      'access-control-request-headers': headers
    }
  })

const corsHeaders = (reply: LightMyRequestResponse): Record<string, unknown> =>
  Object.fromEntries(Object.entries(reply.headers).filter(([name]) => name.startsWith('access-control-')))

const PREFLIGHT = { 'access-control-allow-headers': 'authorization, dpop, x-anything', 'access-control-max-age': '600' }
const ACTUAL = {
  'access-control-expose-headers':
    'WWW-Authenticate, DPoP-Nonce, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset'
}

// covers ASVS-3.4.2
t.test('with a fixed list of clients, allows only origins from redirect URIs or `origins`', async (t) => {
  const app = await corsApp(t, CLIENTS)
  const origins: Record<string, boolean> = {
    [SPA]: true,
    'http://localhost:5173': true,
    [OTHER]: true,
    'https://upper.example': true,
    'capacitor://localhost': true,
    'https://elsewhere.example': false,
    'http://localhost': false,
    'http://localhost:5174': false,
    'http://spa.example': false,
    'https://spa.example:444': false,
    'https://spa.example.evil.example': false,
    'https://evil.example?https://spa.example': false,
    'https://SPA.example': false,
    [`${SPA}/`]: false,
    [`${SPA}, ${SPA}`]: false,
    'com.example.app:': false,
    null: false,
    '*': false,
    '': false,
    [EVIL]: false
  }
  for (const [origin, allowed] of Object.entries(origins)) {
    for (const [url, methods] of [
      ['/token', 'POST'],
      ['/userinfo', 'GET, HEAD, POST']
    ] as const) {
      const before = await preflight(app, url, origin)
      t.equal(before.statusCode, 204, `${origin} ${url}`)
      t.same(
        corsHeaders(before),
        allowed ? { 'access-control-allow-origin': origin, 'access-control-allow-methods': methods, ...PREFLIGHT } : {},
        `${origin} ${url}`
      )
      t.equal(before.headers.vary, 'Origin')
      const reply = await app.inject({
        method: 'POST',
        url,
        headers: { origin, authorization: 'Bearer spa' },
        payload: {}
      })
      t.equal(reply.statusCode, 200)
      t.same(
        corsHeaders(reply),
        allowed ? { 'access-control-allow-origin': origin, ...ACTUAL } : {},
        `${origin} ${url}`
      )
      t.equal(reply.headers.vary, 'Origin')
    }
  }
})

t.test('lets only a registered origin read errors, and with a client store only of a named client', async (t) => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const clients of [CLIENTS, store(CLIENTS)]) {
    const app = await corsApp(t, clients)
    const cases: Array<{ url: string; status: number; payload?: object | string; headers?: Record<string, string> }> = [
      { url: '/token', status: 400, payload: { client_id: 'spa', fail: 'invalid_grant' } },
      { url: '/token', status: 401, payload: { client_id: 'spa', fail: 'invalid_client' } },
      { url: '/token', status: 429, payload: { client_id: 'spa', fail: 'too_many_requests' } },
      { url: '/token', status: 503, payload: { client_id: 'spa', fail: 'bug' } },
      { url: '/token', status: 503, payload: 'client_id=spa&fail=bug', headers: form },
      {
        url: '/userinfo',
        status: 403,
        payload: { fail: 'insufficient_scope' },
        headers: { authorization: 'Bearer spa' }
      }
    ]
    // Requests whose body is never read or whose token is invalid name no client.
    const nameless: typeof cases = [
      { url: '/token', status: 413, payload: { client_id: 'spa', long: 'x'.repeat(200) } },
      { url: '/token', status: 415, payload: 'client_id=spa', headers: { 'content-type': 'text/plain' } },
      { url: '/token', status: 400, payload: '{"client_id":"spa"', headers: { 'content-type': 'application/json' } },
      { url: '/userinfo', status: 401, payload: { client_id: 'spa' }, headers: { authorization: 'Bearer forged' } },
      { url: '/userinfo', status: 401 }
    ]
    for (const [list, readable] of [
      [cases, true],
      [nameless, Array.isArray(clients)]
    ] as const) {
      for (const { url, status, payload, headers } of list) {
        const ask = async (origin: string): Promise<LightMyRequestResponse> =>
          await app.inject({
            method: 'POST',
            url,
            headers: { ...headers, origin },
            ...(payload === undefined ? {} : { payload })
          })
        const [own, evil] = [await ask(SPA), await ask(EVIL)]
        t.equal(own.statusCode, status, `${url} ${JSON.stringify(payload)}`)
        t.same(
          corsHeaders(own),
          readable ? { 'access-control-allow-origin': SPA, ...ACTUAL } : {},
          `${url} ${status} ${JSON.stringify(payload)}`
        )
        t.same(corsHeaders(evil), {}, `${url} ${status}`)
        t.same([own.headers.vary, evil.headers.vary], ['Origin', 'Origin'])
      }
    }
  }
})

// covers ASVS-3.4.2
t.test('with a client store, allows every web origin a preflight, but only client origins the response', async (t) => {
  const clients = store(CLIENTS)
  const app = await corsApp(t, clients)
  const preflights: Record<string, boolean> = {
    [SPA]: true,
    [EVIL]: true,
    'https://evil.example:8443': true,
    'http://localhost:5173': true,
    'http://127.0.0.1:1': true,
    'http://[::1]:1': true,
    'http://evil.example': false,
    'ftp://localhost': false,
    'http://localhost.evil.example': false,
    'http://evillocalhost': false,
    'https://user@evil.example': false,
    [`${EVIL}/`]: false,
    [`${EVIL}, ${EVIL}`]: false,
    'chrome-extension://abc': false,
    null: false,
    '*': false,
    '': false
  }
  for (const [origin, allowed] of Object.entries(preflights)) {
    const reply = await preflight(app, '/token', origin)
    t.same(
      corsHeaders(reply),
      allowed ? { 'access-control-allow-origin': origin, 'access-control-allow-methods': 'POST', ...PREFLIGHT } : {},
      origin
    )
  }
  t.same(clients.asked, [], 'a preflight asks no store')

  const basic = (id: string): Record<string, string> => ({
    authorization: `Basic ${Buffer.from(`${id}:secret`).toString('base64')}`
  })
  const reads: Array<[origin: string, payload: object, headers: Record<string, string>, readable: boolean]> = [
    [SPA, { client_id: 'spa' }, {}, true],
    [SPA, {}, basic('spa'), true],
    [EVIL, { client_id: 'spa' }, {}, false],
    [EVIL, {}, basic('spa'), false],
    [OTHER, { client_id: 'spa' }, {}, false],
    [OTHER, { client_id: 'other' }, {}, true],
    [OTHER, { client_id: 'spa' }, basic('other'), false],
    [SPA, { client_id: 'server' }, {}, false],
    [SPA, { client_id: 'unknown' }, {}, false],
    [SPA, { client_id: 'down' }, {}, false],
    [SPA, { client_id: ['spa'] }, {}, false],
    [SPA, {}, {}, false],
    ['null', { client_id: 'other' }, {}, false]
  ]
  for (const [origin, payload, headers, readable] of reads) {
    const name = `${origin} ${JSON.stringify(payload)} ${JSON.stringify(headers)}`
    const reply = await app.inject({ method: 'POST', url: '/token', headers: { ...headers, origin }, payload })
    t.equal(reply.statusCode, 200, name)
    t.same(corsHeaders(reply), readable ? { 'access-control-allow-origin': origin, ...ACTUAL } : {}, name)
    t.equal(reply.headers.vary, 'Origin')
  }
})

t.test('with a client store, decides about userinfo by the verified token, not by the body', async (t) => {
  const app = await corsApp(t, store(CLIENTS))
  const cases: Array<[origin: string, token: string, readable: boolean]> = [
    [SPA, 'spa', true],
    [OTHER, 'spa', false],
    [SPA, 'other', false],
    [SPA, 'unknown', false]
  ]
  for (const [origin, token, readable] of cases) {
    for (const method of ['GET', 'POST'] as const) {
      const reply = await app.inject({
        method,
        url: '/userinfo',
        headers: { origin, authorization: `Bearer ${token}` },
        ...(method === 'POST' ? { payload: { client_id: 'spa' } } : {})
      })
      t.same(
        corsHeaders(reply),
        readable ? { 'access-control-allow-origin': origin, ...ACTUAL } : {},
        `${method} ${origin} ${token}`
      )
    }
  }
})

t.test('queries a client that the route remembered only once, and no client without Origin', async (t) => {
  const clients = store(CLIENTS)
  const app = await corsApp(t, clients)
  const reply = await app.inject({
    method: 'POST',
    url: '/remembering',
    headers: { origin: SPA },
    payload: { client_id: 'other' }
  })
  t.same(corsHeaders(reply), { 'access-control-allow-origin': SPA, ...ACTUAL })
  await app.inject({ method: 'POST', url: '/token', payload: { client_id: 'spa' } })
  t.same(clients.asked, ['spa'], "the route's own look, and no other")
})

t.test('lets any origin read public documents and their errors, without Vary', async (t) => {
  const app = await corsApp(t, CLIENTS)
  for (const origin of [SPA, EVIL, 'null', undefined]) {
    for (const [url, status] of [
      ['/jwks', 200],
      ['/jwks?fail=temporarily_unavailable', 503]
    ] as const) {
      const reply = await app.inject({ url, headers: origin === undefined ? {} : { origin } })
      t.equal(reply.statusCode, status)
      t.same(corsHeaders(reply), { 'access-control-allow-origin': '*' }, `${origin}`)
      t.notOk('vary' in reply.headers)
    }
    t.same(corsHeaders(await preflight(app, '/jwks', origin)), {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD',
      ...PREFLIGHT
    })
  }
  t.same(corsHeaders(await app.inject({ method: 'HEAD', url: '/jwks' })), { 'access-control-allow-origin': '*' })
})

// covers R9700-2.6
t.test('sends no CORS headers at the authorization endpoint', async (t) => {
  const app = await corsApp(t, CLIENTS)
  const before = await preflight(app, '/authorize', SPA)
  t.equal(before.statusCode, 204)
  t.equal(before.headers.allow, 'GET, HEAD, POST')
  t.same(corsHeaders(before), {})
  for (const method of ['GET', 'POST'] as const)
    t.same(corsHeaders(await app.inject({ method, url: '/authorize', headers: { origin: SPA } })), {})
})

t.test('allows the requested headers of a preflight when they are valid header names', async (t) => {
  const app = await corsApp(t, CLIENTS)
  const cases: Record<string, string | undefined> = {
    authorization: 'authorization',
    'Content-Type,DPoP': 'Content-Type,DPoP',
    '*': '*',
    '': undefined,
    'a b': undefined,
    'a,': undefined,
    'x: y': undefined,
    ü: undefined
  }
  for (const [asked, allowed] of Object.entries(cases))
    t.equal((await preflight(app, '/token', SPA, asked)).headers['access-control-allow-headers'], allowed, asked)
  t.ok(
    (await processorSeconds(async () => {
      await preflight(app, '/token', SPA, `${'a ,'.repeat(5000)} `)
    })) < 0.5,
    'in linear time'
  )
})

t.test('lists the allowed methods in the answer to OPTIONS without an origin', async (t) => {
  const app = await corsApp(t, CLIENTS)
  const reply = await app.inject({ method: 'OPTIONS', url: '/userinfo' })
  t.equal(reply.statusCode, 204)
  t.equal(reply.headers.allow, 'GET, HEAD, POST')
  t.same(corsHeaders(reply), {})
})
