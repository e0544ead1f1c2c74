/** Attacks on the guards and endpoints with API keys. */
import t from '../../support/tap.ts'
import Fastify from 'fastify'
import { type ApiKeyStore, type AuthorityOptions, memoryApiKeyStore, memoryUserStore } from '../../../lib/index.ts'
import { apiKeyOf } from '../../../lib/protocol/credential.ts'
import {
  bearer,
  type LightMyRequestResponse,
  PASSWORD,
  signIn,
  signUp,
  type TestApp,
  tellCode,
  testApp
} from '../../support/app.ts'

const SCOPES = ['openid', 'profile', 'reports:read', 'reports:write']
const NOT_VALID = { error: 'invalid_token', error_description: 'The API key is not valid.' }

/** A store that counts its calls and fails on demand. */
function watched(): { store: ApiKeyStore; calls: string[]; state: { isDown: boolean } } {
  const inner = memoryApiKeyStore()
  const calls: string[] = []
  const state = { isDown: false }
  const store = Object.fromEntries(
    Object.entries(inner).map(([name, method]: [string, unknown]) => [
      name,
      typeof method === 'function' && name !== 'prepare' && name !== 'sweep'
        ? async (...args: unknown[]) => {
            calls.push(name)
            if (state.isDown) throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' })
            return await (method as (...args: unknown[]) => Promise<unknown>)(...args)
          }
        : method
    ])
  ) as unknown as ApiKeyStore
  return { store, calls, state }
}

interface World extends TestApp, ReturnType<typeof watched> {
  sub: string
  users: ReturnType<typeof memoryUserStore>
  create(changes?: object): Promise<{ id: string; key: string }>
  get(headers: Record<string, string>, url?: string): Promise<LightMyRequestResponse>
}

async function world(
  t: { teardown(task: () => Promise<void>): void },
  options: Partial<AuthorityOptions> = {}
): Promise<World> {
  const stores = watched()
  const users = memoryUserStore()
  const test = await testApp({ users, scopes: SCOPES, apiKeys: stores.store, ...options })
  t.teardown(test.close)
  const { sub } = await signUp(test.app)
  return {
    ...test,
    ...stores,
    users,
    sub,
    create: async (changes = {}) =>
      await test.app.authority.apiKeys.create({ userId: sub, name: 'Reports', scopes: ['reports:read'], ...changes }),
    get: async (headers, url = '/me') => await test.app.inject({ url, headers })
  }
}

t.test('accepts an API key as a Bearer token and in x-api-key', async (t) => {
  const { create, get, sub } = await world(t)
  const { id, key } = await create()
  for (const headers of [bearer(key), { authorization: `bearer   ${key}` }, { 'x-api-key': key }]) {
    const reply = await get(headers)
    t.equal(reply.statusCode, 200)
    const auth = reply.json()
    t.match(auth, { sub, scope: 'reports:read', api_key: id })
    for (const absent of ['client_id', 'sid', 'auth_time', 'acr', 'amr']) t.notOk(absent in auth, absent)
  }
})

t.test('refuses a key next to another credential, and ignores an x-api-key header that holds no key', async (t) => {
  const { app, create, get } = await world(t)
  const { key } = await create()
  const { access_token: token } = await signIn(app)
  for (const authorization of [`Bearer ${token}`, `Bearer ${key}`, 'Basic YTpi']) {
    const reply = await get({ authorization, 'x-api-key': key })
    t.equal(reply.statusCode, 400)
    t.equal(reply.json().error, 'invalid_request')
  }
  for (const other of ['k-1', `${key}x`, key.replace('fa_', 'fb_'), ''])
    t.equal((await get({ ...bearer(token), 'x-api-key': other })).statusCode, 200, other)
  const alone = await get({ 'x-api-key': 'k-1' })
  t.equal(alone.statusCode, 401)
  t.equal(alone.headers['www-authenticate'], 'Bearer')
})

t.test('refuses an API key with one changed character without calling the store', async (t) => {
  const { create, get, calls } = await world(t)
  const { key } = await create()
  calls.length = 0
  for (let at = 3; at < key.length; at++) {
    const altered = key.slice(0, at) + (key[at] === 'b' ? 'c' : 'b') + key.slice(at + 1)
    t.equal((await get(bearer(altered))).statusCode, 401)
    t.equal((await get({ 'x-api-key': altered })).statusCode, 401)
  }
  t.same(calls, [])
})

