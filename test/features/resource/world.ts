/** A fake issuer that signs any token, and an API that trusts it. */
import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { outbound } from '../../../lib/adapters/node/outbound.ts'
import type { Test } from '../../support/tap.ts'
import { type ResourceServerOptions, resourceServerWith } from '../../../lib/resource/plugin.ts'
import { steppedClock, type SteppedClock } from '../../../lib/testing/index.ts'

export const RESOURCE = 'https://api.example.com/v1'

export interface SigningKey {
  kid: string
  alg: string
  privateKey: KeyObject
  jwk: Record<string, unknown>
}

const KINDS: Record<string, () => { privateKey: KeyObject; publicKey: KeyObject }> = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  PS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 })
}

export function signingKey(alg = 'ES256', kid: string = randomUUID()): SigningKey {
  const { privateKey, publicKey } = (KINDS[alg] as () => { privateKey: KeyObject; publicKey: KeyObject })()
  return { kid, alg, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }) } }
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

export function jws(header: Record<string, unknown>, payload: Record<string, unknown>, key: SigningKey): string {
  const signed = `${part(header)}.${part(payload)}`
  const data = Buffer.from(signed)
  const signature =
    key.alg === 'EdDSA'
      ? sign(null, data, key.privateKey)
      : key.alg === 'ES256'
        ? sign('sha256', data, { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
        : key.alg === 'PS256'
          ? sign('sha256', data, { key: key.privateKey, padding: 6, saltLength: 32 })
          : sign('sha256', data, key.privateKey)
  return `${signed}.${signature.toString('base64url')}`
}

/** The thumbprint of RFC 7638. */
export function thumbprintOf({ jwk }: SigningKey): string {
  const names =
    jwk['kty'] === 'EC' ? ['crv', 'kty', 'x', 'y'] : jwk['kty'] === 'OKP' ? ['crv', 'kty', 'x'] : ['e', 'kty', 'n']
  return createHash('sha256')
    .update(JSON.stringify(Object.fromEntries(names.map((name) => [name, jwk[name]]))))
    .digest('base64url')
}

/** A DPoP proof, with changes to its header and payload. `undefined` leaves a member out. */
export function proofOf(
  key: SigningKey,
  { clock, url, token, method = 'GET' }: { clock: SteppedClock; url: string; token?: string; method?: string },
  changes: { header?: Record<string, unknown>; payload?: Record<string, unknown> } = {}
): string {
  return jws(
    { typ: 'dpop+jwt', alg: key.alg, jwk: key.jwk, ...changes.header },
    {
      jti: randomUUID(),
      htm: method,
      htu: url,
      iat: Math.floor(clock.now() / 1000),
      ...(token === undefined ? {} : { ath: createHash('sha256').update(token).digest('base64url') }),
      ...changes.payload
    },
    key
  )
}

export interface TestIssuer {
  issuer: string
  clock: SteppedClock
  keys: SigningKey[]
  /** The number of requests by path. */
  asked: Map<string, number>
  /** Tokens that the introspection endpoint reports as inactive. */
  inactive: Set<string>
  introspection: Record<string, unknown>
  /** `true`: every answer is 503. */
  down: boolean
  token(changes?: Record<string, unknown>, header?: Record<string, unknown>, key?: SigningKey): string
  close(): Promise<void>
}

export async function testIssuer(path = ''): Promise<TestIssuer> {
  const app = Fastify()
  const clock = steppedClock()
  const world: TestIssuer = {
    issuer: '',
    clock,
    keys: [signingKey()],
    asked: new Map(),
    inactive: new Set(),
    introspection: {},
    down: false,
    token(changes = {}, header = {}, key = world.keys[0] as SigningKey) {
      const now = Math.floor(clock.now() / 1000)
      return jws(
        { typ: 'at+jwt', alg: key.alg, kid: key.kid, ...header },
        {
          iss: world.issuer,
          aud: RESOURCE,
          sub: 'u1',
          client_id: 'c1',
          scope: 'orders:read',
          jti: randomUUID(),
          iat: now,
          exp: now + 600,
          ...changes
        },
        key
      )
    },
    async close() {
      await app.close()
    }
  }
  app.addHook('onRequest', async (request, reply) => {
    const { pathname } = new URL(request.url, 'http://x')
    world.asked.set(pathname, (world.asked.get(pathname) ?? 0) + 1)
    if (world.down) return await reply.code(503).send({})
  })
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(body as string)))
  })
  app.get(`/.well-known/oauth-authorization-server${path}`, async () => ({
    issuer: world.issuer,
    jwks_uri: `${world.issuer}/keys`,
    introspection_endpoint: `${world.issuer}/introspect`
  }))
  app.get(`${path}/keys`, async () => ({
    keys: [
      { kty: 'oct', k: 'c2VjcmV0', alg: 'HS256', kid: 'shared' },
      ...world.keys.map(({ jwk, kid, alg }) => ({ ...jwk, kid, alg, use: 'sig' }))
    ]
  }))
  app.post(`${path}/introspect`, async (request) => {
    const { token } = request.body as { token: string }
    return world.inactive.has(token)
      ? { active: false }
      : { active: true, iss: world.issuer, aud: RESOURCE, ...world.introspection }
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const address = app.server.address() as { port: number }
  world.issuer = `http://127.0.0.1:${address.port}${path}`
  return world
}

/** An API behind `resourceServer`, with one route for each guard. */
export async function testApi(
  { issuer, clock }: TestIssuer,
  options: Partial<ResourceServerOptions> = {}
): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(fp(resourceServerWith({ clock, outbound: outbound(clock) })), {
    issuer,
    resource: RESOURCE,
    scopes: ['orders:read', 'orders:write'],
    ...options
  })
  app.get('/v1/orders', { onRequest: app.authenticate }, async (request) => ({
    auth: request.auth,
    mcp: request.raw.auth
  }))
  app.post('/v1/orders', { onRequest: [app.authenticate, app.requireScope('orders:write')] }, async () => ({}))
  app.get('/v1/fresh', { onRequest: [app.authenticate, app.requireAuth({ maxAge: 60, acr: 'mfa' })] }, async () => ({}))
  await app.ready()
  return app
}

/** An issuer and an API, and a function that asks the API. */
export async function testWorld(t: Test, options: Partial<ResourceServerOptions> = {}) {
  const issuer = await testIssuer()
  const app = await testApi(issuer, options)
  t.teardown(async () => {
    await app.close()
    await issuer.close()
  })
  const get = async (authorization?: string, headers: Record<string, string> = {}, url = '/v1/orders') =>
    await app.inject({ url, headers: { ...(authorization === undefined ? {} : { authorization }), ...headers } })
  return { issuer, app, get }
}
