import Fastify, {
  type FastifyInstance,
  type FastifyServerOptions,
  type InjectOptions,
  type LightMyRequestResponse
} from 'fastify'
import cookie from '@fastify/cookie'
import cors from '@fastify/cors'
import formbody from '@fastify/formbody'
import helmet from '@fastify/helmet'
import jwt from '@fastify/jwt'
import rateLimit from '@fastify/rate-limit'
import authPlugin, { type AuthorityOptions, memoryUserStore } from '../../../../lib/index.ts'
import { fastHasher, steppedClock } from '../../../../lib/testing/index.ts'
import { bearer, ISSUER, PASSWORD } from '../../../support/app.ts'

export type Order = 'host first' | 'ours first' | 'without us'

export interface HostApp {
  app: FastifyInstance
  /** Paths of the requests that the host's onResponse hook saw. */
  responded: string[]
}

export const ownOptions = (options: Partial<AuthorityOptions> = {}): AuthorityOptions => ({
  issuer: ISSUER,
  users: memoryUserStore(),
  clock: steppedClock(),
  sendMessage() {},
  ...(options.users === undefined ? { registration: { username: 'any' as const } } : {}),
  ...options,
  password: { hasher: fastHasher(), ...options.password }
})

/** A host with its own plugins, handlers, hooks, compilers and routes, with or without the plugin. */
export async function hostApp(
  order: Order,
  options: Partial<AuthorityOptions> = {},
  server: FastifyServerOptions = {}
): Promise<HostApp> {
  let serial = 0
  const app = Fastify({ genReqId: () => `host-${++serial}`, ...server }) as unknown as FastifyInstance
  const responded: string[] = []
  if (order === 'ours first') await app.register(authPlugin, ownOptions(options))
  await furnish(app, responded)
  if (order === 'host first') await app.register(authPlugin, ownOptions(options))
  hostRoutes(app)
  await app.ready()
  return { app, responded }
}

/** As `hostApp`, but host and plugin are in a child app with a prefix. */
export async function nestedHostApp(order: Order, options: Partial<AuthorityOptions> = {}): Promise<HostApp> {
  let serial = 0
  const app = Fastify({ genReqId: () => `host-${++serial}` }) as unknown as FastifyInstance
  const responded: string[] = []
  await app.register(
    async (child) => {
      if (order === 'ours first') await child.register(authPlugin, ownOptions(options))
      await furnish(child, responded)
      if (order === 'host first') await child.register(authPlugin, ownOptions(options))
      hostRoutes(child)
    },
    { prefix: '/api' }
  )
  app.get('/outside', async () => ({
    decorated: app.hasDecorator('authenticate'),
    auth: app.hasRequestDecorator('auth')
  }))
  await app.ready()
  return { app, responded }
}

async function furnish(app: FastifyInstance, responded: string[]): Promise<void> {
  await app.register(jwt, { secret: 'the secret of the host, 32 bytes or more', sign: { noTimestamp: true } as never })
  await app.register(rateLimit, { global: true, max: 50, timeWindow: 3_600_000 })
  await app.register(cookie)
  await app.register(formbody)
  await app.register(cors, { origin: 'https://spa.example', credentials: true })
  await app.register(helmet)
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) =>
    reply.code(error.statusCode ?? 500).send({ host: 'error', message: error.message, id: request.id })
  )
  app.setNotFoundHandler((request, reply) => reply.code(404).send({ host: 'not found', url: request.url }))
  // Marks the host's own processing: every body is stamped and every response wrapped.
  app.setValidatorCompiler<{ stamp?: string }>(
    ({ schema }) =>
      (value: unknown) =>
        typeof value === 'object' && value !== null && 'bad' in value
          ? { error: new Error('the validator of the host') }
          : { value: { ...(value as object), stamp: schema.stamp ?? 'none' } }
  )
  app.setSerializerCompiler(() => (value) => JSON.stringify({ serialised: 'by the host', value }))
  app.setReplySerializer((value) => JSON.stringify({ replied: 'by the host', value }))
  app.addContentTypeParser('text/plain', { parseAs: 'string' }, (_request, body, done) => {
    done(null, { text: body })
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-host-id', request.id)
    if (request.headers['x-host-fail'] === 'error')
      throw Object.assign(new Error('a hook of the host failed'), { statusCode: 418 })
    // Some hosts throw plain objects: the README of @fastify/rate-limit does.
    if (request.headers['x-host-fail'] === 'object')
      throw { statusCode: 419, message: 'a plain object' } as unknown as Error
  })
  app.addHook('onSend', async (_request, reply) => {
    reply.header('x-host-on-send', 'yes')
  })
  app.addHook('onResponse', async (request) => {
    responded.push(request.url)
  })
}

