/** A user's own keys over HTTP, and the limits and the secrecy of keys. */
import t from '../../support/tap.ts'
import { type ApiKeyRecord, type AuthorityOptions, memoryApiKeyStore, renderMessage } from '../../../lib/index.ts'
import { LOCALES } from '../../../lib/pages/texts.ts'
import { languageOf } from '../../../lib/texts/language.ts'
import { bearer, PASSWORD, signIn, signUp, testApp } from '../../support/app.ts'
import { everything, replyToo } from '../../support/canary.ts'
import { logLines } from '../../support/log-lines.ts'

const SCOPES = ['openid', 'profile', 'offline_access', 'reports:read']
const URL_OF_KEYS = '/auth/api-keys'
type Method = 'GET' | 'POST' | 'DELETE'

async function world(
  t: { teardown(task: () => Promise<void>): void },
  options: Partial<AuthorityOptions> = {},
  server = {}
) {
  const test = await testApp({ scopes: SCOPES, apiKeys: memoryApiKeyStore(), ...options }, server)
  t.teardown(test.close)
  const { sub } = await signUp(test.app)
  const { access_token: token } = await signIn(test.app)
  const send = async (method: Method, url: string, payload?: object, headers = bearer(token)) =>
    await test.app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
  return { ...test, sub, token, send }
}

t.test('creates, lists and revokes keys of the signed-in user', async (t) => {
  const { app, clock, events, send, sub } = await world(t)
  const made = await send('POST', URL_OF_KEYS, { name: ' Nightly ', scopes: ['reports:read'], expires_in: 3600 })
  t.equal(made.statusCode, 201)
  t.equal(made.headers['cache-control'], 'no-store')
  const { key, ...shown } = made.json()
  t.match(key, /^fa_[0-9A-Za-z]{49}$/)
  t.match(shown, {
    name: 'Nightly',
    scopes: ['reports:read'],
    resource: null,
    last_used_at: null,
    created_at: new Date(clock.now()).toISOString(),
    expires_at: new Date(clock.now() + 3_600_000).toISOString()
  })
  t.equal((await app.inject({ url: '/me', headers: { 'x-api-key': key } })).statusCode, 200)
  await new Promise((resolve) => setImmediate(resolve))
  const listed = await send('GET', URL_OF_KEYS)
  t.match(listed.json(), { api_keys: [{ id: shown.id, last_used_at: /Z$/ }] })
  t.notOk(listed.body.includes(key))
  await signUp(app, 'bob')
  const { access_token: other } = await signIn(app, 'bob')
  t.equal((await send('DELETE', `${URL_OF_KEYS}/${shown.id}`, undefined, bearer(other))).statusCode, 404)
  t.equal((await send('DELETE', `${URL_OF_KEYS}/${shown.id}`)).statusCode, 204)
  t.equal((await send('DELETE', `${URL_OF_KEYS}/${shown.id}`)).statusCode, 404)
  t.equal((await app.inject({ url: '/me', headers: { 'x-api-key': key } })).statusCode, 401)
  const told = events.filter(({ name }) => name.startsWith('api_key_'))
  t.match(told, [
    { name: 'api_key_created', payload: { userId: sub, keyId: shown.id } },
    { name: 'api_key_revoked', payload: { userId: sub, keyId: shown.id, by: 'user' } }
  ])
})

