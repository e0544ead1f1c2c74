/** The programs that the pages on migrating print: what they make of other systems' hashes signs people in. (user-store-guides.test.ts compiles them.) */
import { pbkdf2Sync, randomBytes } from 'node:crypto'
import { hash as argon2, argon2id } from 'argon2'
import { hash as bcrypt } from '@node-rs/bcrypt'
import { hashPassword } from 'better-auth/crypto'
import fastifyJwt from '@fastify/jwt'
import Fastify from 'fastify'
import t from 'tap'
import { memoryUserStore } from '../../lib/adapters/memory/user-store.ts'
import { authPlugin } from '../../lib/plugin.ts'
import type { User } from '../../lib/ports/user-store.ts'
import type { Hook } from '../../lib/index.ts'
import { openWorkshop } from './support/guide-files.ts'

const PASSWORD = 'seven green boats at dawn'
const ISSUER = 'http://localhost:3000'

const workshop = openWorkshop()
t.teardown(() => { workshop.remove() })
const [betterAuth, auth0, keycloak, fastifyJwtPage] = ['better-auth', 'auth0', 'keycloak', 'fastify-jwt'].map((page) => workshop.project(`docs/migrating/${page}.md`)) as [Page, Page, Page, Page]
type Page = ReturnType<typeof workshop.project>

/** Status of a sign-in with the right password and with a wrong one, of each user by themselves. */
async function signIns (users: User[]): Promise<Array<[name: string, right: number, wrong: number]>> {
  const app = Fastify()
  await app.register(authPlugin, { issuer: ISSUER, users: memoryUserStore(users), rateLimit: false })
  const signIn = async (username: string, password: string): Promise<number> => (await app.inject({ method: 'POST', url: '/auth/token', payload: { grant_type: 'password', username, password } })).statusCode
  const results: Array<[string, number, number]> = []
  for (const { username } of users) results.push([username, await signIn(username, PASSWORD), await signIn(username, 'seven green boats at dusk')])
  await app.close()
  return results
}

t.test('users of better-auth sign in, by a hash that better-auth has made', async (t) => {
  const { userOf } = await import(betterAuth.module('users.ts')) as { userOf(row: object): User }
  const row = { id: 'ba-1', email: 'Ann@example.com', name: 'Ann', emailVerified: true, password: await hashPassword(PASSWORD) }
  const users = [userOf(row), userOf({ ...row, id: 'ba-2', email: 'ben@example.com', password: null })]
  t.strictSame(await signIns(users), [['ann@example.com', 200, 400], ['ben@example.com', 400, 400]])
})

t.test('users of Auth0 sign in, and keep their sub', async (t) => {
  const { userOf } = await import(auth0.module('users.ts')) as { userOf(line: string): User | null }
  const line = { _id: { $oid: '5dea9f9c82dd7c0e76e4ec93' }, email_verified: false, email: 'ann@example.com', passwordHash: await bcrypt(PASSWORD, 4), connection: 'Username-Password-Authentication' }
  const ann = userOf(JSON.stringify(line))
  const ben = userOf(JSON.stringify({ ...line, alt_id: 'euclid', email: undefined, email_verified: undefined, identifiers: [{ type: 'email', value: 'ben@example.com', verified: true }] }))
  t.match([ann, ben], [{ id: 'auth0|5dea9f9c82dd7c0e76e4ec93', emailVerified: false }, { id: 'auth0|euclid', emailVerified: true }])
  t.equal(userOf(JSON.stringify({ _id: { $oid: '1' } })), null)
  t.strictSame(await signIns([ann, ben].filter((user) => user !== null)), [['ann@example.com', 200, 400], ['ben@example.com', 200, 400]])
})

t.test('users of Keycloak sign in, by each algorithm that it has had', async (t) => {
  const { usersOf } = await import(keycloak.module('users.ts')) as { usersOf(realm: string): User[] }
  const salt = randomBytes(16)
  const credential = (value: Buffer, credentialData: object): object => ({ type: 'password', secretData: JSON.stringify({ value: value.toString('base64'), salt: salt.toString('base64'), additionalParameters: {} }), credentialData: JSON.stringify(credentialData) })
  const pbkdf2 = (algorithm: string, digest: string, length: number): object => credential(pbkdf2Sync(PASSWORD, salt, 1000, length, digest), { hashIterations: 1000, algorithm, additionalParameters: {} })
  const parameters = { hashLength: ['32'], memory: ['7168'], type: ['id'], version: ['1.3'], parallelism: ['1'] }
  const credentials = {
    argon: credential(await argon2(PASSWORD, { type: argon2id, memoryCost: 7168, timeCost: 5, parallelism: 1, hashLength: 32, salt, raw: true }), { hashIterations: 5, algorithm: 'argon2', additionalParameters: parameters }),
    sha512: pbkdf2('pbkdf2-sha512', 'sha512', 64),
    sha256: pbkdf2('pbkdf2-sha256', 'sha256', 64),
    sha1: pbkdf2('pbkdf2', 'sha1', 64),
    unknown: credential(salt, { hashIterations: 1, algorithm: 'of-a-plugin' })
  }
  const users = usersOf(JSON.stringify({ realm: 'shop', users: Object.entries(credentials).map(([username, one], index) => ({ id: `kc-${index}`, username, enabled: true, emailVerified: true, credentials: [one] })) }))
  t.strictSame(await signIns(users), [['argon', 200, 400], ['sha512', 200, 400], ['sha256', 200, 400], ['sha1', 200, 400], ['unknown', 400, 400]])
  t.equal(usersOf(JSON.stringify({ users: [{ id: '1', username: 'Ann', enabled: false }] }))[0]?.disabled, true)
})

t.test('a route takes tokens of before and new ones, and no others', async (t) => {
  const { eitherToken } = await import(fastifyJwtPage.module('either-token.ts')) as { eitherToken(app: object): Hook }
  const app = Fastify()
  t.teardown(async () => { await app.close() })
  const users = memoryUserStore([{ id: '1', username: 'ann@example.com', passwordHash: null }])
  await app.register(fastifyJwt, { secret: 'the secret of the old application, long enough' })
  await app.register(authPlugin, { issuer: ISSUER, users })
  app.get('/me', { onRequest: [eitherToken(app)] }, async (request) => request.auth?.sub ?? (request.user as { id: string }).id)
  const ask = async (token: string): Promise<[number, string]> => {
    const { statusCode, body } = await app.inject({ url: '/me', headers: { authorization: `Bearer ${token}` } })
    return [statusCode, statusCode === 200 ? body : '']
  }
  t.strictSame(await ask(app.jwt.sign({ id: 'old-1' })), [200, 'old-1'])
  t.strictSame(await ask((await app.authority.issueTokens('1')).access_token), [200, '1'])
  t.strictSame(await ask('neither'), [401, ''])
})