function hostRoutes(app: FastifyInstance): void {
  app.get('/host/token', async () => ({
    token: app.jwt.sign({ name: 'of the host' }),
    keys: Object.keys(app.jwt).sort()
  }))
  app.get(
    '/host/me',
    {
      onRequest: async (request) => {
        await request.jwtVerify()
      }
    },
    async (request) => ({ user: request.user })
  )
  app.get('/host/anonymous', async (request) => ({ user: (request as { user?: unknown }).user ?? null }))
  app.get('/host/limited', { config: { rateLimit: { max: 2, timeWindow: 3_600_000 } } }, async () => 'passed')
  app.get('/host/cookie', async (request, reply) =>
    reply.setCookie('host', 'value', { path: '/' }).send({ cookies: request.cookies })
  )
  app.post('/host/form', async (request) => ({ body: request.body }))
  app.post(
    '/host/validated',
    { schema: { body: { type: 'object', stamp: 'checked' }, response: { 200: { type: 'object' } } } },
    async (request) => ({ body: request.body })
  )
  app.get('/host/boom', async () => {
    throw new Error('of the host')
  })
  app.get('/host/teapot', async () => {
    throw Object.assign(new Error('short and stout'), { statusCode: 418 })
  })
}

/** Everything that a client sees of the host's own routes, in a fixed order, without times. */
export async function hostBehaviour(app: FastifyInstance, prefix = ''): Promise<unknown[]> {
  const token = app.inject({ url: `${prefix}/host/token` })
  const hostToken = readToken((await token).json())
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const json = { 'content-type': 'application/json' }
  const requests: InjectOptions[] = [
    { url: `${prefix}/host/token` },
    { url: `${prefix}/host/me`, headers: bearer(hostToken) },
    { url: `${prefix}/host/me`, headers: bearer(`${hostToken}x`) },
    { url: `${prefix}/host/me` },
    { url: `${prefix}/host/anonymous` },
    { url: `${prefix}/host/limited` },
    { url: `${prefix}/host/limited` },
    { url: `${prefix}/host/limited` },
    { url: `${prefix}/host/cookie`, headers: { cookie: 'a=b; c=d' } },
    { method: 'POST', url: `${prefix}/host/form`, headers: form, payload: 'a=1&a=2&b=x+y' },
    { method: 'POST', url: `${prefix}/host/form`, headers: json, payload: '{"a":1,"a":2}' },
    { method: 'POST', url: `${prefix}/host/form`, headers: json, payload: '{"a":' },
    { method: 'POST', url: `${prefix}/host/form`, headers: json, payload: '{"__proto__":{}}' },
    { method: 'POST', url: `${prefix}/host/form`, headers: { 'content-type': 'text/plain' }, payload: 'text' },
    { method: 'POST', url: `${prefix}/host/form`, headers: { 'content-type': 'text/csv' }, payload: 'a;b' },
    { method: 'POST', url: `${prefix}/host/validated`, headers: json, payload: '{"a":"1"}' },
    { method: 'POST', url: `${prefix}/host/validated`, headers: json, payload: '{"bad":true}' },
    { url: `${prefix}/host/boom` },
    { url: `${prefix}/host/teapot` },
    { url: `${prefix}/host/token`, headers: { 'x-host-fail': 'error' } },
    { url: `${prefix}/host/token`, headers: { 'x-host-fail': 'object' } },
    { url: `${prefix}/host/none` },
    { method: 'DELETE', url: `${prefix}/host/token` },
    {
      method: 'OPTIONS',
      url: `${prefix}/host/token`,
      headers: { origin: 'https://spa.example', 'access-control-request-method': 'GET' }
    },
    {
      method: 'OPTIONS',
      url: `${prefix}/host/form`,
      headers: { origin: 'https://other.example', 'access-control-request-method': 'POST' }
    },
    { method: 'HEAD', url: `${prefix}/host/token` }
  ]
  const seen: unknown[] = []
  for (const request of requests) seen.push({ request, reply: withoutTime(await app.inject(request)) })
  return seen
}

