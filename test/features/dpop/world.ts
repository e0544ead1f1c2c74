import Fastify, { type FastifyInstance } from 'fastify'
import authPlugin, { type AuthorityOptions, type Client, memoryUserStore } from '../../../lib/index.ts'
import { fastHasher, type SteppedClock, steppedClock } from '../../../lib/testing/index.ts'
import { bearer, ISSUER, type LightMyRequestResponse, PASSWORD, signUp } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import { basic, CALLBACK, CLIENTS, KEYS, SECRET } from '../../support/openid.ts'
import type { Test } from '../../support/tap.ts'
import { proofOf, RESOURCE, type SigningKey } from '../resource/world.ts'

export const ORDERS = `${RESOURCE}/orders`
export const TOKEN_URL = `${ISSUER}/auth/token`

const EVERY_GRANT: Client['grantTypes'] = ['password', 'authorization_code', 'refresh_token']

export const DPOP_CLIENTS: Client[] = [
  ...CLIENTS,
  { clientId: 'app', redirectUris: [CALLBACK], grantTypes: EVERY_GRANT },
  { clientId: 'strict', redirectUris: [CALLBACK], grantTypes: EVERY_GRANT, dpopBoundAccessTokens: true },
  { clientId: 'site', clientSecret: SECRET, redirectUris: [CALLBACK], grantTypes: EVERY_GRANT },
  { clientId: 'machine', clientSecret: SECRET, grantTypes: ['client_credentials'] },
  { clientId: 'strictMachine', clientSecret: SECRET, grantTypes: ['client_credentials'], dpopBoundAccessTokens: true }
]

export interface DpopApp {
  app: FastifyInstance
  clock: SteppedClock
  browser: TestBrowser
}

/** An app with DPoP, a user, clients, and an API. */
export async function dpopApp(t: Test, options: Partial<AuthorityOptions> = {}): Promise<DpopApp> {
  const app = Fastify({ pluginTimeout: 120_000 }) as unknown as FastifyInstance
  const clock = steppedClock()
  await app.register(authPlugin, {
    issuer: ISSUER,
    users: memoryUserStore(),
    clock,
    rateLimit: false,
    registration: { username: 'any' },
    dpop: true,
    keys: KEYS,
    clients: DPOP_CLIENTS,
    ...options,
    password: { hasher: fastHasher() }
  })
  const api = app.protectedResource({ resource: RESOURCE, scopes: ['orders:read', 'orders:write'] })
  app.get('/me', { onRequest: app.authenticate }, async (request) => request.auth)
  app.get('/admin', { onRequest: [app.authenticate, app.requireScope('admin')] }, async () => 'admin')
  app.get('/v1/orders', { onRequest: api }, async (request) => request.auth)
  app.post('/v1/orders', { onRequest: [api, api.requireScope('orders:write')] }, async () => ({}))
  app.get('/user', { onRequest: app.requireUser }, async (request) => request.auth)
  app.get('/maybe', { onRequest: app.authenticateOptional }, async (request) => ({ auth: request.auth }))
  await app.ready()
  t.teardown(async () => {
    await app.close()
  })
  await signUp(app)
  return { app, clock, browser: testBrowser(app) }
}

export interface Answer {
  status: number
  body: Record<string, unknown> & { access_token: string; refresh_token: string }
  headers: LightMyRequestResponse['headers']
}

/** Sends a token request with the given proof, or with a proof by the given key. */
export async function ask(
  { app, clock }: Pick<DpopApp, 'app' | 'clock'>,
  fields: Record<string, string>,
  proof?: SigningKey | string,
  headers: Record<string, string> = {}
): Promise<Answer> {
  const text = typeof proof === 'object' ? proofOf(proof, { clock, url: TOKEN_URL, method: 'POST' }) : proof
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(text === undefined ? {} : { dpop: text }),
      ...headers
    },
    payload: new URLSearchParams(fields).toString()
  })
  return { status: reply.statusCode, body: reply.json(), headers: reply.headers }
}

export const password = (clientId?: string, more: Record<string, string> = {}): Record<string, string> => ({
  grant_type: 'password',
  username: 'ann',
  password: PASSWORD,
  ...(clientId === undefined ? {} : { client_id: clientId }),
  ...more
})

export const asSite = basic('site', SECRET)
export const asMachine = basic('machine', SECRET)

/** Sends a token under a scheme, with a proof. */
export async function send(
  { app }: Pick<DpopApp, 'app'>,
  url: string,
  token: string,
  { proof, scheme = 'DPoP', method = 'GET' }: { proof?: string; scheme?: string; method?: 'GET' | 'POST' } = {}
): Promise<LightMyRequestResponse> {
  return await app.inject({
    method,
    url,
    headers: { ...bearer(token), authorization: `${scheme} ${token}`, ...(proof === undefined ? {} : { dpop: proof }) }
  })
}
