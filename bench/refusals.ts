import jwt from '@fastify/jwt'
import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance, InjectOptions } from 'fastify'
import authPlugin, { type AuthorityOptions, type Clock, memoryState, memoryUserStore } from '../lib/index.ts'
import { systemClock } from '../lib/adapters/node/system.ts'
import { foreignTokens, newApp } from './protected-apps.ts'
import { bearer, type Entry, type HttpBenchmark, type LoadedRequest, listen, type Subject } from './subject.ts'

interface Refusing {
  app: FastifyInstance
  request: LoadedRequest
}

async function protectedApp(options: Partial<AuthorityOptions> = {}): Promise<FastifyInstance> {
  const app = newApp()
  await app.register(authPlugin, {
    issuer: 'http://localhost',
    users: memoryUserStore([{ id: 'u1', username: 'ann', passwordHash: null }]),
    ...options
  })
  app.get('/', { onRequest: app.authenticate }, async () => ({ hello: 'world' }))
  await app.ready()
  return app
}
const get = (headers: Record<string, string>): LoadedRequest => ({ method: 'GET', path: '/', headers, body: '' })

const OURS: Record<string, () => Promise<Refusing>> = {
  '401, no token': async () => ({ app: await protectedApp(), request: get({}) }),
  '401, malformed token': async () => ({ app: await protectedApp(), request: get(bearer('not.a-token')) }),
  async '401, expired token'() {
    let passedMs = 0
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + passedMs }
    const app = await protectedApp({ clock })
    const { access_token: token } = await app.authority.issueTokens('u1')
    passedMs = 3_600_000
    return { app, request: get(bearer(token)) }
  },
  async '429, sign-in'() {
    const app = await protectedApp({ rateLimit: { login: { max: 1, windowMs: 3_600_000 } } })
    const body = JSON.stringify({ grant_type: 'password', username: 'ann', password: 'wrong' })
    return {
      app,
      request: { method: 'POST', path: '/auth/token', headers: { 'content-type': 'application/json' }, body }
    }
  },
  async '503, key out of reach'() {
    const state = memoryState()
    let reachable = true
    // The store is looked at again only some seconds after the last time.
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + (reachable ? 0 : 60_000) }
    const keys = {
      ...state.keys,
      list: async () => {
        if (!reachable) throw new Error('the store is down')
        return await state.keys.list()
      }
    }
    const app = await protectedApp({
      clock,
      state: { ...state, keys },
      secret: 'a secret of at least 32 characters, used for nothing else'
    })
    await app.authority.issueTokens('u1')
    reachable = false
    const [token = ''] = await foreignTokens(1)
    return { app, request: get(bearer(token)) }
  }
}

/** In hop-by-hop and by the server itself. */
const NOT_COPIED = new Set(['connection', 'keep-alive', 'date', 'content-length'])

async function answerOf({
  app,
  request
}: Refusing): Promise<{ status: number; headers: Record<string, string>; body: string }> {
  const inject: InjectOptions = {
    method: request.method,
    url: request.path,
    headers: request.headers,
    ...(request.body === '' ? {} : { payload: request.body })
  }
  await app.inject(inject)
  const { statusCode, headers, body } = await app.inject(inject)
  return {
    status: statusCode,
    headers: Object.fromEntries(
      Object.entries(headers)
        .filter(([name]) => !NOT_COPIED.has(name))
        .map(([name, value]) => [name, String(value)])
    ),
    body
  }
}

async function ours(refusal: string): Promise<Subject> {
  const refusing = await (OURS[refusal] as () => Promise<Refusing>)()
  const { status } = await answerOf(refusing)
  return { port: await listen(refusing.app), requests: [refusing.request], status }
}

/** Answers with the same status, headers and bytes, and does nothing else. */
async function bare(refusal: string): Promise<Subject> {
  const refusing = await (OURS[refusal] as () => Promise<Refusing>)()
  const { status, headers, body } = await answerOf(refusing)
  await refusing.app.close()
  const app = newApp()
  const content: unknown = JSON.parse(body)
  const { method, path, body: sent } = refusing.request
  app.route({
    method,
    url: path,
    handler: (_request, reply) => {
      reply.code(status).headers(headers).send(content)
    }
  })
  return { port: await listen(app), requests: [{ ...refusing.request, body: sent }], status }
}

async function rateLimited(): Promise<Subject> {
  const app = newApp()
  await app.register(rateLimit, { max: 1, timeWindow: 3_600_000 })
  const { request } = await (OURS['429, sign-in'] as () => Promise<Refusing>)()
  app.post(request.path, async () => ({}))
  await app.inject({ method: 'POST', url: request.path })
  return { port: await listen(app), requests: [request], status: 429 }
}

async function jwtRefused(headers: Record<string, string>): Promise<Subject> {
  const app = newApp()
  await app.register(jwt, { secret: 'a secret of at least 32 characters, used for nothing else' })
  app.get(
    '/',
    {
      onRequest: async (request) => {
        await request.jwtVerify()
      }
    },
    async () => ({})
  )
  return { port: await listen(app), requests: [get(headers)], status: 401 }
}

export const refusals: HttpBenchmark = {
  title: 'refusals',
  shotMs: 300,
  concurrency: 20,
  subjects: {
    ...Object.fromEntries(
      Object.keys(OURS).flatMap((refusal): Array<[string, Entry]> => [
        [`bare route, ${refusal}`, { start: async () => await bare(refusal) }],
        [refusal, { start: async () => await ours(refusal), against: `bare route, ${refusal}`, goal: 1.1 }]
      ])
    ),
    '@fastify/jwt, no token': { start: async () => await jwtRefused({}), against: 'bare route, 401, no token' },
    '@fastify/jwt, malformed token': {
      start: async () => await jwtRefused(bearer('not.a-token')),
      against: 'bare route, 401, malformed token'
    },
    '@fastify/rate-limit': { start: rateLimited, against: 'bare route, 429, sign-in' }
  }
}
