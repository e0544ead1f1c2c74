import { generateKeyPairSync } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import authPlugin, { type AuthorityOptions, memoryUserStore, postgresState, sqliteState } from '../lib/index.ts'
import { sqliteFile } from './databases.ts'
import { postgresPool, redisClient } from './rounds.ts'
import { basic, bearer, type Entry, type HttpBenchmark, type LoadedRequest, listen, type Subject } from './subject.ts'

const CONNECTIONS = 50
const secret = 'a secret of at least 32 characters, used for nothing else'
const KEYS: Record<string, NonNullable<AuthorityOptions['keys']>> = {
  HS256: { secret },
  ES256: [
    {
      ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
      alg: 'ES256',
      kid: 'es'
    }
  ]
}

/** With the limits that it has by default. */
async function ours(
  alg: string,
  options: Partial<AuthorityOptions> = {}
): Promise<{ app: FastifyInstance; tokens: string[] }> {
  const app = Fastify() as unknown as FastifyInstance
  const users = memoryUserStore(
    Array.from({ length: CONNECTIONS }, (_none, index) => ({
      id: `u${index}`,
      username: `user-${index}`,
      passwordHash: null
    }))
  )
  await app.register(authPlugin, {
    issuer: 'http://localhost',
    secret,
    users,
    keys: KEYS[alg] as NonNullable<AuthorityOptions['keys']>,
    ...options
  })
  await app.ready()
  const tokens: string[] = []
  for (let index = 0; index < CONNECTIONS; index++)
    tokens.push((await app.authority.issueTokens(`u${index}`)).refresh_token ?? '')
  return { app, tokens }
}

/** An app that asks for claims, and an API that asks about the tokens of the app. */
async function presented(endpoint: 'userinfo' | 'introspection', options: Partial<AuthorityOptions>): Promise<Subject> {
  const clients = [
    { clientId: 'app', redirectUris: ['https://app.example/callback'] },
    { clientId: 'api', clientSecret: secret, redirectUris: [] }
  ]
  const { app } = await ours('ES256', { clients, ...options })
  const requests: LoadedRequest[] = []
  for (let index = 0; index < CONNECTIONS; index++) {
    const { access_token: token } = await app.authority.issueTokens(`u${index}`, { clientId: 'app', scope: 'openid' })
    requests.push(
      endpoint === 'userinfo'
        ? { method: 'GET', path: '/auth/userinfo', headers: bearer(token), body: '' }
        : {
            method: 'POST',
            path: '/auth/introspect',
            headers: { 'content-type': 'application/x-www-form-urlencoded', ...basic('api', secret) },
            body: `token=${token}`
          }
    )
  }
  return { port: await listen(app), requests, status: 200 }
}
const refreshOf = (token: string): LoadedRequest => ({
  method: 'POST',
  path: '/auth/refresh',
  headers: bearer(token),
  body: ''
})
const rotation = (path: string): LoadedRequest => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ grant_type: 'refresh_token', refresh_token: '%TOKEN%' })
})

async function refresh(alg: string, options?: Partial<AuthorityOptions>): Promise<Subject> {
  const { app, tokens } = await ours(alg, options)
  return { port: await listen(app), requests: tokens.map(refreshOf), status: 200 }
}
async function rotate(alg: string, options?: Partial<AuthorityOptions>): Promise<Subject> {
  const { app, tokens } = await ours(alg, options)
  return {
    port: await listen(app),
    requests: [rotation('/auth/token')],
    status: 200,
    follow: { member: 'refresh_token', tokens }
  }
}

