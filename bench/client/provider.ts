import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import { systemClock } from '../../lib/adapters/node/system.ts'
import authPlugin, { memoryFactorStore, memoryUserStore, type User } from '../../lib/index.ts'
import { fastHasher, totpCode } from '../../lib/testing/index.ts'
import { allowCredentials, asAuth0, asKeycloak, TRANSLATED } from './manners.ts'
import type { ApiAnswer } from './site.ts'

export const USER = { username: 'ann', password: 'correct horse battery' }

/** The key of every authenticator app. */
const APP_KEY = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'

/** A person who can sign in. */
export interface Person {
  username: string
  password: string
  /** The code that their authenticator app shows now. */
  code?: () => string
}

/** The fate of a request to the token endpoint before it gets there. */
export type Fault = 'none' | 'unavailable' | 'gateway' | 'drop' | 'hang' | { delay: number }

export interface Counts {
  /** Requests that a page made to the token endpoint, whatever became of them. */
  requests: number
  /** Codes that came. */
  codes: number
  /** Codes and refresh tokens that came a second time. */
  reuses: number
}

export interface Provider {
  origin: string
  fault: Fault
  /** Milliseconds that its clock is ahead of this machine's. */
  ahead: number
  counts: Counts
  /** True if the server takes this access token, and its session lives. */
  takes(accessToken: unknown): Promise<boolean>
  /** The API of the app. `/api/strict` wants a second factor of the last five minutes, `/api` any token. */
  api(path: string, authorization: string | undefined): Promise<ApiAnswer>
  /** A new person; `app`: they have an authenticator app. */
  addPerson(options?: { app?: boolean }): Promise<Person>
  close(): Promise<void>
}

const KEYS = [
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

/**
 * This plugin at its strictest: access tokens of five seconds, every refresh token works once, and one that comes twice
 * ends its session. In front of it, in the same process, what a network does to requests, and what `manners` a client
 * needs.
 */
export async function startProvider(clientOrigin: string, manners?: 'auth0' | 'keycloak'): Promise<Provider> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  const app: FastifyInstance = Fastify({
    serverFactory: (handler) =>
      server.on('request', (request, response) => {
        if (manners === 'keycloak') allowCredentials(response)
        front(provider, request, response, handler)
      })
  })
  const provider: Provider = {
    origin,
    fault: 'none',
    ahead: 0,
    counts: { requests: 0, codes: 0, reuses: 0 },
    async takes(accessToken) {
      const { statusCode } = await app.inject({
        url: '/auth/userinfo',
        headers: { authorization: `Bearer ${String(accessToken)}` }
      })
      return statusCode === 200
    },
    async api(path, authorization) {
      const { statusCode, headers } = await app.inject({
        url: path,
        headers: authorization === undefined ? {} : { authorization }
      })
      return { status: statusCode, challenge: headers['www-authenticate']?.toString() }
    },
    async addPerson({ app: hasApp = false } = {}) {
      const username = `person-${people++}`
      const { id } = await addUser(username)
      if (!hasApp) return { username, password: USER.password }
      await app.authority.importTotp(id, { secret: APP_KEY })
      return { username, password: USER.password, code: () => totpCode(APP_KEY, systemClock.now() + provider.ahead) }
    },
    async close() {
      // Not Fastify's to close: it was listening before.
      server.close()
      server.closeAllConnections()
      await app.close()
    }
  }
  if (manners === 'auth0') asAuth0(app, origin)
  if (manners === 'keycloak') asKeycloak(app)
  countReuses(app, provider)
  const users = memoryUserStore()
  const hasher = fastHasher()
  let people = 0
  const addUser = async (username: string): Promise<User> =>
    await users.create({
      username,
      passwordHash: await app.authority.hashPassword(USER.password),
      email: `${username}@example.com`,
      emailVerified: true
    })
  await app.register(authPlugin, {
    issuer: origin,
    users,
    keys: KEYS,
    clock: { ...systemClock, now: () => systemClock.now() + provider.ahead },
    rateLimit: false,
    factors: memoryFactorStore(),
    passkeys: { prompt: false },
    password: { hasher },
    accessToken: { expiresIn: 5 },
    refreshToken: { rotate: 'oauth', reuseGraceSeconds: 0 },
    clients: [
      {
        clientId: 'app',
        redirectUris: ['', '/csp', '/tt'].map((base) => `${clientOrigin}${base}/callback`),
        postLogoutRedirectUris: [`${clientOrigin}/signed-out`]
      }
    ]
  })
  app.get('/api', { onRequest: app.authenticate }, async () => ({}))
  app.get(
    '/api/strict',
    { onRequest: [app.authenticate, app.requireAuth({ acr: 'mfa', maxAge: 300 })] },
    async () => ({})
  )
  await app.ready()
  await addUser(USER.username)
  return provider
}

function front(provider: Provider, request: IncomingMessage, response: ServerResponse, handler: RequestListener): void {
  const { pathname, search } = new URL(request.url ?? '/', provider.origin)
  request.url = `${TRANSLATED[pathname] ?? pathname}${search}`
  const pass = (): void => {
    handler(request, response)
  }
  const unavailable = (type: string, body: string): void => {
    response
      .writeHead(503, {
        'access-control-allow-origin': request.headers.origin,
        'access-control-allow-credentials': 'true',
        'content-type': type
      })
      .end(body)
  }
  if (!request.url.startsWith('/auth/token') || request.method !== 'POST') {
    pass()
    return
  }
  provider.counts.requests += 1
  const { fault } = provider
  if (fault === 'none') pass()
  else if (fault === 'drop') request.socket.destroy()
  else if (fault === 'gateway') unavailable('text/html', '<h1>Service Unavailable</h1>')
  else if (fault === 'unavailable') unavailable('application/json', '{"error":"temporarily_unavailable"}')
  else if (fault !== 'hang') setTimeout(pass, fault.delay)
}

function countReuses(app: FastifyInstance, provider: Provider): void {
  const seen = new Set<string>()
  app.addHook('preHandler', async ({ url, method, body }) => {
    if (!url.startsWith('/auth/token') || method !== 'POST') return
    const { code, refresh_token: refreshToken } = body as Record<string, string>
    if (code !== undefined) provider.counts.codes += 1
    const spent = code ?? refreshToken ?? ''
    if (seen.has(spent)) provider.counts.reuses += 1
    seen.add(spent)
  })
}
