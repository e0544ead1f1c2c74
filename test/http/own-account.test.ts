/** A user's own account: the profile, the address, and the removal. */
import { Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import { type AuthorityOptions, memoryState, memoryUserStore, type UserStore } from '../../lib/index.ts'
import { bearer, ISSUER, type LightMyRequestResponse, PASSWORD, signIn, type TestApp, testApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { delayed } from '../../lib/testing/doubles.ts'
import { CLIENTS, KEYS, tokensOf } from '../support/openid.ts'
import { turns } from '../unit/accounts/world.ts'

const ANN = 'ann@example.com'
const NEW = 'ann@new.example'
const FIELDS = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 40 }),
    city: Type.Optional(Type.String({ maxLength: 40 })),
    tags: Type.Optional(Type.Array(Type.String()))
  },
  { additionalProperties: false }
)
const FIVE_MINUTES = 300_000
type Payload = object | string | undefined

interface Person extends TestApp {
  users: UserStore
  sub: string
  token: string
  send(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    url: string,
    payload?: Payload,
    headers?: Record<string, string>
  ): Promise<LightMyRequestResponse>
}

/** An app in which Ann has signed up and signed in. */
async function ann(
  t: { teardown(task: () => Promise<void>): void },
  options: Partial<AuthorityOptions> = {}
): Promise<Person> {
  const users = options.users ?? memoryUserStore()
  const test = await testApp({ users, registration: { username: 'email', fields: FIELDS }, ...options })
  t.teardown(test.close)
  const { app } = test
  const registered = await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: ANN, password: PASSWORD, name: 'Ann', city: 'Bern' }
  })
  const { sub } = registered.json() as { sub: string }
  await turns()
  const { access_token: token } = await signIn(app, ANN)
  return {
    ...test,
    users,
    sub,
    token,
    send: async (method, url, payload, headers = bearer(token)) =>
      await app.inject({
        method,
        url,
        headers: { ...headers, ...(payload === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(payload === undefined ? {} : { payload: typeof payload === 'string' ? payload : JSON.stringify(payload) })
      })
  }
}

async function browserOf({ app }: TestApp): Promise<Record<string, string>> {
  const browser = testBrowser(app)
  const reply = await browser.submit('/auth/login', { username: ANN, password: PASSWORD })
  if (reply.statusCode !== 303) throw new Error(`login: ${reply.statusCode}`)
  return {
    cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    'sec-fetch-site': 'same-origin',
    origin: ISSUER
  }
}

t.test('GET /auth/profile returns only the identity and the registration fields of the user', async (t) => {
  const { send, users, sub, app } = await ann(t)
  await users.update?.(sub, { secretNote: 'of the host', disabled: false })
  const reply = await send('GET', '/auth/profile')
  t.equal(reply.statusCode, 200)
  t.same(reply.json(), { sub, username: ANN, email: ANN, email_verified: false, name: 'Ann', city: 'Bern' })
  t.equal(reply.headers['cache-control'], 'no-store')
  t.same(
    (await app.inject({ url: '/auth/profile', headers: await browserOf({ app } as TestApp) })).json(),
    reply.json(),
    'by the browser too'
  )
})

t.test('PATCH /auth/profile changes the given fields, and removes one that is null', async (t) => {
  const { send, users, sub, events, token } = await ann(t)
  const reply = await send('PATCH', '/auth/profile', { city: 'Basel', tags: ['a'] })
  t.equal(reply.statusCode, 200)
  t.same(reply.json(), {
    sub,
    username: ANN,
    email: ANN,
    email_verified: false,
    name: 'Ann',
    city: 'Basel',
    tags: ['a']
  })
  t.match(events.at(-1), {
    name: 'profile_changed',
    payload: { userId: sub, fields: ['city', 'tags'], ip: '127.0.0.1' }
  })
  t.notMatch(JSON.stringify(events), /Basel/, 'no value in an event')
  t.same((await send('PATCH', '/auth/profile', { city: null })).json(), {
    sub,
    username: ANN,
    email: ANN,
    email_verified: false,
    name: 'Ann',
    tags: ['a']
  })
  const before = events.length
  t.equal((await send('PATCH', '/auth/profile', {})).statusCode, 200)
  t.equal(events.length, before, 'nothing has changed')
  const user = await users.findById(sub)
  t.match(user, { username: ANN, name: 'Ann', emailVerified: false })
  t.equal((await send('GET', '/me', undefined, bearer(token))).statusCode, 200, 'who is signed in stays so')
})

t.test('PATCH /auth/profile rejects fields that users may not edit, and changes nothing', async (t) => {
  const { send, users, sub } = await ann(t)
  const before = await users.findById(sub)
  const table: Array<[payload: Payload, field: RegExp]> = [
    [{ username: 'eve@example.com' }, /username/],
    [{ email: NEW }, /email/],
    [{ emailVerified: true }, /emailVerified/],
    [{ email_verified: true }, /email_verified/],
    [{ id: 'x' }, /id/],
    [{ sub: 'x' }, /sub/],
    [{ passwordHash: 'x' }, /passwordHash/],
    [{ password: PASSWORD }, /password/],
    [{ disabled: false }, /disabled/],
    [{ version: 1 }, /version/],
    [{ role: 'admin' }, /role/],
    [{ city: 'Basel', role: 'admin' }, /role/],
    [{ name: null }, /name/],
    [{ name: '' }, /name/],
    [{ name: 5 }, /name/],
    [{ name: ['Ann'] }, /name/],
    [{ name: { $ne: '' } }, /name/],
    [{ name: 'x'.repeat(41) }, /name/],
    [{ city: undefined, name: 1 }, /name/],
    [{ city: 'Ba\0sel' }, /city/],
    [{ city: 'Ba\ud800sel' }, /city/],
    [{ tags: ['a', 'b\0'] }, /tags/],
    [{ tags: [null] }, /tags/],
    ['{"city":"a","city":"b"}', /repeated/],
    ['{"__proto__":{"city":"Basel"}}', /__proto__|JSON/],
    ['{"constructor":{"prototype":{}}}', /constructor|JSON/],
    ['[]', /object/],
    ['null', /object/],
    ['"city"', /object/],
    ['{', /JSON/],
    ['', /./]
  ]
  for (const [payload, field] of table) {
    const reply = await send('PATCH', '/auth/profile', payload)
    t.match(
      { status: reply.statusCode, ...(reply.json() as object) },
      { status: 400, error: 'invalid_request', error_description: field },
      JSON.stringify(payload).slice(0, 60)
    )
  }
  t.equal((await send('PATCH', '/auth/profile', { city: 'x'.repeat(20_000) })).statusCode, 413)
  t.equal(
    (
      await send('PATCH', '/auth/profile', 'city=Basel', {
        ...bearer(''),
        'content-type': 'application/x-www-form-urlencoded'
      })
    ).statusCode,
    401
  )
  t.same(await users.findById(sub), before)
})

t.test('keeps all parallel changes of different fields', async (t) => {
  const { send, users, sub } = await ann(t)
  const replies = await Promise.all([
    ...Array.from({ length: 10 }, (_, index) => send('PATCH', '/auth/profile', { city: `c${index}` })),
    send('PATCH', '/auth/profile', { name: 'Anna' }),
    send('PATCH', '/auth/profile', { tags: ['x'] })
  ])
  t.ok(replies.every(({ statusCode }) => statusCode === 200))
  t.match(await users.findById(sub), { name: 'Anna', tags: ['x'], city: /^c\d$/ })
})

t.test('answers invalid_token, 503 or 500 if the user is gone, the store fails or its result is invalid', async (t) => {
  const store = memoryUserStore()
  let update: UserStore['update']
  const users: UserStore = { ...store, update: async (...args) => await (update ?? store.update)(...args) }
  const { send } = await ann(t, { users })
  update = async () => null
  t.match((await send('PATCH', '/auth/profile', { city: 'Basel' })).json(), { error: 'invalid_token' })
  update = async () => {
    throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' })
  }
  t.equal((await send('PATCH', '/auth/profile', { city: 'Basel' })).statusCode, 503)
  update = async () => 1 as never
  t.match(await send('PATCH', '/auth/profile', { city: 'Basel' }), { statusCode: 500 })
  update = undefined
  t.equal((await send('PATCH', '/auth/profile', { city: 'Basel' })).statusCode, 200)
})

t.test('changes the email address by the emailed link, and signs in with the new address', async (t) => {
  const { send, app, users, sub, messages, events, token } = await ann(t)
  await messages.next('verify_email')
  const reply = await send('POST', '/auth/email', { email: 'Ann@New.example' })
  t.equal(reply.statusCode, 202)
  t.same(Object.keys(reply.json() as object), ['message'])
  t.match(await messages.next('email_change_requested'), { user: { email: ANN }, locale: 'en' })
  const mail = await messages.next('email_change')
  t.match(mail, { user: { email: NEW }, url: `${ISSUER}/auth/verify-email?token=${mail.token}` })
  t.match(await users.findById(sub), { username: ANN, email: ANN, emailVerified: false }, 'nothing has changed')

  const browser = testBrowser(app)
  const page = await browser.get(mail.url)
  t.match(page, { statusCode: 200, body: ANN })
  t.match(page.body, /Use this email for the account/)
  t.match(await users.findById(sub), { username: ANN }, 'to open the page changes nothing')
  const { reply: done } = await browser.follow(await browser.submit('/auth/verify-email', { token: mail.token }))
  t.match(done, { statusCode: 200, body: /is confirmed/ })
  t.match(await users.findById(sub), { username: NEW, email: NEW, emailVerified: true })
  t.match(await messages.next('email_changed'), { user: { email: ANN } })
  t.equal((await browser.submit('/auth/verify-email', { token: mail.token })).statusCode, 400, 'no second time')

  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: ANN, password: PASSWORD }
      })
    ).statusCode,
    400
  )
  await signIn(app, NEW)
  t.match(
    (await send('GET', '/auth/profile', undefined, bearer(token))).json(),
    { email: NEW, email_verified: true },
    'who was signed in stays so'
  )
  t.match(
    events.filter(({ name }) => name.startsWith('email_')).map(({ name }) => name),
    ['email_change_requested', 'email_changed']
  )
  t.notMatch(JSON.stringify(events), mail.token)
})

