import { generateKeyPairSync } from 'node:crypto'
import Fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify'
import cors, { type FastifyCorsOptions } from '@fastify/cors'
import swagger from '@fastify/swagger'
import t, { type Test } from '../../support/tap.ts'
import authPlugin from '../../../lib/index.ts'
import { ownOptions } from './support/host.ts'

const SPA = 'https://spa.example'
const EVIL = 'https://evil.example'

/** Made once, so that not every app makes its own keys. */
const keys = [
  {
    ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
    alg: 'ES256',
    kid: 'es'
  },
  {
    ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
    alg: 'RS256',
    kid: 'rs'
  }
]

type Furnish = (app: FastifyInstance) => unknown

const withCors =
  (options: FastifyCorsOptions | (() => unknown)): Furnish =>
  async (app) => {
    await app.register(cors, options as FastifyCorsOptions)
  }

/** The ways in which a host can add CORS answers to all of its routes. */
const HOSTS: Record<string, Furnish> = {
  'any origin': withCors({}),
  'reflected with credentials': withCors({
    origin: true,
    credentials: true,
    exposedHeaders: ['x-host'],
    maxAge: 1,
    cacheControl: 5,
    methods: ['DELETE'],
    allowedHeaders: ['x-host']
  }),
  'a fixed origin': withCors({ origin: EVIL, credentials: true }),
  off: withCors({ origin: false }),
  'a list': withCors({ origin: [EVIL, /example$/] }),
  'a function that refuses': withCors({
    origin: (_origin, done) => {
      done(new Error('not allowed'), false)
    }
  }),
  'a delegator': withCors(() => async () => ({ origin: true, credentials: true })),
  'a later hook': withCors({ origin: true, credentials: true, hook: 'preHandler' }),
  'the last hook': withCors({ origin: true, credentials: true, hook: 'preSerialization' }),
  'preflights passed on': withCors({ origin: true, credentials: true, preflightContinue: true }),
  'lax preflights with 200': withCors({
    origin: true,
    strictPreflight: false,
    optionsSuccessStatus: 200,
    hideOptionsRoute: false
  }),
  'headers by hand': (app) => {
    app.addHook('onRequest', async (_request, reply) => {
      reply.headers({ 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Credentials': 'true' })
    })
  },
  'headers on the raw response, as of middie': (app) => {
    app.addHook('onRequest', async (_request, { raw }) => {
      raw
        .setHeader('Access-Control-Allow-Origin', EVIL)
        .setHeader('Access-Control-Allow-Credentials', 'true')
        .setHeader('Vary', 'Accept-Encoding')
    })
  },
  'headers in onSend': (app) => {
    app.addHook('onSend', async (_request, reply) => {
      reply.headers({ 'access-control-allow-origin': EVIL, 'access-control-allow-credentials': 'true' })
    })
  },
  'preflights answered by hand': (app) => {
    app.addHook('onRequest', async (request, reply) => {
      if (request.method === 'OPTIONS')
        return await reply
          .headers({ 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' })
          .code(200)
          .send()
      return undefined
    })
  }
}

const ENDPOINTS = [
  ['POST', '/auth/token'],
  ['POST', '/auth/revoke'],
  ['GET', '/auth/userinfo'],
  ['POST', '/auth/userinfo'],
  ['GET', '/.well-known/jwks.json'],
  ['GET', '/.well-known/oauth-authorization-server'],
  ['GET', '/.well-known/openid-configuration'],
  ['GET', '/auth/authorize'],
  ['POST', '/auth/authorize'],
  ['GET', '/auth/login'],
  ['POST', '/auth/login'],
  ['GET', '/auth/signup'],
  ['GET', '/auth/logout'],
  ['POST', '/auth/introspect']
] as const
const FOR_BROWSERS = ['/auth/token', '/auth/revoke', '/auth/userinfo']

async function start(t: Test, furnish: Furnish | null, order: 'host first' | 'ours first'): Promise<FastifyInstance> {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  if (order === 'host first') await furnish?.(app)
  await app.register(
    authPlugin,
    ownOptions({ keys, rateLimit: false, clients: [{ clientId: 'spa', redirectUris: [`${SPA}/cb`] }] })
  )
  if (order === 'ours first') await furnish?.(app)
  app.get('/host', async () => 'host')
  await app.ready()
  return app
}

const corsOf = ({ headers }: LightMyRequestResponse): Record<string, unknown> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))

/** The headers that a browser at each origin sees, by endpoint. */
async function seen(app: FastifyInstance): Promise<Record<string, Record<string, unknown>>> {
  const all: Record<string, Record<string, unknown>> = {}
  for (const [method, url] of ENDPOINTS) {
    for (const origin of [SPA, EVIL, 'null']) {
      const preflight = await app.inject({
        method: 'OPTIONS',
        url,
        headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': 'authorization' }
      })
      const reply = await app.inject({ method, url, headers: { origin } })
      all[`preflight ${method} ${url} ${origin}`] = {
        ok: preflight.statusCode === 204 || preflight.statusCode === 200,
        ...corsOf(preflight)
      }
      all[`${method} ${url} ${origin}`] = {
        status: reply.statusCode,
        ...corsOf(reply),
        varies: /(^|,\s*)origin(,|$)/i.test(String(reply.headers.vary)) === FOR_BROWSERS.includes(url)
      }
    }
  }
  return all
}

// covers ASVS-3.4.2
t.test('allows any origin to read documents, client origins to call token endpoints, and no others', async (t) => {
  const app = await start(t, null, 'host first')
  for (const [method, url] of ENDPOINTS) t.ok(app.hasRoute({ method, url }), `${method} ${url}`)
  for (const [
    what,
    { 'access-control-allow-origin': allowed, 'access-control-allow-credentials': credentials, ok, varies }
  ] of Object.entries(await seen(app))) {
    const [url = '', origin] = what.split(' ').slice(-2)
    const expected = url.startsWith('/.well-known/')
      ? '*'
      : FOR_BROWSERS.includes(url) && origin === SPA
        ? SPA
        : undefined
    t.equal(allowed, expected, what)
    t.equal(credentials, undefined, what)
    t.not(ok, false, what)
    t.not(varies, false, what)
  }
})

const alone = (async () => await seen(await start(t, null, 'host first')))()

for (const [name, furnish] of Object.entries(HOSTS)) {
  for (const order of ['host first', 'ours first'] as const) {
    // covers ASVS-3.4.2 R9700-2.6
    t.test(`keeps the CORS policy of our endpoints with CORS of the host: ${name}, ${order}`, async (t) => {
      const actual = await seen(await start(t, furnish, order))
      for (const [what, answer] of Object.entries(await alone)) t.same(actual[what], answer, what)
    })
  }
}

t.test('applies the CORS policy of the host to its own routes and our account endpoints', async (t) => {
  for (const order of ['host first', 'ours first'] as const) {
    const app = await start(t, withCors({ origin: EVIL, credentials: true }), order)
    for (const url of ['/host', '/auth/sessions']) {
      const reply = await app.inject({ url, headers: { origin: EVIL } })
      t.same(corsOf(reply), { 'access-control-allow-origin': EVIL, 'access-control-allow-credentials': 'true' }, url)
    }
  }
})

t.test('starts with OPTIONS routes of the host for our paths, and keeps them', async (t) => {
  const app = await start(
    t,
    (app) => {
      app.options('/auth/token', async () => 'of the host')
      app.options('*', async () => 'of the host')
    },
    'host first'
  )
  t.equal((await app.inject({ method: 'OPTIONS', url: '/auth/token' })).body, 'of the host')
  t.equal((await app.inject({ method: 'OPTIONS', url: '/auth/revoke' })).statusCode, 204)
  t.equal((await app.inject({ method: 'OPTIONS', url: '/other' })).body, 'of the host')
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/token', headers: { origin: SPA }, payload: {} })).headers[
      'access-control-allow-origin'
    ],
    SPA
  )
})

t.test('answers preflights for the documents of two plugins in one app, each on its host', async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  await app.register(authPlugin, ownOptions({ keys, issuer: 'https://a.example' }))
  await app.register(
    authPlugin,
    ownOptions({
      keys,
      issuer: 'https://b.example',
      prefix: '/b',
      decorators: { authenticate: 'b1', requireScope: 'b2', authority: 'b3', auth: 'b4', authSession: 'b5' }
    })
  )
  for (const host of ['a.example', 'b.example']) {
    const reply = await app.inject({
      method: 'OPTIONS',
      url: '/.well-known/jwks.json',
      headers: { host, origin: EVIL, 'access-control-request-method': 'GET' }
    })
    t.equal(reply.statusCode, 204)
    t.equal(reply.headers['access-control-allow-origin'], '*')
  }
})

t.test('omits preflight routes from the document of @fastify/swagger', async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  await app.register(swagger, { openapi: {} })
  await app.register(authPlugin, ownOptions({ keys }))
  await app.ready()
  const { paths = {} } = app.swagger() as { paths?: Record<string, object> }
  t.ok('/auth/token' in paths)
  for (const [path, operations] of Object.entries(paths)) t.notOk('options' in operations, path)
})