/** Calls the JSON endpoints and returns their unexpected answers: an empty list if there are none. */
export async function authJourney(
  app: FastifyInstance,
  prefix = '/auth',
  jwks = '/.well-known/jwks.json'
): Promise<string[]> {
  const wrong: string[] = []
  const expect = async (
    status: number,
    request: {
      method?: 'GET' | 'POST' | 'DELETE'
      url: string
      payload?: object | string
      headers?: Record<string, string>
    }
  ): Promise<LightMyRequestResponse> => {
    const reply = await app.inject({ method: 'POST', ...request })
    if (reply.statusCode !== status)
      wrong.push(`${request.url}: ${reply.statusCode} instead of ${status}: ${reply.body}`)
    if (status >= 400 && Object.keys(reply.json() as object).join() !== 'error,error_description')
      wrong.push(`${request.url}: ${reply.body}`)
    if (/by the host/.test(reply.body)) wrong.push(`${request.url}: written by the host's serialiser: ${reply.body}`)
    return reply
  }
  const login = { grant_type: 'password', username: 'ann@mail.example', password: PASSWORD }
  await expect(201, { url: `${prefix}/register`, payload: { username: 'ann@mail.example', password: PASSWORD } })
  await expect(409, { url: `${prefix}/register`, payload: { username: 'ann@mail.example', password: PASSWORD } })
  await expect(400, { url: `${prefix}/register`, payload: { username: 'bob', password: PASSWORD, age: 5 } })
  await expect(400, { url: `${prefix}/token`, payload: { ...login, password: 'wrong one' } })
  await expect(200, {
    url: `${prefix}/token`,
    payload: new URLSearchParams(login).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' }
  })
  await expect(400, {
    url: `${prefix}/token`,
    payload: 'grant_type=password&grant_type=password',
    headers: { 'content-type': 'application/x-www-form-urlencoded' }
  })
  await expect(415, { url: `${prefix}/token`, payload: 'text', headers: { 'content-type': 'text/plain' } })
  const tokens: { access_token: string; refresh_token: string } = (
    await expect(200, { url: `${prefix}/token`, payload: login })
  ).json()
  await expect(200, { url: `${prefix}/refresh`, headers: bearer(tokens.refresh_token) })
  await expect(401, { url: `${prefix}/refresh`, headers: bearer('x.y') })
  await expect(200, { method: 'GET', url: `${prefix}/sessions`, headers: bearer(tokens.access_token) })
  await expect(401, { method: 'GET', url: `${prefix}/sessions` })
  await expect(404, { method: 'DELETE', url: `${prefix}/sessions/none`, headers: bearer(tokens.access_token) })
  await expect(204, {
    url: `${prefix}/password`,
    headers: bearer(tokens.access_token),
    payload: { current_password: PASSWORD, new_password: 'an entirely new password' }
  })
  await expect(202, { url: `${prefix}/password-reset`, payload: { username: 'ann@mail.example' } })
  await expect(400, { url: `${prefix}/password-reset/confirm`, payload: { token: 'x', password: PASSWORD } })
  await expect(400, { url: `${prefix}/email/verify`, payload: { token: 'x' } })
  const keys: { keys: unknown[] } = (await expect(200, { method: 'GET', url: jwks })).json()
  if (keys.keys?.length === undefined || keys.keys.length < 1) wrong.push(`${jwks}: ${JSON.stringify(keys)}`)
  return wrong
}

function readToken(body: unknown): string {
  const { value = body } = body as { value?: unknown }
  return (value as { token: string }).token
}

function withoutTime({ statusCode, headers, body }: LightMyRequestResponse): unknown {
  const timed = ['date', 'x-ratelimit-reset', ...(statusCode === 429 ? ['retry-after', 'content-length'] : [])]
  return {
    statusCode,
    headers: Object.entries(headers).map(([name, value]) => (timed.includes(name) ? name : [name, value])),
    body: body.replace(/retry in .*?"/, 'retry later"')
  }
}