t.test('ends other sessions and provisional identities after a confirmed change of the address', async (t) => {
  const { send, app, users, sub, messages, token, clock } = await ann(t)
  await users.setEmailVerified?.(sub, ANN)
  const eve = { issuer: 'https://op.example', subject: 'eve', connection: 'op', linkedAt: 0, lastUsedAt: 0 }
  await users.linkIdentity?.(sub, { ...eve, linkedAt: clock.now() })
  await users.linkIdentity?.(sub, { ...eve, subject: 'hers', linkedAt: clock.now(), provisional: true })
  const other = (await signIn(app, ANN)).access_token
  clock.step(1000)
  await send('POST', '/auth/email', { email: NEW })
  const mail = await messages.next('email_change')
  const confirm = { method: 'POST', url: '/auth/email/verify', payload: { token: mail.token } } as const
  t.equal((await app.inject(confirm)).statusCode, 204)
  t.equal((await send('GET', '/auth/profile', undefined, bearer(token))).statusCode, 200, 'the sign-in that asked')
  t.equal((await send('GET', '/auth/profile', undefined, bearer(other))).statusCode, 401, 'and no other')
  t.match(await users.listIdentities?.(sub), [{ subject: 'eve' }], 'a link that was provisional is gone')
  t.equal((await users.listIdentities?.(sub))?.length, 1)
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: NEW } })
  const reset = await messages.next('password_reset')
  const payload = { token: reset.token, password: `${PASSWORD} and new` }
  t.equal((await app.inject({ method: 'POST', url: '/auth/password-reset/confirm', payload })).statusCode, 204)
  t.strictSame(await users.listIdentities?.(sub), [], 'a reset from the new mailbox ends the older ones')
})