// covers ADV-CVE-2026-88770
t.test(
  'refuses unknown, revoked and expired keys, and keys of disabled or removed users, with the same error',
  async (t) => {
    const { app, clock, create, get, sub, users } = await world(t)
    const refused = async (key: string, what: string): Promise<void> => {
      for (const headers of [bearer(key), { 'x-api-key': key }] as Array<Record<string, string>>) {
        const reply = await get(headers)
        t.equal(reply.statusCode, 401, what)
        t.match(reply.json(), NOT_VALID, what)
        t.match(reply.headers['www-authenticate'], /error="invalid_token"/)
      }
      await t.rejects(app.authority.apiKeys.verify(key), { message: NOT_VALID.error_description })
    }
    await refused(apiKeyOf('fa', new Uint8Array(32)), 'unknown')
    const revoked = await create()
    t.equal(await app.authority.apiKeys.revoke(sub, revoked.id), true)
    t.equal(await app.authority.apiKeys.revoke(sub, revoked.id), false)
    await refused(revoked.key, 'revoked')
    const short = await create({ expiresIn: 10 })
    clock.step(9_999)
    t.equal((await get(bearer(short.key))).statusCode, 200)
    clock.step(1)
    await refused(short.key, 'expired')
    const { key } = await create()
    await users.update(sub, { disabled: true })
    await refused(key, 'disabled')
    await users.update(sub, { disabled: false })
    t.equal((await get(bearer(key))).statusCode, 200)
    await users.remove(sub)
    await refused(key, 'removed')
  }
)

t.test('keeps API keys after a password change, and ends them with apiKeys: true and at deleteUser', async (t) => {
  const { app, create, events, get, sub } = await world(t)
  const { key } = await create()
  await app.authority.revokeUser(sub)
  await app.authority.changePassword(sub, `${PASSWORD} 2`)
  t.equal((await get(bearer(key))).statusCode, 200)
  await app.authority.revokeUser(sub, { apiKeys: true })
  t.equal((await get(bearer(key))).statusCode, 401)
  t.same(await app.authority.apiKeys.list(sub), [])
  // @ts-expect-error -- a misspelled option must not leave keys alive
  await t.rejects(app.authority.revokeUser(sub, { apikeys: true }), TypeError)
  const { id } = await create()
  await app.authority.deleteUser(sub)
  t.same(await app.authority.apiKeys.list(sub), [])
  const revoked = events.filter(({ name }) => name === 'api_key_revoked').map(({ payload }) => payload)
  t.match(revoked, [
    { userId: sub, by: 'host' },
    { userId: sub, keyId: id, by: 'account_removed' }
  ])
})

// covers ADV-CVE-2026-4282
t.test('refuses an API key at account, token, userinfo and introspection endpoints', async (t) => {
  const { app, create, calls } = await world(t, {
    clients: [{ clientId: 'api', clientSecret: 's'.repeat(43), redirectUris: ['https://api.example/cb'] }]
  })
  const { key, id } = await create()
  calls.length = 0
  const requests: Array<['GET' | 'POST' | 'PATCH' | 'DELETE', string, object?]> = [
    ['GET', '/auth/profile'],
    ['PATCH', '/auth/profile', { name: 'x' }],
    ['GET', '/auth/sessions'],
    ['POST', '/auth/password', { current_password: PASSWORD, new_password: `${PASSWORD} 2` }],
    ['POST', '/auth/email', { email: 'b@example.com' }],
    ['DELETE', '/auth/account'],
    ['GET', '/auth/api-keys'],
    ['POST', '/auth/api-keys', { name: 'Another' }],
    ['DELETE', `/auth/api-keys/${id}`],
    ['GET', '/auth/userinfo'],
    ['POST', '/auth/userinfo'],
    ['POST', '/auth/refresh']
  ]
  for (const [method, url, payload] of requests)
    for (const headers of [bearer(key), { 'x-api-key': key }]) {
      const reply = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
      t.ok([401, 404].includes(reply.statusCode), `${method} ${url} ${reply.statusCode}`)
    }
  for (const body of [
    { grant_type: 'refresh_token', refresh_token: key },
    { grant_type: 'authorization_code', code: key, client_id: 'api', redirect_uri: 'https://api.example/cb' },
    { grant_type: 'password', username: 'ann', password: key }
  ]) {
    const reply = await app.inject({ method: 'POST', url: '/auth/token', payload: body })
    t.ok([400, 401].includes(reply.statusCode), JSON.stringify(reply.json()))
  }
  const basic = { authorization: `Basic ${Buffer.from(`api:${'s'.repeat(43)}`).toString('base64')}` }
  const introspected = await app.inject({
    method: 'POST',
    url: '/auth/introspect',
    headers: basic,
    payload: { token: key }
  })
  t.same(introspected.json(), { active: false })
  t.same(calls, [], 'no endpoint of ours asks the store for a key')
})