/** Gets and gives the bytes that a refresh does, and does nothing else. */
async function echo(kind: 'refresh' | 'rotation', alg: string): Promise<Subject> {
  const { app: other, tokens } = await ours(alg)
  const request = kind === 'refresh' ? refreshOf(tokens[0] ?? '') : rotation('/auth/token')
  const { method, path, headers, body } = request
  const reply = await other.inject({ method, url: path, headers, payload: body.replace('%TOKEN%', tokens[0] ?? '') })
  const answer: Record<string, unknown> = reply.json()
  await other.close()
  const app = Fastify() as unknown as FastifyInstance
  app.post(path, async () => answer)
  return {
    port: await listen(app),
    requests: kind === 'refresh' ? tokens.map(refreshOf) : [request],
    status: 200,
    ...(kind === 'refresh' ? {} : { follow: { member: 'refresh_token', tokens } })
  }
}

const onRedis = async (run: typeof refresh, alg: string): Promise<Subject> => await run(alg, { redis: redisClient() })

/** Each subject has a schema of its own. */
const onPostgres = (schema: string): Partial<AuthorityOptions> => ({ state: postgresState(postgresPool(), { schema }) })

function groupOf(alg: string): Record<string, Entry> {
  return {
    [`POST echo, refresh ${alg}`]: { start: async () => await echo('refresh', alg) },
    [`refresh ${alg}`]: { start: async () => await refresh(alg), against: `POST echo, refresh ${alg}` },
    [`refresh ${alg} on Redis`]: {
      start: async () => await onRedis(refresh, alg),
      against: `refresh ${alg}`,
      goal: 1.15
    },
    [`POST echo, rotation ${alg}`]: { start: async () => await echo('rotation', alg) },
    [`rotation ${alg}`]: { start: async () => await rotate(alg), against: `POST echo, rotation ${alg}` },
    [`rotation ${alg} on Redis`]: {
      start: async () => await onRedis(rotate, alg),
      against: `rotation ${alg}`,
      goal: 1.15
    }
  }
}

const peer = async (endpoint: 'token' | 'userinfo' | 'introspection'): Promise<Subject> =>
  await (await import('./peers/oidc-provider.ts')).oidcProvider(endpoint, CONNECTIONS, secret)

/** The peer keeps all in memory. */
const BESIDE_THE_PEER: Record<string, Entry> = {
  'oidc-provider, refresh grant': { start: async () => await peer('token'), against: 'POST echo, rotation HS256' },
  'rotation HS256 compared with oidc-provider': {
    start: async () => await rotate('HS256'),
    against: 'oidc-provider, refresh grant',
    goal: 0.45
  },
  'rotation HS256 on SQLite': {
    start: async () => await rotate('HS256', { state: sqliteState(await sqliteFile()) }),
    against: 'oidc-provider, refresh grant',
    goal: 0.8
  },
  'rotation HS256 on PostgreSQL': {
    start: async () => await rotate('HS256', onPostgres('rotation')),
    against: 'oidc-provider, refresh grant',
    database: 'postgres',
    goal: 1.2
  },
  'oidc-provider, userinfo': { start: async () => await peer('userinfo') },
  'userinfo on PostgreSQL': {
    start: async () => await presented('userinfo', onPostgres('userinfo')),
    against: 'oidc-provider, userinfo',
    database: 'postgres',
    goal: 1.2
  },
  'oidc-provider, introspection': { start: async () => await peer('introspection') },
  'introspection on PostgreSQL': {
    start: async () => await presented('introspection', onPostgres('introspection')),
    against: 'oidc-provider, introspection',
    database: 'postgres',
    goal: 1.35
  }
}

/** A new access token for a refresh token, with and without a new refresh token, and the uses of an access token. */
export const refreshing: HttpBenchmark = {
  title: 'refresh, rotation, userinfo and introspection',
  shotMs: 1000,
  concurrency: CONNECTIONS,
  databases: ['redis', 'postgres'],
  subjects: {
    ...groupOf('HS256'),
    ...groupOf('ES256'),
    ...BESIDE_THE_PEER,
    'better-auth, get-session': {
      start: async () => await (await import('./peers/better-auth.ts')).betterAuthSession(),
      against: 'POST echo, refresh HS256'
    }
  }
}