t.test('accepts the token of an email change as JSON once, also from another user', async (t) => {
  const { send, app, users, sub, messages } = await ann(t)
  await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'bob@example.com', password: PASSWORD, name: 'Bob' }
  })
  const bob = (await signIn(app, 'bob@example.com')).access_token
  await send('POST', '/auth/email', { email: NEW })
  const { token } = await messages.next('email_change')
  const verify = async (): Promise<number> =>
    (await app.inject({ method: 'POST', url: '/auth/email/verify', headers: bearer(bob), payload: { token } }))
      .statusCode
  t.same((await Promise.all([verify(), verify(), verify()])).toSorted(), [204, 400, 400])
  t.match(await users.findById(sub), { username: NEW }, 'the account that it was sent for, not that of who opened it')
  t.ok(await users.findByUsername('bob@example.com'))
})

// covers H2
t.test('answers an email change to a taken address the same, and sends a message to its owner', async (t) => {
  const { send, app, messages } = await ann(t)
  await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'bob@example.com', password: PASSWORD, name: 'Bob' }
  })
  await turns()
  const free = await send('POST', '/auth/email', { email: NEW })
  const taken = await send('POST', '/auth/email', { email: 'bob@example.com' })
  t.same([taken.statusCode, taken.body], [free.statusCode, free.body])
  await turns()
  const kinds = messages.messages
    .filter(({ kind }) => kind !== 'verify_email')
    .map(({ kind, user }) => [kind, user.email])
  t.same(kinds.toSorted(), [
    ['already_registered', 'bob@example.com'],
    ['email_change', NEW],
    ['email_change_requested', ANN],
    ['email_change_requested', ANN]
  ])
})

