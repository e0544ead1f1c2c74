/**
 * A host that types @fastify/jwt for itself, as its README tells it to, and uses this plugin beside it. Compiled against the
 * built package, as a consumer's compiler sees it. Each `@ts-expect-error` fails the check where there is no error.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import jwt from '@fastify/jwt'
import authPlugin, { authPlugin as named, memoryState, memoryUserStore, OAuthError, UsernameTakenError } from 'fastify-authority'
import type { NewUser, User, UserStore } from 'fastify-authority'

declare module '@fastify/jwt' {
  interface FastifyJWT {
    payload: { id: number }
    user: { id: number, name: string }
  }
}

const issuer = 'http://localhost:3000'
const users = memoryUserStore()

export async function quickStart (): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(jwt, { secret: 'the host has its own' })
  await app.register(authPlugin, { issuer, users })
  await app.register(named, { issuer, users, prefix: '/two', state: memoryState() })
  app.get('/me', { onRequest: [app.authenticate] }, async (request) => request.auth)
  app.get('/orders', { onRequest: [app.authenticate, app.requireScope('orders:read', 'orders:write')] }, async () => [])
  app.get('/admin', { onRequest: app.authenticate, preHandler: app.requireScope('admin') }, async () => [])
  await app.listen({ port: 3000 })
  return app
}

export async function hostsOfEveryKind (): Promise<void> {
  await Fastify({ logger: true }).register(authPlugin, { issuer, users })
  await Fastify({ http2: true }).register(authPlugin, { issuer, users })
}

export async function wrongOptions (app: FastifyInstance): Promise<void> {
  // @ts-expect-error -- the issuer is required
  await app.register(authPlugin, { users })
  // @ts-expect-error -- the user store is required
  await app.register(authPlugin, { issuer })
  // @ts-expect-error -- there is no such option
  await app.register(authPlugin, { issuer, users, isuer: issuer })
  // @ts-expect-error -- seconds are a number
  await app.register(authPlugin, { issuer, users, accessToken: { expiresIn: '15m' } })
  // @ts-expect-error -- there is no such rule for the password grant
  await app.register(authPlugin, { issuer, users, passwordGrant: true })
  // @ts-expect-error -- a store without findById is none
  await app.register(authPlugin, { issuer, users: { findByUsername: async () => null } })
}

export function claims (request: FastifyRequest): string | undefined {
  const auth = request.auth
  if (auth === null || auth === undefined) return undefined
  const sub: string = auth.sub
  const scope: string | undefined = auth.scope
  const expires: number | undefined = auth.exp
  // @ts-expect-error -- a subject is a string
  const wrong: number = auth.sub
  // @ts-expect-error -- claims are frozen
  auth.sub = 'somebody else'
  // The plugin leaves what belongs to @fastify/jwt as the host typed it.
  const name: string = request.user.name
  // @ts-expect-error -- the host's type has no such field, and the plugin adds none
  request.user.sub
  return `${sub} ${scope} ${expires} ${wrong} ${name}`
}

export function decorators (app: FastifyInstance): void {
  // @ts-expect-error -- scopes are strings
  app.requireScope(1)
  // @ts-expect-error -- there is no such decorator
  app.authenticated
}

export async function authority (app: FastifyInstance): Promise<void> {
  const verified = await app.authority.verify('token')
  const subject: string = verified.sub
  await app.authority.issueTokens(subject, { scope: 'profile' })
  await app.authority.issueTokens(subject, { scope: 'profile', clientId: 'app' })
  await app.authority.revokeUser(subject)
  for (const session of await app.authority.sessions(subject)) await app.authority.revokeSession(subject, session.id)
  const hash: string = await app.authority.hashPassword('seven green boats at dawn')
  await app.authority.startPasswordReset(subject)
  // @ts-expect-error -- verifying is asynchronous
  app.authority.verify('token').sub
  // @ts-expect-error -- a token is a string
  await app.authority.verify(null)
  await users.setPasswordHash?.(subject, hash)
}

export function events (app: FastifyInstance): void {
  app.authority.on('authenticated', ({ userId, clientId }) => { [userId, clientId] satisfies [string, string | null] })
  app.authority.on('login_failed', ({ reason }) => { reason satisfies string })
  app.authority.on('rate_limited', async ({ rule, retryAfter }) => { [rule, retryAfter] satisfies [string, number] })
  const handler = (payload: { userId: string }): void => { payload.userId satisfies string }
  app.authority.on('registered', handler)
  app.authority.off('registered', handler)
  // @ts-expect-error -- there is no such event
  app.authority.on('signed_in', () => {})
  // @ts-expect-error -- no payload carries a password
  app.authority.on('registered', ({ password }) => password)
  // @ts-expect-error -- a limit has no user
  app.authority.on('rate_limited', ({ userId }) => userId)
}

/** A host's own store, with its own fields in the row. */
interface Person extends User { department: string }

export const ownStore: UserStore = {
  findById: async (id): Promise<Person | null> => id === '1' ? { id, username: 'ann', passwordHash: null, department: 'sales' } : null,
  findByUsername: async () => null,
  create: async (user: NewUser): Promise<Person> => {
    if (user.username === 'ann') throw new UsernameTakenError()
    return { ...user, id: '2', department: 'sales' }
  },
  // @ts-expect-error -- the outcome of the compare-and-set is part of the contract
  setPasswordHash: async () => {}
}

export function errors (error: unknown): number {
  if (!(error instanceof OAuthError)) return 500
  // @ts-expect-error -- the list of codes is closed
  if (error.error === 'no_such_code') return 0
  return error.error === 'invalid_grant' ? error.statusCode : 401
}