t.test('refuses an API key at requireUser and requireAuth, and accepts it by its scopes elsewhere', async (t) => {
  const { store } = watched()
  const app = Fastify()
  t.teardown(() => app.close())
  const { default: authPlugin } = await import('../../../lib/index.ts')
  const users = memoryUserStore()
  await app.register(authPlugin, { issuer: 'http://localhost:3000', users, apiKeys: store, scopes: SCOPES })
  const at = (url: string, onRequest: unknown): void => {
    app.get(url, { onRequest: onRequest as never, errorHandler: tellCode }, async (request) => request.auth ?? null)
  }
  at('/user', [app.requireUser])
  at('/fresh', [app.authenticate, app.requireAuth({ maxAge: 300 })])
  at('/optional', [app.authenticateOptional])
  at('/read', [app.authenticate, app.requireScope('reports:read')])
  at('/write', [app.authenticate, app.requireScope('reports:write')])
  const { id } = await users.create({ username: 'ann', passwordHash: null })
  const { key } = await app.authority.apiKeys.create({ userId: id, name: 'One', scopes: ['reports:read'] })
  const statusOf = async (url: string, headers: Record<string, string>): Promise<number> =>
    (await app.inject({ url, headers })).statusCode
  for (const headers of [bearer(key), { 'x-api-key': key }] as Array<Record<string, string>>) {
    t.equal(await statusOf('/user', headers), 401)
    t.equal(await statusOf('/fresh', headers), 403)
    t.equal(await statusOf('/read', headers), 200)
    t.equal(await statusOf('/write', headers), 403)
    t.match((await app.inject({ url: '/optional', headers })).json(), { sub: id })
  }
  t.equal(await statusOf('/optional', { 'x-api-key': 'other' }), 200)
  t.equal(await statusOf('/optional', { 'x-api-key': apiKeyOf('fa', new Uint8Array(32)) }), 401)
  t.equal(await statusOf('/optional', { 'x-api-key': key, authorization: 'Basic YTpi' }), 400)
  t.match(await app.authority.apiKeys.verify(key), { userId: id, name: 'One' })
  await t.rejects(app.authority.verify(key), { message: 'The token is malformed.' })
})

t.test('records the last use of an API key at most once a minute, and answers 503 during an outage', async (t) => {
  const { app, calls, clock, create, get, state, sub } = await world(t)
  const { key } = await create()
  calls.length = 0
  const touches = (): number => calls.filter((name) => name === 'touch').length
  const lastUsed = async (): Promise<Date | null | undefined> => (await app.authority.apiKeys.list(sub))[0]?.lastUsedAt
  t.equal(await lastUsed(), null)
  const began = clock.now()
  for (let at = 0; at < 1000; at++) {
    if (at % 100 === 99) clock.step(5_900)
    if (at % 10 === 9) await new Promise((resolve) => setImmediate(resolve))
    t.equal((await get(bearer(key))).statusCode, 200)
  }
  t.equal(touches(), 1)
  t.equal((await lastUsed())?.getTime(), began)
  clock.step(1_000)
  await get(bearer(key))
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(touches(), 2)
  state.isDown = true
  const down = await get(bearer(key))
  t.equal(down.statusCode, 503)
  t.equal(down.json().error, 'temporarily_unavailable')
})

t.test('records the pending last use of an API key when the app closes', async (t) => {
  const { app, calls, create, get } = await world(t)
  const { key } = await create()
  calls.length = 0
  await get(bearer(key))
  await app.close()
  t.same(calls, ['find', 'touch'])
})