t.test('POST /auth/email accepts only a valid address', async (t) => {
  const { send, messages, users, sub } = await ann(t)
  await turns()
  const before = messages.messages.length
  for (const payload of [
    {},
    { email: null },
    { email: 5 },
    { email: [NEW] },
    { email: '' },
    { email: 'x'.repeat(255) },
    { email: 'ann' },
    { email: ANN },
    { email: `${NEW}, eve@evil.example` },
    { email: `${NEW}\r\nbcc: x@y.example` },
    { email: 'ann\0@new.example' },
    { email: '\ud800@new.example' },
    { email: NEW, username: 'x' },
    { email: NEW, password: null },
    [],
    'null',
    '{"email":"a@b.example","email":"c@d.example"}',
    ''
  ]) {
    t.match(await send('POST', '/auth/email', payload), { statusCode: 400 }, JSON.stringify(payload).slice(0, 60))
  }
  await turns()
  t.equal(messages.messages.length, before)
  t.match(await users.findById(sub), { username: ANN })
})

// covers ASVS-7.5.1
t.test('requires a fresh sign-in or the password for an email change and for a removal of the account', async (t) => {
  for (const [method, url, payload, success] of [
    ['POST', '/auth/email', { email: NEW }, 202],
    ['DELETE', '/auth/account', {}, 204]
  ] as const) {
    const { send, app, clock, events, users, sub } = await ann(t)
    const cookie = await browserOf({ app } as TestApp)
    clock.step(FIVE_MINUTES + 1)
    for (const headers of [undefined, cookie]) {
      const stale = await send(method, url, payload, headers)
      t.match(
        { status: stale.statusCode, ...(stale.json() as object) },
        { status: 401, error: 'insufficient_user_authentication' },
        url
      )
      t.match(
        stale.headers['www-authenticate'],
        /^Bearer error="insufficient_user_authentication", error_description="[^"]+", max_age="300"$/
      )
      const wrong = await send(method, url, { ...payload, password: `${PASSWORD}x` }, headers)
      t.match({ status: wrong.statusCode, ...(wrong.json() as object) }, { status: 400, error: 'invalid_grant' }, url)
      t.match(events.at(-1), { name: 'login_failed', payload: { reason: 'wrong_password', userId: sub } })
    }
    for (const password of ['', null, 5, 'x'.repeat(20_000)])
      t.ok(
        [400, 413].includes((await send(method, url, { ...payload, password })).statusCode),
        `${url} ${typeof password}`
      )
    t.ok(await users.findById(sub))
    t.equal(
      (await send(method, url, { ...payload, password: PASSWORD })).statusCode,
      success,
      `${url} with the password`
    )
  }
  for (const [method, url, payload, success] of [
    ['POST', '/auth/email', { email: NEW }, 202],
    ['DELETE', '/auth/account', undefined, 204]
  ] as const) {
    const { send, clock } = await ann(t)
    clock.step(FIVE_MINUTES)
    t.equal((await send(method, url, payload)).statusCode, success, `${url}, ${FIVE_MINUTES} ms after the sign-in`)
  }
})