t.test('refuses invalid bodies, unknown scopes, and scopes that no key can have', async (t) => {
  const { send } = await world(t, { apiKeys: { store: memoryApiKeyStore(), expiresIn: 3600 } })
  const refused: Array<[payload: object, error: string]> = [
    [{}, 'invalid_request'],
    [{ name: '   ' }, 'invalid_request'],
    [{ name: 'x'.repeat(101) }, 'invalid_request'],
    [{ name: 'x', admin: true }, 'invalid_request'],
    [{ name: 'x', expires_in: 3601 }, 'invalid_request'],
    [{ name: 'x', expires_in: 0 }, 'invalid_request'],
    [{ name: 'x', scopes: ['unknown'] }, 'invalid_scope'],
    ...['openid', 'offline_access', 'authority:admin'].map((scope): [object, string] => [
      { name: 'x', scopes: [scope] },
      'invalid_scope'
    ])
  ]
  for (const [payload, error] of refused) {
    const reply = await send('POST', URL_OF_KEYS, payload)
    t.equal(reply.statusCode, 400, JSON.stringify(payload))
    t.equal(reply.json().error, error, JSON.stringify(payload))
  }
  const made = await send('POST', URL_OF_KEYS, { name: 'x' })
  t.match(made.json(), { scopes: [] })
  t.type(made.json().expires_at, 'string')
})

t.test('creates no key with a scope or an API that is closed to the client of the access token', async (t) => {
  const client = {
    clientId: 'spa',
    grantTypes: ['password' as const],
    scopes: ['openid', 'orders:read'],
    resources: ['/orders']
  }
  const { app, send } = await world(t, {
    clients: [client],
    resources: [
      { resource: '/orders', scopes: ['orders:read', 'orders:write'] },
      { resource: '/mail', scopes: ['mail:read'] }
    ]
  })
  const { access_token: token } = await signIn(app, 'ann', PASSWORD, { client_id: 'spa' })
  for (const [asked, error] of [
    [{ scopes: ['reports:read'] }, 'invalid_scope'],
    [{ resource: '/orders', scopes: ['orders:write'] }, 'invalid_scope'],
    [{ resource: '/mail' }, 'invalid_target'],
    [{ resource: '/orders', scopes: ['orders:read'] }, undefined]
  ] as const) {
    const reply = await send('POST', URL_OF_KEYS, { name: 'x', ...asked }, bearer(token))
    t.same([reply.statusCode, reply.json().error], [error === undefined ? 201 : 400, error], JSON.stringify(asked))
    t.equal((await send('POST', URL_OF_KEYS, { name: 'x', ...asked })).statusCode, 201, 'the account itself')
  }
})

t.test('requires a fresh sign-in to create an API key', async (t) => {
  const { clock, send } = await world(t)
  clock.step(300_000)
  t.equal((await send('POST', URL_OF_KEYS, { name: 'x' })).statusCode, 201)
  clock.step(1)
  const stale = await send('POST', URL_OF_KEYS, { name: 'x' })
  t.equal(stale.statusCode, 401)
  t.equal(stale.json().error, 'insufficient_user_authentication')
})

t.test('creates one of fifty parallel keys when the user has nineteen of twenty', async (t) => {
  const { app, send, sub } = await world(t)
  for (let at = 0; at < 19; at++) await app.authority.apiKeys.create({ userId: sub, name: `Key ${at}` })
  const replies = await Promise.all(
    Array.from({ length: 50 }, async (_, at) => await send('POST', URL_OF_KEYS, { name: `Parallel ${at}` }))
  )
  t.equal(replies.filter(({ statusCode }) => statusCode === 201).length, 1)
  const refused = replies.filter(({ statusCode }) => statusCode === 409)
  t.equal(refused.length, 49)
  t.equal(refused[0]?.json().error, 'api_key_limit')
  t.equal((await app.authority.apiKeys.list(sub)).length, 20)
})

t.test('counts requests with a valid API key toward rateLimit.apiKey, and others toward the address', async (t) => {
  const { app, sub } = await world(t, {
    rateLimit: { login: { max: 2, windowMs: 60_000 }, apiKey: {} }
  })
  const { key } = await app.authority.apiKeys.create({ userId: sub, name: 'x' })
  const guess = async (headers: Record<string, string>): Promise<number> =>
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        headers,
        payload: { grant_type: 'password', username: 'ann', password: 'not this one' }
      })
    ).statusCode
  t.same(
    [await guess({ 'x-api-key': key }), await guess({ 'x-api-key': key }), await guess({ 'x-api-key': key })],
    [400, 400, 429]
  )
  // The sign-in of the test counts under the address too.
  t.equal(await guess({ 'x-api-key': `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}` }), 400)
  t.equal(await guess({ 'x-api-key': 'another' }), 429)
})

