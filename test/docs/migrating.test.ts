/**
 * The programs of the migration pages: users with another system's hashes can sign in. (user-store-guides.test.ts
 * compiles them.)
 */
import { pbkdf2Sync, randomBytes } from 'node:crypto'
import { hash as argon2, argon2id } from 'argon2'
import { hash as bcrypt } from '@node-rs/bcrypt'
import { hashPassword } from 'better-auth/crypto'
import fastifyCookie from '@fastify/cookie'
import fastifyJwt from '@fastify/jwt'
import Fastify, { type onRequestAsyncHookHandler } from 'fastify'
import Database from 'libsql'
import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/adapters/memory/user-store.ts'
import { sqliteUserStore } from '../../lib/adapters/sqlite/user-store.ts'
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
const [betterAuth, auth0, keycloak, fastifyJwtPage, firebase, supabase, cognito] = [
  page('better-auth'),
  page('auth0'),
  page('keycloak'),
  page('fastify-jwt'),
  page('firebase'),
  page('supabase'),
  page('cognito')
]
const importing = workshop.project('docs/guides/importing-users.md')

/** Status of a sign-in with the right password and with a wrong one, of each user by themselves. */
async function signIns(
  users: User[],
  password: object = {},
  right = PASSWORD
): Promise<Array<[name: string, right: number, wrong: number]>> {
  const app = Fastify()
  await app.register(authPlugin, { issuer: ISSUER, users: memoryUserStore(users), rateLimit: false, password })
  const signIn = async (username: string, password: string): Promise<number> =>
    (await app.inject({ method: 'POST', url: '/auth/token', payload: { grant_type: 'password', username, password } }))
      .statusCode
  const results: Array<[string, number, number]> = []
  for (const { username } of users)
    results.push([username, await signIn(username, right), await signIn(username, 'seven green boats at dusk')])
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

t.test('signs in users of Auth0, and keeps their sub', async (t) => {
  const { userOf } = (await import(auth0.module('users.ts'))) as { userOf(line: string): User | null }
  const line = {
    _id: { $oid: '5dea9f9c82dd7c0e76e4ec93' },
    email_verified: false,
    email: 'ann@example.com',
    passwordHash: await bcrypt(PASSWORD, 4),
    connection: 'Username-Password-Authentication'
  }
  const ann = userOf(JSON.stringify(line))
  const ben = userOf(
    JSON.stringify({
      ...line,
      alt_id: 'euclid',
      email: undefined,
      email_verified: undefined,
      identifiers: [{ type: 'email', value: 'ben@example.com', verified: true }]
    })
  )
  t.match(
    [ann, ben],
    [
      { id: 'auth0|5dea9f9c82dd7c0e76e4ec93', emailVerified: false },
      { id: 'auth0|euclid', emailVerified: true }
    ]
  )
  t.equal(userOf(JSON.stringify({ _id: { $oid: '1' } })), null)
  t.strictSame(await signIns([ann, ben].filter((user) => user !== null)), [
    ['ann@example.com', 200, 400],
    ['ben@example.com', 200, 400]
  ])
})

t.test('signs in users of Keycloak with each of its hash algorithms', async (t) => {
  const { usersOf } = (await import(keycloak.module('users.ts'))) as { usersOf(realm: string): User[] }
  const salt = randomBytes(16)
  const credential = (value: Buffer, credentialData: object): object => ({
    type: 'password',
    secretData: JSON.stringify({
      value: value.toString('base64'),
      salt: salt.toString('base64'),
      additionalParameters: {}
    }),
    credentialData: JSON.stringify(credentialData)
  })
  const pbkdf2 = (algorithm: string, digest: string, length: number): object =>
    credential(pbkdf2Sync(PASSWORD, salt, 1000, length, digest), {
      hashIterations: 1000,
      algorithm,
      additionalParameters: {}
    })
  const parameters = { hashLength: ['32'], memory: ['7168'], type: ['id'], version: ['1.3'], parallelism: ['1'] }
  const credentials = {
    argon: credential(
      await argon2(PASSWORD, {
        type: argon2id,
        memoryCost: 7168,
        timeCost: 5,
        parallelism: 1,
        hashLength: 32,
        salt,
        raw: true
      }),
      { hashIterations: 5, algorithm: 'argon2', additionalParameters: parameters }
    ),
    sha512: pbkdf2('pbkdf2-sha512', 'sha512', 64),
    sha256: pbkdf2('pbkdf2-sha256', 'sha256', 64),
    sha1: pbkdf2('pbkdf2', 'sha1', 64),
    unknown: credential(salt, { hashIterations: 1, algorithm: 'of-a-plugin' })
  }
  const users = usersOf(
    JSON.stringify({
      realm: 'shop',
      users: Object.entries(credentials).map(([username, one], index) => ({
        id: `kc-${index}`,
        username,
        enabled: true,
        emailVerified: true,
        createdTimestamp: 1_580_000_000_000,
        credentials: [one]
      }))
    })
  )
  t.equal(users[0]?.createdAt, 1_580_000_000_000)
  t.strictSame(await signIns(users), [
    ['argon', 200, 400],
    ['sha512', 200, 400],
    ['sha256', 200, 400],
    ['sha1', 200, 400],
    ['unknown', 400, 400]
  ])
  t.equal(usersOf(JSON.stringify({ users: [{ id: '1', username: 'Ann', enabled: false }] }))[0]?.disabled, true)
})

t.test('signs in users of Firebase with the key of their project in the options', async (t) => {
  const { usersOf } = (await import(firebase.module('users.ts'))) as { usersOf(exported: string): User[] }
  // From the README of firebase/scrypt, with another password.
  const row = {
    localId: 'kYi4EvWQlQTKSfnJ3dRSP6IH3ed2',
    email: 'User1@test.com',
    emailVerified: false,
    passwordHash: 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
    salt: '42xEC+ixf3L2lw==',
    displayName: 'Test User 1',
    createdAt: '1580000000000',
    providerUserInfo: []
  }
  const users = usersOf(
    JSON.stringify({
      users: [
        row,
        { ...row, localId: '2', email: 'hidden@test.com', passwordHash: 'UkVEQUNURUQ=' },
        { ...row, localId: '3', email: 'google@test.com', passwordHash: undefined, disabled: true },
        { ...row, localId: '4', email: undefined }
      ]
    })
  )
  t.match(users, [
    { id: row.localId, username: 'user1@test.com', name: 'Test User 1', createdAt: 1_580_000_000_000 },
    { emailVerified: false, disabled: false, passwordHash: null },
    { passwordHash: null, disabled: true }
  ])
  t.equal(users.length, 3)
  const key = {
    signerKey: 'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
    saltSeparator: 'Bw=='
  }
  t.strictSame(await signIns(users, { firebase: key }, 'user1password'), [
    ['user1@test.com', 200, 400],
    ['hidden@test.com', 400, 400],
    ['google@test.com', 400, 400]
  ])
  t.strictSame(await signIns(users.slice(0, 1), {}, 'user1password'), [['user1@test.com', 400, 400]])
})

t.test('signs in users of Supabase with bcrypt and argon2 hashes', async (t) => {
  const { userOf } = (await import(supabase.module('users.ts'))) as { userOf(line: string): User | null }
  const row = {
    id: '4bd87eb2-e1ee-4a2e-a509-7b2af4d84a52',
    email: 'ann@example.com',
    encrypted_password: (await bcrypt(PASSWORD, 4)).replace('$2b$', '$2a$'),
    email_confirmed_at: '2025-01-01T00:00:00Z',
    banned_until: null,
    created_at: '2024-05-01T00:00:00Z',
    raw_user_meta_data: { full_name: 'Ann' }
  }
  const users = [
    row,
    {
      ...row,
      id: '2',
      email: 'ben@example.com',
      encrypted_password: await argon2(PASSWORD, { memoryCost: 1024, timeCost: 2 }),
      email_confirmed_at: null,
      raw_user_meta_data: null,
      banned_until: '2020-01-01T00:00:00Z'
    },
    { ...row, id: '3', email: 'cat@example.com', encrypted_password: '' },
    { ...row, id: '4', email: 'dan@example.com', banned_until: '2999-01-01T00:00:00Z' }
  ]
    .map((one) => userOf(JSON.stringify(one)))
    .filter((user) => user !== null)
  t.match(users, [
    { id: row.id, name: 'Ann', emailVerified: true, disabled: false, createdAt: new Date('2024-05-01') },
    { emailVerified: false, disabled: false },
    { passwordHash: null },
    { disabled: true }
  ])
  t.equal(userOf(JSON.stringify({ ...row, email: null })), null)
  t.strictSame(await signIns(users), [
    ['ann@example.com', 200, 400],
    ['ben@example.com', 200, 400],
    ['cat@example.com', 400, 400],
    ['dan@example.com', 400, 400]
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

t.test('imports all users into the SQLite store or none, and changes nothing on a second run', async (t) => {
  const { importUsers } = (await import(importing.module('import-users.ts'))) as {
    importUsers(db: object, users: User[]): object
  }
  const db = new Database(':memory:')
  const hash = await argon2(PASSWORD, { memoryCost: 1024, timeCost: 2 })
  const users: User[] = Array.from({ length: 2500 }, (_none, index) => ({
    id: `${index}`,
    username: `user-${index}`,
    passwordHash: index === 0 ? null : hash,
    email: `${index}@example.com`,
    emailVerified: index === 1,
    ...(index === 1 ? { createdAt: new Date(1_700_000_000_000) } : {}),
    name: 'Ann'
  }))
  const formats = [
    '$2b$10$x',
    '$wp$2y$10$x',
    '$P$Bx',
    'pbkdf2_sha256$1$x',
    'scrypt:1:1:1$x',
    `AQ${'A'.repeat(60)}`,
    'bcrypt_sha256$$2b$x',
    'argon2$argon2id$x',
    '5f4dcc3b5aa765d61d8327deb882cf99',
    '$fbscrypt$x'
  ]
  for (const [index, passwordHash] of formats.entries())
    users.push({ id: `f${index}`, username: `f${index}`, passwordHash })
  const expected = {
    withoutPassword: 1,
    formats: {
      argon2: 2500,
      '2b': 1,
      wp: 1,
      P: 1,
      pbkdf2: 1,
      scrypt: 1,
      'ASP.NET Identity': 1,
      bcrypt: 1,
      unknown: 1,
      fbscrypt: 1
    }
  }
  t.match(importUsers(db, users), { imported: 2510, thereAlready: 0, ...expected })
  t.match(importUsers(db, users), { imported: 0, thereAlready: 2510, ...expected })
  const store = sqliteUserStore(db)
  t.match(await store.findByUsername('user-1'), {
    id: '1',
    passwordHash: hash,
    email: '1@example.com',
    emailVerified: true,
    name: 'Ann'
  })
  t.equal(Number((await store.findByUsername('user-1'))?.createdAt), 1_700_000_000_000)
  t.match(await store.findByUsername('user-0'), { passwordHash: null, emailVerified: false })
  const [another, twin] = [
    { id: 'new', username: 'new-one', passwordHash: null },
    { id: 'x', username: 'user-7', passwordHash: null }
  ]
  t.throws(() => importUsers(db, [another, twin]), { message: 'One name for two users:\nuser-7: 7, x' })
  t.throws(() => importUsers(db, [another, { ...another, id: 'new-2' }]), {
    message: 'One name for two users:\nnew-one: new, new-2'
  })
  t.equal(await store.findByUsername('new-one'), null)
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