// covers ASVS-7.5.1
t.test('rejects the removal of the account with a token from a refresh of an older sign-in', async (t) => {
  const { app, send, clock } = await ann(t)
  const { refresh_token: refresh } = await signIn(app, ANN)
  clock.step(FIVE_MINUTES + 1)
  const { access_token: token } = (
    await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(refresh) })
  ).json() as { access_token: string }
  t.equal((await send('DELETE', '/auth/account', undefined, bearer(token))).statusCode, 401)
  t.equal((await send('GET', '/auth/profile', undefined, bearer(token))).statusCode, 200)
})

t.test('counts twenty parallel wrong passwords under the sign-in limit of the account', async (t) => {
  const { send, app, users, sub } = await ann(t, {
    rateLimit: { login: false, account: { windowMs: 900_000, max: 5 } }
  })
  const guesses = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      send(index % 2 === 0 ? 'DELETE' : 'POST', index % 2 === 0 ? '/auth/account' : '/auth/email', {
        ...(index % 2 === 0 ? {} : { email: NEW }),
        password: `guess ${index}`
      })
    )
  )
  t.equal(guesses.filter(({ statusCode }) => statusCode === 400).length, 5)
  t.equal(guesses.filter(({ statusCode }) => statusCode === 429).length, 15)
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: ANN, password: PASSWORD }
      })
    ).statusCode,
    429,
    'one counter'
  )
  t.ok(await users.findById(sub))
})

t.test('sends one link for three email changes, and rejects a fourth and a resend with 429', async (t) => {
  const { send, messages } = await ann(t, { rateLimit: { login: false, register: false } })
  await turns()
  const before = messages.messages.length
  for (const status of [202, 202, 202, 429])
    t.equal((await send('POST', '/auth/email', { email: NEW })).statusCode, status)
  await turns()
  t.equal(messages.messages.length, before + 2)
  t.equal((await send('POST', '/auth/email/resend')).statusCode, 429, 'one rule')
})

t.test('POST /auth/email/resend sends the confirmation of an unconfirmed address, once in five minutes', async (t) => {
  const { send, messages, clock, users, sub, app, token } = await ann(t, {
    rateLimit: { login: false, register: false, passwordReset: { windowMs: 1000, max: 100 } }
  })
  const first = await messages.next('verify_email')
  const resend = async (): Promise<number> => {
    const { statusCode } = await send('POST', '/auth/email/resend', undefined, bearer(token))
    await turns()
    return messages.messages.filter(({ kind }) => kind === 'verify_email').length * 1000 + statusCode
  }
  t.equal(await resend(), 1202, 'one was sent just now')
  clock.step(FIVE_MINUTES)
  t.equal(await resend(), 2202)
  t.equal(await resend(), 2202)
  const second = await messages.next('verify_email')
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/email/verify', payload: { token: first.token } })).statusCode,
    400
  )
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/email/verify', payload: { token: second.token } })).statusCode,
    204
  )
  clock.step(FIVE_MINUTES)
  t.equal(await resend(), 2202, 'there is nothing to confirm')
  t.match(await users.findById(sub), { emailVerified: true })
})