t.test('keeps API keys out of stores, logs, events and messages', async (t) => {
  const records: string[] = []
  const inner = memoryApiKeyStore()
  const store = Object.fromEntries(
    Object.entries(inner).map(([name, method]: [string, unknown]) => [
      name,
      typeof method === 'function'
        ? async (...args: unknown[]) => {
            records.push(JSON.stringify(args))
            return await (method as (...args: unknown[]) => Promise<unknown>)(...args)
          }
        : method
    ])
  ) as unknown as typeof inner
  const { lines, stream } = logLines()
  const { app, events, messages, send, sub } = await world(
    t,
    { apiKeys: store },
    { logger: { level: 'trace', stream, serializers: { req: everything, res: replyToo } } }
  )
  const { key } = (await send('POST', URL_OF_KEYS, { name: 'x', scopes: ['reports:read'] })).json()
  const secret = key.slice(3, 46)
  for (const url of ['/auth/profile', '/auth/userinfo', '/auth/api-keys', '/auth/account'])
    for (const headers of [bearer(key), { 'x-api-key': key }]) await app.inject({ url, headers })
  for (const payload of [
    { grant_type: 'password', username: 'ann', password: key },
    { grant_type: 'refresh_token', refresh_token: key }
  ])
    await app.inject({ method: 'POST', url: '/auth/token', payload })
  await app.authority.apiKeys.verify(key)
  await app.authority.changePassword(sub, `${PASSWORD} 2`)
  await app.authority.revokeUser(sub, { apiKeys: true })
  await app.authority.apiKeys.verify(key).catch(() => {})
  await new Promise((resolve) => setImmediate(resolve))
  t.ok(records.length > 5 && lines.length > 10 && events.length > 3)
  for (const [what, seen] of Object.entries({ records, lines, events, messages: messages.messages }))
    t.notOk(JSON.stringify(seen).includes(secret), what)
})

t.test('says in the message about a changed password that API keys stay valid, if the user has any', async (t) => {
  const inner = memoryApiKeyStore()
  let isDown = false
  let former: ApiKeyRecord[] = []
  const list: typeof inner.list = async (userId) => {
    if (isDown) throw new Error('down')
    const present = await inner.list(userId)
    // A store may keep expired keys.
    return (former = present.length === 0 ? former : present)
  }
  const { app, clock, messages, sub } = await world(t, { apiKeys: { ...inner, list } })
  let passwords = 0
  const told = async (hasApiKeys: boolean, why: string): Promise<void> => {
    await app.authority.changePassword(sub, `${PASSWORD} ${++passwords}`)
    const message = await messages.next('password_changed')
    t.match(message, { hasApiKeys }, why)
    for (const locale of LOCALES) {
      const { text } = renderMessage({ ...message, locale })
      t.equal(text.replace(/\s+/g, ' ').includes(languageOf(locale).mails.apiKeysStay), hasApiKeys, `${why} ${locale}`)
    }
  }
  await told(false, 'none')
  const { id, key } = await app.authority.apiKeys.create({ userId: sub, name: 'x', expiresIn: 60 })
  await told(true, 'one')
  t.equal((await app.authority.apiKeys.verify(key)).id, id)
  isDown = true
  await told(true, 'an outage')
  isDown = false
  clock.step(60_000)
  await told(false, 'expired')
  const plain = await testApp()
  t.teardown(plain.close)
  const { sub: other } = await signUp(plain.app)
  await plain.app.authority.changePassword(other, `${PASSWORD} 2`)
  t.match(await plain.messages.next('password_changed'), { hasApiKeys: false })
})
