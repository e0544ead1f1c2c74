/**
 * The programs of the migration pages: users with another system's hashes can sign in. (user-store-guides.test.ts
 * compiles them.)
 */
import { hashPassword } from 'better-auth/crypto'
import fastifyCookie from '@fastify/cookie'
import fastifyJwt from '@fastify/jwt'
import Fastify, { type onRequestAsyncHookHandler } from 'fastify'
import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/adapters/memory/user-store.ts'
import { authPlugin } from '../../lib/plugin.ts'
import type { User } from '../../lib/ports/user-store.ts'
import { sessionAs } from '../../lib/testing/index.ts'
import { openWorkshop } from './support/guide-files.ts'

const PASSWORD = 'seven green boats at dawn'
const ISSUER = 'http://localhost:3000'

const workshop = openWorkshop()
t.teardown(() => {
  workshop.remove()
})
const page = (name: string): ReturnType<typeof workshop.project> => workshop.project(`docs/migrating/${name}.md`)
const [betterAuth, fastifyJwtPage, cognito] = [page('better-auth'), page('fastify-jwt'), page('cognito')]

/** The status of a sign-in with the right and with a wrong password, for each user. */
async function signIns(users: User[]): Promise<Array<[name: string, right: number, wrong: number]>> {
  const app = Fastify()
  await app.register(authPlugin, { issuer: ISSUER, users: memoryUserStore(users), rateLimit: false })
  const signIn = async (username: string, password: string): Promise<number> =>
    (await app.inject({ method: 'POST', url: '/auth/token', payload: { grant_type: 'password', username, password } }))
      .statusCode
  const results: Array<[string, number, number]> = []
  for (const { username } of users)
    results.push([username, await signIn(username, PASSWORD), await signIn(username, 'seven green boats at dusk')])
  await app.close()
  return results
}

t.test('signs in users of better-auth with a hash made by better-auth', async (t) => {
  const { userOf } = (await import(betterAuth.module('users.ts'))) as { userOf(row: object): User }
  const row = {
    id: 'ba-1',
    email: 'Ann@example.com',
    name: 'Ann',
    emailVerified: true,
    password: await hashPassword(PASSWORD)
  }
  const users = [userOf(row), userOf({ ...row, id: 'ba-2', email: 'ben@example.com', password: null })]
  t.strictSame(await signIns(users), [
    ['ann@example.com', 200, 400],
    ['ben@example.com', 400, 400]
  ])
})

t.test('imports users of Cognito with their id and without a password', async (t) => {
  const { usersOf } = (await import(cognito.module('users.ts'))) as { usersOf(listed: string): User[] }
  const attributes = (values: Record<string, string>): Array<{ Name: string; Value: string }> =>
    Object.entries(values).map(([Name, Value]) => ({ Name, Value }))
  const users = usersOf(
    JSON.stringify({
      Users: [
        {
          Username: 'ann',
          Enabled: true,
          UserCreateDate: '2024-05-01T00:00:00Z',
          UserStatus: 'CONFIRMED',
          Attributes: attributes({ sub: 'c-1', email: 'Ann@example.com', email_verified: 'true', name: 'Ann' })
        },
        {
          Username: '2',
          Enabled: false,
          Attributes: attributes({ sub: 'c-2', email: 'ben@example.com', email_verified: 'false' })
        },
        { Username: '3', Attributes: attributes({ sub: 'c-3' }) }
      ]
    })
  )
  t.strictSame(users, [
    {
      id: 'c-1',
      username: 'ann@example.com',
      email: 'Ann@example.com',
      emailVerified: true,
      disabled: false,
      name: 'Ann',
      createdAt: new Date('2024-05-01'),
      passwordHash: null
    },
    {
      id: 'c-2',
      username: 'ben@example.com',
      email: 'ben@example.com',
      emailVerified: false,
      disabled: true,
      passwordHash: null
    }
  ])
  t.strictSame(await signIns(users), [
    ['ann@example.com', 400, 400],
    ['ben@example.com', 400, 400]
  ])
})

t.test('accepts old and new tokens and sessions at one route, and no others', async (t) => {
  const { eitherToken } = (await import(fastifyJwtPage.module('either-token.ts'))) as {
    eitherToken(app: object, userOf: (sub: string) => unknown): onRequestAsyncHookHandler
  }
  const app = Fastify()
  t.teardown(async () => {
    await app.close()
  })
  const users = memoryUserStore([{ id: '7', username: 'ann@example.com', passwordHash: null }])
  await app.register(fastifyCookie)
  await app.register(fastifyJwt, {
    secret: 'the secret of the old application, long enough',
    cookie: { cookieName: 'token', signed: false }
  })
  await app.register(authPlugin, { issuer: ISSUER, users, session: { expiresIn: 604_800, idleTimeout: 604_800 } })
  app.get('/me', { onRequest: [eitherToken(app, (sub) => ({ id: Number(sub) }))] }, async (request) => [
    (request.user as { id: number }).id
  ])
  const ask = async (headers: Record<string, string>): Promise<[number, unknown]> => {
    const reply = await app.inject({ url: '/me', headers })
    return [reply.statusCode, reply.statusCode === 200 ? reply.json()[0] : reply.headers['www-authenticate']]
  }
  const old = app.jwt.sign({ id: 1 })
  const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })
  t.strictSame(await ask(bearer(old)), [200, 1])
  t.strictSame(await ask({ cookie: `token=${old}` }), [200, 1])
  t.strictSame(await ask(bearer((await app.authority.issueTokens('7')).access_token)), [200, 7])
  const { cookie } = await sessionAs(app, { id: '7' })
  t.strictSame(await ask({ cookie, 'sec-fetch-site': 'same-origin' }), [200, 7])
  t.strictSame(await ask({ cookie, 'sec-fetch-site': 'cross-site' }), [401, 'Bearer'])
  t.match(await ask(bearer('neither')), [401, /error="invalid_token"/])
  t.strictSame(await ask({}), [401, 'Bearer'])
})