t.test('DELETE /auth/account removes the user, and ends every session and the reset link', async (t) => {
  const state = memoryState()
  const person = await ann(t, {
    state,
    keys: KEYS,
    clients: CLIENTS,
    scopes: ['openid', 'profile', 'email', 'offline_access']
  })
  const { app, send, users, sub, messages, events, clock, token } = person
  const other = await signIn(app, ANN)
  const cookie = await browserOf(person)
  await state.consents.grantConsent({
    userId: sub,
    clientId: 'third',
    scopes: ['openid'],
    grantedAt: clock.now(),
    expiresAt: clock.now() + 86_400_000
  })
  t.match(await app.authority.consents(sub), [{ clientId: 'third' }])
  const browser = testBrowser(app)
  await browser.submit('/auth/login', { username: ANN, password: PASSWORD })
  const { refresh_token: ofClient = '' } = await tokensOf({ app, browser } as never).catch(() => ({
    refresh_token: ''
  }))
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: ANN } })
  const { token: reset } = await messages.next('password_reset')
  t.equal((await send('DELETE', '/auth/account')).statusCode, 204)
  t.equal(await users.findById(sub), null)
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: ANN, password: PASSWORD }
      })
    ).statusCode,
    400
  )
  for (const [what, url, headers] of [
    ['its own token', '/me', bearer(token)],
    ['another', '/me', bearer(other.access_token)],
    ['a session', '/auth/sessions', cookie],
    ['the profile', '/auth/profile', bearer(token)]
  ] as const)
    t.equal((await app.inject({ url, headers })).statusCode, 401, what)
  for (const refresh of [other.refresh_token, ofClient])
    if (refresh !== '')
      t.equal((await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(refresh) })).statusCode, 401)
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/password-reset/confirm',
        payload: { token: reset, password: 'another long one' }
      })
    ).statusCode,
    400
  )
  t.match(await messages.next('account_removed'), { by: 'user', hasPassword: true, user: { email: ANN } })
  t.equal(events.filter(({ name }) => name === 'account_removed').length, 1)
  t.same(
    [
      (await state.tokens.listFamiliesOfUser(sub, clock.now())).length,
      (await state.browserSessions.listSessionsOfUser(sub, clock.now())).length,
      (await state.consents.listConsents(sub, clock.now())).length
    ],
    [0, 0, 0]
  )
  t.same(await app.authority.consents(sub), [])
  t.equal((await send('DELETE', '/auth/account')).statusCode, 401, 'a second time')
  const again = await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: ANN, password: PASSWORD, name: 'Ann' }
  })
  t.equal(again.statusCode, 201, 'the name is free')
  t.not(again.json().sub, sub)
})

t.test('rejects tokens and sessions of a removed user although the state store could not end them', async (t) => {
  const state = memoryState()
  let isDown = false
  const orDown =
    <Args extends unknown[], Answer>(call: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      if (isDown) throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' })
      return await call(...args)
    }
  const users = memoryUserStore()
  const person = await ann(t, {
    keys: KEYS,
    clients: CLIENTS,
    users: {
      ...users,
      async remove(id) {
        await users.remove(id)
        isDown = true
      }
    },
    state: {
      ...state,
      tokens: { ...state.tokens, revokeFamiliesOfUser: orDown(state.tokens.revokeFamiliesOfUser) },
      browserSessions: {
        ...state.browserSessions,
        revokeSessionsOfUser: orDown(state.browserSessions.revokeSessionsOfUser)
      }
    }
  })
  const { app, send, sub, clock } = person
  const own = await signIn(app, ANN)
  const cookie = await browserOf(person)
  t.equal((await send('DELETE', '/auth/account', undefined, bearer(own.access_token))).statusCode, 204)
  await turns()
  t.equal(
    (await state.tokens.listFamiliesOfUser(sub, clock.now())).length,
    1,
    'the sign-in that asked could not be ended'
  )
  isDown = false
  t.equal(
    (await app.inject({ url: '/me', headers: bearer(own.access_token) })).statusCode,
    401,
    'its access token, here'
  )
  for (const url of ['/auth/profile', '/auth/sessions', '/auth/userinfo'])
    t.equal((await app.inject({ url, headers: bearer(own.access_token) })).statusCode, 401, url)
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(own.refresh_token) })).statusCode,
    401
  )
  t.match(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'refresh_token', refresh_token: own.refresh_token }
      })
    ).json(),
    { error: 'invalid_grant' }
  )
  t.equal((await app.inject({ url: '/auth/profile', headers: cookie })).statusCode, 401)
})

t.test('leaves no session of a sign-in that races the removal of the user', async (t) => {
  for (let before = 0; before < 8; before++) {
    const state = memoryState()
    const store = memoryUserStore()
    const { app, send, users, sub, clock } = await ann(t, {
      users: delayed(store),
      state: {
        ...state,
        tokens: delayed(state.tokens),
        browserSessions: delayed(state.browserSessions),
        oneTimeTokens: delayed(state.oneTimeTokens),
        consents: delayed(state.consents)
      }
    })
    const signInOnce = async (): Promise<LightMyRequestResponse> =>
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: ANN, password: PASSWORD }
      })
    const first = Array.from({ length: 5 }, signInOnce)
    await turns(before)
    const removal = send('DELETE', '/auth/account')
    const replies = await Promise.all([...first, ...Array.from({ length: 5 }, signInOnce)])
    t.equal((await removal).statusCode, 204)
    await turns()
    t.equal(await users.findById(sub), null)
    t.equal((await state.tokens.listFamiliesOfUser(sub, clock.now())).length, 0, `${before} turns in`)
    for (const reply of replies) {
      if (reply.statusCode === 200)
        t.equal(
          (await app.inject({ url: '/me', headers: bearer((reply.json() as { access_token: string }).access_token) }))
            .statusCode,
          401
        )
      else t.match(reply.json(), { error: 'invalid_grant' })
    }
  }
})

t.test('DELETE /auth/account accepts browser requests, with and without a body, also in parallel', async (t) => {
  for (const payloads of [
    [undefined],
    [{}],
    [{ password: PASSWORD }],
    [undefined, { password: PASSWORD }, {}]
  ] as Payload[][]) {
    const person = await ann(t)
    const cookie = await browserOf(person)
    const replies = await Promise.all(
      payloads.map(async (payload) => (await person.send('DELETE', '/auth/account', payload, cookie)).statusCode)
    )
    t.ok(replies.includes(204))
    t.ok(
      replies.every((status) => status === 204 || status === 401),
      replies.join()
    )
    t.equal(await person.users.findById(person.sub), null)
  }
  const { send, users, sub } = await ann(t)
  for (const payload of [[], '"x"', '', { force: true }, '{', '{"password":"a","password":"b"}', 'null', ' null '])
    t.equal((await send('DELETE', '/auth/account', payload)).statusCode, 400, JSON.stringify(payload))
  t.ok(await users.findById(sub), 'nothing was removed')
})

t.test('rejects requests from another site, changes nothing and counts nothing', async (t) => {
  const person = await ann(t, { rateLimit: { login: { windowMs: 900_000, max: 5 } } })
  const cookie = await browserOf(person)
  const before = await person.users.findById(person.sub)
  for (const sender of [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'same-site', origin: 'https://evil.localhost' },
    { origin: 'null' },
    { 'sec-fetch-site': '', origin: 'https://evil.example' }
  ]) {
    const { 'sec-fetch-site': _site, origin: _origin, ...jar } = cookie
    for (const [method, url, payload] of [
      ['PATCH', '/auth/profile', { city: 'Basel' }],
      ['POST', '/auth/email', { email: NEW }],
      ['POST', '/auth/email/resend', {}],
      ['DELETE', '/auth/account', { password: 'a wrong one' }],
      ['GET', '/auth/profile', undefined]
    ] as const) {
      for (let time = 0; time < 3; time++)
        t.equal((await person.send(method, url, payload, { ...jar, ...sender })).statusCode, 403, `${method} ${url}`)
    }
  }
  t.same(await person.users.findById(person.sub), before)
  t.equal((await person.send('DELETE', '/auth/account', { password: PASSWORD }, cookie)).statusCode, 204)
})

t.test('has no route for features that the user store or the options lack', async (t) => {
  const { update, remove, setEmailVerified, ...rest } = memoryUserStore()
  const cases: Array<[string, Partial<AuthorityOptions>, string[]]> = [
    ['everything', {}, ['GET', 'PATCH', 'email', 'resend', 'DELETE']],
    ['no update', { users: { ...rest, remove, setEmailVerified } }, ['GET', 'resend', 'DELETE']],
    ['no remove', { users: { ...rest, update, setEmailVerified } }, ['GET', 'PATCH', 'email', 'resend']],
    ['no setEmailVerified', { users: { ...rest, update, remove } }, ['GET', 'PATCH', 'email', 'DELETE']],
    ['no messages', { sendMessage: undefined }, ['GET', 'PATCH', 'DELETE']],
    ['no fields', { registration: { username: 'email' } }, ['GET', 'email', 'resend', 'DELETE']],
    ['no registration', { registration: false }, ['GET', 'email', 'resend', 'DELETE']]
  ]
  for (const [what, options, expected] of cases) {
    const { app, close } = await testApp({ registration: { username: 'email', fields: FIELDS }, ...options })
    t.teardown(close)
    const there = Object.entries({
      GET: ['GET', '/auth/profile'],
      PATCH: ['PATCH', '/auth/profile'],
      email: ['POST', '/auth/email'],
      resend: ['POST', '/auth/email/resend'],
      DELETE: ['DELETE', '/auth/account']
    }).flatMap(([name, [method = '', url = '']]) => (app.hasRoute({ method: method as 'GET', url }) ? [name] : []))
    t.same(there, expected, what)
  }
})

t.test('with username any, changes the field `email` only by the emailed link', async (t) => {
  const users = memoryUserStore()
  const { app, close, messages } = await testApp({
    users,
    registration: { username: 'any', fields: Type.Object({ email: Type.String(), city: Type.Optional(Type.String()) }) }
  })
  t.teardown(close)
  await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'ann', password: PASSWORD, email: ANN }
  })
  const { access_token: token } = await signIn(app)
  t.equal(
    (await app.inject({ method: 'PATCH', url: '/auth/profile', headers: bearer(token), payload: { email: NEW } }))
      .statusCode,
    400
  )
  t.match(
    (
      await app.inject({ method: 'PATCH', url: '/auth/profile', headers: bearer(token), payload: { city: 'Bern' } })
    ).json(),
    { username: 'ann', email: ANN, city: 'Bern' }
  )
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/email', headers: bearer(token), payload: { email: NEW } }))
      .statusCode,
    202
  )
  await app.inject({
    method: 'POST',
    url: '/auth/email/verify',
    payload: { token: (await messages.next('email_change')).token }
  })
  t.match(await users.findByUsername('ann'), { email: NEW, emailVerified: true, username: 'ann' })
})
