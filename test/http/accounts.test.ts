import formbody from '@fastify/formbody'
import type { LightMyRequestResponse } from 'fastify'
import { Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import { memoryState, memoryUserStore, type User, type UserStore } from '../../lib/index.ts'
import { delayed } from '../../lib/testing/index.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp, type TestApp } from '../support/app.ts'

const NEXT = 'an entirely new password'
const RESET_LIFETIME_MS = 30 * 60 * 1000
const VERIFY_LIFETIME_MS = 24 * 60 * 60 * 1000

interface MutableUsers {
  users: UserStore
  disable(id: string): void
}

/** A host's store in which an administrator can disable a user. */
function mutableUsers(inner: UserStore = memoryUserStore()): MutableUsers {
  const disabled = new Set<string>()
  const seen = (user: User | null): User | null =>
    user !== null && disabled.has(user.id) ? { ...user, disabled: true } : user
  return {
    users: {
      ...inner,
      findById: async (id) => seen(await inner.findById(id)),
      findByUsername: async (name) => seen(await inner.findByUsername(name))
    },
    disable(id) {
      disabled.add(id)
    }
  }
}

const post = async (
  { app }: Pick<TestApp, 'app'>,
  url: string,
  payload: object,
  headers: Record<string, string> = {}
): Promise<LightMyRequestResponse> => await app.inject({ method: 'POST', url, payload, headers })

/** Everything that a client sees of a response, except the time of day. */
function visible({ statusCode, headers, body }: LightMyRequestResponse): unknown {
  const { date: _date, ...rest } = headers
  return { statusCode, headers: rest, body }
}

/** Asks for a reset and returns the token of the message. */
async function resetToken(test: TestApp, username: string): Promise<string> {
  const reply = await post(test, '/auth/password-reset', { username })
  if (reply.statusCode !== 202) throw new Error(reply.body)
  return (await test.messages.next('password_reset')).token ?? ''
}

t.test('register: answers 201 with only the public profile', async (t) => {
  const test = await testApp({
    registration: {
      fields: Type.Object({
        email: Type.Optional(Type.String({ format: 'email' })),
        nickname: Type.Optional(Type.String({ maxLength: 20 }))
      })
    }
  })
  t.teardown(test.close)
  const reply = await post(test, '/auth/register', {
    username: 'Ann',
    password: PASSWORD,
    email: 'Ann@Mail.example',
    nickname: 'A'
  })
  t.equal(reply.statusCode, 201)
  t.equal(reply.headers['cache-control'], 'no-store')
  const body = reply.json()
  t.same(
    Object.keys(body).sort(),
    ['email', 'nickname', 'sub', 'username'],
    'ASVS-15.3.1 neither hash nor state of the account'
  )
  t.equal(body.username, 'ann')
  t.equal(body.email, 'ann@mail.example')
  t.same(Object.keys(await signUp(test.app, 'bob')).sort(), ['sub', 'username'], 'what was not given is not shown')
  t.equal(test.events.filter(({ name }) => name === 'registered').length, 2)
  t.equal((await signIn(test.app)).token_type, 'Bearer')
})

t.test('register: rejects a taken username in any spelling with 409, and changes nothing', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  await signUp(test.app, 'ann')
  for (const username of ['ann', 'ANN', 'Ann']) {
    const reply = await post(test, '/auth/register', { username, password: NEXT })
    t.equal(reply.statusCode, 409)
    t.equal(reply.json().error, 'username_taken')
  }
  t.equal(
    (await post(test, '/auth/token', { grant_type: 'password', username: 'ann', password: NEXT })).json().error,
    'invalid_grant'
  )
  t.ok(await signIn(test.app))
})

// covers ASVS-6.2.1 ASVS-6.2.4 ASVS-6.2.9 ASVS-6.2.11
t.test('register: rejects a weak password with invalid_password and the reason', async (t) => {
  const test = await testApp({ issuer: 'https://wonderland.example' })
  t.teardown(test.close)
  const cases: Array<[string, RegExp]> = [
    ['seven77', /at least 8/],
    ['é'.repeat(600), /at most 1024 bytes/],
    ['password123', /most common/],
    ['ann.lovelace', /username/],
    ['wonderland12', /belong to this service/]
  ]
  for (const [password, reason] of cases) {
    const reply = await post(test, '/auth/register', { username: 'ann.lovelace', password })
    t.equal(reply.statusCode, 400, password.slice(0, 20))
    t.equal(reply.json().error, 'invalid_password')
    t.match(reply.json().error_description, reason)
    t.notMatch(reply.body, password, 'ASVS-16.2.5 the password is not repeated')
  }
  t.equal(
    (await post(test, '/auth/register', { username: 'ann.lovelace', password: 'x'.repeat(128) + ' y z' })).statusCode,
    201,
    'ASVS-6.2.5 any composition'
  )
})

// covers ASVS-8.2.3 ASVS-15.3.3
t.test('register: rejects fields that the host did not declare', async (t) => {
  const store = memoryUserStore()
  const created: unknown[] = []
  const users: UserStore = {
    ...store,
    create: async (user) => {
      created.push(user)
      return await store.create(user)
    }
  }
  const test = await testApp({
    users,
    registration: { fields: Type.Object({ nickname: Type.Optional(Type.String()) }) }
  })
  t.teardown(test.close)
  const extras: Array<Record<string, unknown>> = [
    { id: 'root' },
    { sub: 'root' },
    { passwordHash: '$argon2id$…' },
    { emailVerified: true },
    { email_verified: true },
    { disabled: false },
    { email: 'a@mail.example' },
    { role: 'admin' },
    { nickname: ['x'] },
    { nickname: 5 }
  ]
  for (const extra of extras) {
    const reply = await post(test, '/auth/register', { username: 'ann', password: PASSWORD, ...extra })
    t.equal(reply.statusCode, 400, JSON.stringify(extra))
    t.equal(reply.json().error, 'invalid_request')
    t.match(reply.json().error_description, Object.keys(extra)[0], 'it names the field')
  }
  for (const poison of ['"__proto__":{"id":"root"}', '"constructor":{"prototype":{"id":"root"}}']) {
    const reply = await test.app.inject({
      method: 'POST',
      url: '/auth/register',
      headers: { 'content-type': 'application/json' },
      payload: `{"username":"ann","password":"${PASSWORD}",${poison}}`
    })
    t.match(reply.json(), { error: 'invalid_request' }, poison)
  }
  t.same(created, [], 'nobody was created')
  t.same(test.events, [])
  t.equal((await post(test, '/auth/register', { username: 'ann', password: PASSWORD, nickname: 'A' })).statusCode, 201)
  t.same(Object.keys(created[0] as object).sort(), ['nickname', 'passwordHash', 'username'])
})

// covers ASVS-15.3.5
t.test('register: answers 400 for an invalid body, and names the field', async (t) => {
  const test = await testApp({
    registration: {
      fields: Type.Object({ email: Type.String({ format: 'email' }), age: Type.Optional(Type.Integer()) })
    }
  })
  t.teardown(test.close)
  const good = { username: 'ann', password: PASSWORD, email: 'ann@mail.example' }
  const cases: Array<[object, string]> = [
    [{ ...good, email: 'not an address' }, 'email'],
    [{ ...good, email: 'a@mail.example\r\nBcc: b@mail.example' }, 'email'],
    [{ username: 'ann', password: PASSWORD }, 'email'],
    [{ ...good, age: '5' }, 'age'],
    [{ ...good, username: undefined }, 'username'],
    [{ ...good, username: ['ann'] }, 'username'],
    [{ ...good, username: 'a,b' }, 'username'],
    [{ ...good, username: 'x'.repeat(255) }, 'username'],
    [{ ...good, password: 12345678 }, 'password'],
    [{ ...good, password: null }, 'password'],
    [[good], 'body']
  ]
  for (const [payload, field] of cases) {
    const reply = await post(test, '/auth/register', payload)
    t.equal(reply.statusCode, 400, JSON.stringify(payload).slice(0, 60))
    t.equal(reply.json().error, 'invalid_request')
    t.match(reply.json().error_description, field)
  }
  t.equal((await post(test, '/auth/register', good)).statusCode, 201)
})

t.test('with verifyEmail, writes to a store for a new and a taken name, and changes no taken account', async (t) => {
  const users = memoryUserStore()
  const state = memoryState()
  let calls: string[] = []
  const noted = <Methods extends object>(methods: Methods): Methods =>
    Object.fromEntries(
      Object.entries(methods).map(([name, method]: [string, (...given: unknown[]) => Promise<unknown>]) => [
        name,
        async (...given: unknown[]) => {
          const result = await method(...given)
          calls.push(name)
          return result
        }
      ])
    ) as Methods
  const test = await testApp({
    users: noted(users),
    state: { ...state, oneTimeTokens: noted(state.oneTimeTokens) },
    registration: { verifyEmail: true }
  })
  t.teardown(test.close)
  await users.create({ username: 'cleo@example.com', email: 'cleo@example.com', passwordHash: null })
  await users.create({
    username: 'dan@example.com',
    email: 'dan@example.com',
    emailVerified: true,
    passwordHash: 'x'
  })
  const signUpAs = async (username: string): Promise<string[]> => {
    calls = []
    const payload = { username, password: 'correct horse battery' }
    t.equal((await test.app.inject({ method: 'POST', url: '/auth/register', payload })).statusCode, 202)
    return [...calls]
  }
  t.equal((await signUpAs('ann@example.com')).at(0), 'create')
  await test.messages.next('verify_email')
  for (const taken of ['ann', 'cleo', 'dan']) {
    const before = await users.findByUsername(`${taken}@example.com`)
    t.equal((await signUpAs(`${taken}@example.com`)).at(0), 'put', taken)
    t.strictSame(await users.findByUsername(`${taken}@example.com`), before, 'nothing of the account is written')
    await test.messages.next('already_registered')
  }
})

// covers ENUM-register ASVS-6.3.8
t.test('with verifyEmail, answers the same for new, taken and disabled names, but varies the message', async (t) => {
  const { users, disable } = mutableUsers()
  const test = await testApp({ users, registration: { verifyEmail: true } })
  t.teardown(test.close)
  const ask = async (username: string): Promise<LightMyRequestResponse> =>
    await post(test, '/auth/register', { username, password: PASSWORD })
  const fresh = await ask('ann@mail.example')
  t.equal(fresh.statusCode, 202)
  t.same(fresh.json(), { message: 'A message is on its way to this address. Follow the link in it to continue.' }, 'H4')
  const first = await test.messages.next()
  t.match(first, { kind: 'verify_email', user: { email: 'ann@mail.example' } })
  const taken = await ask('Ann@Mail.example')
  t.match(await test.messages.next(), { kind: 'already_registered', user: { email: 'ann@mail.example' } })
  await ask('gone@mail.example')
  t.equal((await test.messages.next()).kind, 'verify_email')
  disable((await users.findByUsername('gone@mail.example'))?.id ?? '')
  const disabled = await ask('gone@mail.example')
  // Closing waits for background work.
  await test.close()
  t.same(visible(taken), visible(fresh))
  t.same(visible(disabled), visible(fresh))
  t.equal(test.messages.messages.length, 3, 'a disabled account gets no message')
  t.notOk('passwordHash' in first.user, 'no message has the hash')
})

t.test('requires email verification before the first sign-in, with a token for one use within a day', async (t) => {
  const test = await testApp({ registration: { verifyEmail: true } })
  t.teardown(test.close)
  await post(test, '/auth/register', { username: 'ann@mail.example', password: PASSWORD })
  const message = await test.messages.next('verify_email')
  t.equal(message.url, `${ISSUER}/auth/verify-email?token=${message.token}`)
  t.equal(message.expiresAt?.getTime(), test.clock.now() + VERIFY_LIFETIME_MS)
  const login = { grant_type: 'password', username: 'ann@mail.example', password: PASSWORD }
  const early = await post(test, '/auth/token', login)
  const wrong = await post(test, '/auth/token', { ...login, password: 'wrong one' })
  t.equal(early.json().error, 'invalid_grant')
  t.match(early.json(), { error_reason: 'email_not_verified' }, 'who knows the password is told what is missing')
  t.same(
    visible(wrong),
    visible(await post(test, '/auth/token', { ...login, username: 'nobody@mail.example' })),
    'ENUM-login: who does not know it learns nothing'
  )
  t.equal(
    (await test.app.inject({ url: `/auth/email/verify?token=${message.token}` })).statusCode,
    404,
    'ADV a mail scanner that follows links uses nothing up'
  )
  t.match((await post(test, '/auth/email/verify', { token: `${message.token?.slice(0, -1)}!` })).json(), {
    error: 'invalid_token'
  })
  test.clock.step(VERIFY_LIFETIME_MS - 1)
  t.equal(
    (await post(test, '/auth/email/verify', { token: message.token })).statusCode,
    204,
    'ASVS-6.5.5 in its last millisecond'
  )
  const again = await post(test, '/auth/email/verify', { token: message.token })
  t.equal(again.statusCode, 400, 'ASVS-6.5.1 once')
  t.equal(again.json().error, 'invalid_token')
  t.equal((await post(test, '/auth/token', login)).statusCode, 200)
  t.equal(test.events.filter(({ name }) => name === 'email_verified').length, 1)
})

// covers ASVS-6.5.5
t.test('rejects a verification token when it has expired, and at a password reset', async (t) => {
  const test = await testApp({ registration: { verifyEmail: true } })
  t.teardown(test.close)
  await post(test, '/auth/register', { username: 'ann@mail.example', password: PASSWORD })
  const { token } = await test.messages.next('verify_email')
  t.equal(
    (await post(test, '/auth/password-reset/confirm', { token, password: NEXT })).json().error,
    'invalid_token',
    'ASVS-6.6.2'
  )
  test.clock.step(VERIFY_LIFETIME_MS)
  t.equal((await post(test, '/auth/email/verify', { token })).json().error, 'invalid_token')
})

// covers ASVS-6.2.2 ASVS-6.2.3 ASVS-7.4.3
t.test('ends the other sessions after a password change, and keeps the current one', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  await signUp(test.app)
  const here = await signIn(test.app)
  const there = await signIn(test.app)
  const change = { current_password: PASSWORD, new_password: NEXT }

  const anonymous = await post(test, '/auth/password', change)
  t.equal(anonymous.statusCode, 401)
  t.equal(anonymous.headers['www-authenticate'], 'Bearer')
  t.equal(
    (await post(test, '/auth/password', change, bearer(here.refresh_token))).statusCode,
    401,
    'a refresh token is no access token'
  )
  const wrong = await post(
    test,
    '/auth/password',
    { ...change, current_password: 'wrong one' },
    bearer(here.access_token)
  )
  t.equal(wrong.statusCode, 400)
  t.equal(wrong.json().error, 'invalid_grant')
  for (const body of [{ new_password: NEXT }, { current_password: PASSWORD }, { ...change, username: 'bob' }]) {
    t.equal((await post(test, '/auth/password', body, bearer(here.access_token))).json().error, 'invalid_request')
  }
  const weak = await post(test, '/auth/password', { ...change, new_password: 'password123' }, bearer(here.access_token))
  t.equal(weak.json().error, 'invalid_password')
  t.ok(await signIn(test.app), 'nothing was changed')
  t.equal((await test.app.inject({ url: '/me', headers: bearer(there.access_token) })).statusCode, 200)

  const reply = await post(test, '/auth/password', change, bearer(here.access_token))
  t.equal(reply.statusCode, 204)
  t.equal(reply.body, '')
  t.equal((await test.app.inject({ url: '/me', headers: bearer(here.access_token) })).statusCode, 200)
  t.equal((await post(test, '/auth/refresh', {}, bearer(here.refresh_token))).statusCode, 200)
  for (const url of ['/me', '/auth/sessions'])
    t.equal(
      (await test.app.inject({ url, headers: bearer(there.access_token) })).statusCode,
      401,
      `ASVS-7.4.1 ${url} at once`
    )
  t.equal((await post(test, '/auth/password', change, bearer(there.access_token))).statusCode, 401)
  t.equal((await post(test, '/auth/refresh', {}, bearer(there.refresh_token))).statusCode, 401)
  t.equal(
    (await post(test, '/auth/token', { grant_type: 'password', username: 'ann', password: PASSWORD })).statusCode,
    400
  )
  t.ok(await signIn(test.app, 'ann', NEXT))
})

// covers ASVS-6.2.3
t.test('counts wrong current passwords at a password change against the account', async (t) => {
  const test = await testApp({
    rateLimit: {
      login: { max: 100 },
      register: false,
      refresh: false,
      passwordReset: false,
      account: { max: 3, windowMs: 60_000 }
    }
  })
  t.teardown(test.close)
  await signUp(test.app)
  const { access_token: token } = await signIn(test.app)
  const guess = async (): Promise<number> =>
    (await post(test, '/auth/password', { current_password: 'wrong one', new_password: NEXT }, bearer(token)))
      .statusCode
  t.same([await guess(), await guess(), await guess(), await guess()], [400, 400, 400, 429])
})

// covers ENUM-reset ASVS-6.3.8
t.test('answers a reset request the same for known, unknown and disabled accounts', async (t) => {
  const { users, disable } = mutableUsers()
  const test = await testApp({ users })
  t.teardown(test.close)
  await signUp(test.app, 'ann@mail.example')
  await signUp(test.app, 'nomail')
  disable((await signUp(test.app, 'gone@mail.example')).sub)
  const known = await post(test, '/auth/password-reset', { username: 'Ann@Mail.example' })
  t.equal(known.statusCode, 202)
  t.equal(known.headers['cache-control'], 'no-store')
  t.equal((await test.messages.next('password_reset')).user.email, 'ann@mail.example', 'ADV to the stored address')
  for (const username of [
    'nobody@mail.example',
    'gone@mail.example',
    'nomail',
    'a b',
    '\u212Aate@mail.example',
    'x'.repeat(254)
  ]) {
    t.same(visible(await post(test, '/auth/password-reset', { username })), visible(known), username.slice(0, 20))
  }
  // Closing waits for background work.
  await test.close()
  const told = test.messages.messages.filter(({ kind }) => kind === 'password_reset').map(({ user }) => user.username)
  t.same(told, ['ann@mail.example', 'nomail'], 'how to reach somebody without an address is for sendMessage to know')
  t.equal(test.events.filter(({ name }) => name === 'password_reset_requested').length, 2)
})

// covers ENUM-reset
t.test('keeps the answer of a reset request the same when the store fails', async (t) => {
  const store = memoryUserStore()
  let down = false
  const users: UserStore = {
    ...store,
    findByUsername: async (name) => {
      if (down) throw new Error('connection refused')
      return await store.findByUsername(name)
    }
  }
  const test = await testApp({ users })
  t.teardown(test.close)
  const before = await post(test, '/auth/password-reset', { username: 'nobody' })
  down = true
  t.same(visible(await post(test, '/auth/password-reset', { username: 'nobody' })), visible(before))
})

// covers ASVS-6.4.3 ASVS-6.3.6
t.test('resets a password once, ends every session, and signs nobody in', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  await signUp(test.app, 'ann@mail.example')
  const old = await signIn(test.app, 'ann@mail.example')
  const token = await resetToken(test, 'ann@mail.example')
  const weak = await post(test, '/auth/password-reset/confirm', { token, password: 'short' })
  t.equal(weak.json().error, 'invalid_password', 'the token is not used up')
  t.same(
    visible(await post(test, '/auth/password-reset/confirm', { token: 'x'.repeat(46), password: 'short' })),
    visible(weak),
    'ENUM-reset-confirm'
  )
  const reply = await post(test, '/auth/password-reset/confirm', { token, password: NEXT })
  t.equal(reply.statusCode, 204)
  t.equal(reply.body, '')
  t.notOk(reply.headers['set-cookie'])
  t.equal((await test.app.inject({ url: '/me', headers: bearer(old.access_token) })).statusCode, 401)
  t.equal((await post(test, '/auth/refresh', {}, bearer(old.refresh_token))).statusCode, 401)
  t.equal(test.events.filter(({ name }) => name === 'token_issued').length, 1, 'only the sign-in of before')
  t.equal(
    (await post(test, '/auth/token', { grant_type: 'password', username: 'ann@mail.example', password: PASSWORD }))
      .statusCode,
    400
  )
  t.ok(await signIn(test.app, 'ann@mail.example', NEXT))
  t.equal((await test.messages.next('password_changed')).user.email, 'ann@mail.example', 'ASVS-6.3.7')

  const used = await post(test, '/auth/password-reset/confirm', { token, password: 'yet another password' })
  t.equal(used.statusCode, 400)
  t.same(
    visible(
      await post(test, '/auth/password-reset/confirm', { token: 'x'.repeat(46), password: 'yet another password' })
    ),
    visible(used),
    'unknown and used look alike'
  )
  t.equal(
    (await post(test, '/auth/password-reset/confirm', { token: 5, password: NEXT })).json().error,
    'invalid_request'
  )
  t.equal(
    (await post(test, '/auth/password-reset/confirm', { token, password: NEXT, username: 'bob' })).json().error,
    'invalid_request',
    'ASVS-6.6.2 whose password it is says the token alone'
  )
})

// covers ASVS-6.4.3 ASVS-6.5.1
t.test('accepts exactly one of 50 parallel reset confirmations', async (t) => {
  const users = delayed(memoryUserStore())
  const test = await testApp({ users, state: delayed(memoryState()), password: { concurrency: 50 } })
  t.teardown(test.close)
  await signUp(test.app, 'ann@mail.example')
  const token = await resetToken(test, 'ann@mail.example')
  const passwords = Array.from({ length: 50 }, (_, index) => `parallel password ${index}`)
  const replies = await Promise.all(
    passwords.map(async (password) => await post(test, '/auth/password-reset/confirm', { token, password }))
  )
  const won = replies.flatMap((reply, index) => (reply.statusCode === 204 ? [index] : []))
  t.equal(won.length, 1)
  for (const reply of replies) if (reply.statusCode !== 204) t.match(reply.json(), { error: 'invalid_token' })
  t.ok(await signIn(test.app, 'ann@mail.example', passwords[won[0] ?? 0]))
  t.equal(test.events.filter(({ name }) => name === 'password_changed').length, 1)
})

// covers ASVS-6.6.2
t.test('accepts only the newest reset token', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  await signUp(test.app, 'ann@mail.example')
  const first = await resetToken(test, 'ann@mail.example')
  const second = await resetToken(test, 'ann@mail.example')
  t.not(first, second)
  t.equal(
    (await post(test, '/auth/password-reset/confirm', { token: first, password: NEXT })).json().error,
    'invalid_token'
  )
  t.equal((await post(test, '/auth/password-reset/confirm', { token: second, password: NEXT })).statusCode, 204)
})

t.test('revokes earlier reset links after a password change', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  await signUp(test.app, 'ann@mail.example')
  const token = await resetToken(test, 'ann@mail.example')
  const { access_token: access } = await signIn(test.app, 'ann@mail.example')
  t.equal(
    (await post(test, '/auth/password', { current_password: PASSWORD, new_password: NEXT }, bearer(access))).statusCode,
    204
  )
  t.equal(
    (await post(test, '/auth/password-reset/confirm', { token, password: 'a third good password' })).json().error,
    'invalid_token'
  )
})

// covers ASVS-6.5.5
t.test('accepts a reset token until the last millisecond of its 30 minutes', async (t) => {
  for (const [step, status] of [
    [RESET_LIFETIME_MS - 1, 204],
    [RESET_LIFETIME_MS, 400],
    [RESET_LIFETIME_MS + 1, 400]
  ] as const) {
    const test = await testApp()
    await signUp(test.app, 'ann@mail.example')
    const token = await resetToken(test, 'ann@mail.example')
    test.clock.step(step)
    t.equal(
      (await post(test, '/auth/password-reset/confirm', { token, password: NEXT })).statusCode,
      status,
      `after ${step} ms`
    )
    await test.close()
  }
})

// covers ASVS-7.4.2
t.test('rejects the reset token of an account that was disabled meanwhile', async (t) => {
  const { users, disable } = mutableUsers()
  const test = await testApp({ users })
  t.teardown(test.close)
  const { sub } = await signUp(test.app, 'ann@mail.example')
  const token = await resetToken(test, 'ann@mail.example')
  disable(sub)
  t.equal((await post(test, '/auth/password-reset/confirm', { token, password: NEXT })).json().error, 'invalid_token')
})

// covers ADV-host-header
t.test('builds the link of a message independent of the request headers', async (t) => {
  const test = await testApp({ issuer: 'https://auth.example' }, { trustProxy: ['127.0.0.1'] })
  t.teardown(test.close)
  await signUp(test.app, 'ann@mail.example')
  const evil: Array<Record<string, string>> = [
    { host: 'evil.example' },
    { 'x-forwarded-host': 'evil.example' },
    { 'x-forwarded-proto': 'http' },
    { forwarded: 'host=evil.example' },
    { 'x-original-url': 'https://evil.example/' },
    { referer: 'https://evil.example/' },
    { 'x-forwarded-prefix': '/evil' }
  ]
  for (const headers of evil) {
    await post(test, '/auth/password-reset', { username: 'ann@mail.example' }, headers)
    const { url, token } = await test.messages.next('password_reset')
    t.equal(url, `https://auth.example/auth/reset-password?token=${token}`, JSON.stringify(headers))
  }
  t.equal(
    (await post(test, '/auth/password-reset', { username: 'ann@mail.example' }, { origin: 'https://evil.example' }))
      .statusCode,
    403,
    'a page of another site sends no messages at all'
  )
})

t.test('without hosted pages, links to pages of the host with the token in the fragment', async (t) => {
  const test = await testApp({
    issuer: 'https://auth.example/one',
    prefix: '/v1',
    pages: false,
    registration: { verifyEmail: true }
  })
  t.teardown(test.close)
  await post(test, '/v1/register', { username: 'ann@mail.example', password: PASSWORD })
  const verify = await test.messages.next('verify_email')
  t.equal(verify.url, `https://auth.example/v1/verify-email#token=${verify.token}`)
  await post(test, '/v1/email/verify', { token: verify.token })
  await post(test, '/v1/password-reset', { username: 'ann@mail.example' })
  const reset = await test.messages.next('password_reset')
  t.equal(reset.url, `https://auth.example/v1/reset-password#token=${reset.token}`)
  for (const { url = '' } of [verify, reset])
    t.equal((await test.app.inject({ url: new URL(url).pathname })).statusCode, 404, 'we have no page there')
  t.equal((await post(test, '/v1/password-reset/confirm', { token: reset.token, password: NEXT })).statusCode, 204)
})

// covers ASVS-7.5.2
t.test('lists the sessions of a user and marks the current one', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  await signUp(test.app, 'ann')
  await signUp(test.app, 'bob')
  const first = await test.app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: { 'user-agent': 'phone' },
    payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
  })
  test.clock.step(1000)
  const here = await signIn(test.app, 'ann')
  await signIn(test.app, 'bob')
  const reply = await test.app.inject({ url: '/auth/sessions', headers: bearer(here.access_token) })
  t.equal(reply.statusCode, 200)
  t.equal(reply.headers['cache-control'], 'no-store')
  const { sessions } = reply.json<{ sessions: Array<Record<string, unknown>> }>()
  t.equal(sessions.length, 2, "not bob's")
  t.same(
    sessions.map(({ current }) => current),
    [true, false],
    'newest first'
  )
  t.equal(sessions[1]?.user_agent, 'phone')
  t.equal(sessions[0]?.created_at, '2026-01-01T00:00:01.000Z')
  t.same(
    sessions.map(({ kind }) => kind),
    ['token', 'token']
  )
  t.same(Object.keys(sessions[0] ?? {}).sort(), [
    'client_id',
    'created_at',
    'current',
    'expires_at',
    'id',
    'kind',
    'last_used_at',
    'scope',
    'user_agent'
  ])
  for (const secret of [here.refresh_token.split('.')[0] ?? '-', first.json().refresh_token.split('.')[0] as string])
    t.notMatch(reply.body, secret, 'no part of a refresh token')
  t.equal((await test.app.inject({ url: '/auth/sessions' })).statusCode, 401)
})

// covers ASVS-8.2.2 ASVS-7.5.2
t.test('ends only sessions of the user who asks', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  await signUp(test.app, 'ann')
  await signUp(test.app, 'bob')
  const ann = await signIn(test.app, 'ann')
  const phone = await signIn(test.app, 'ann')
  const bob = await signIn(test.app, 'bob')
  const list = async (token: string): Promise<Array<{ id: string; current: boolean }>> =>
    (await test.app.inject({ url: '/auth/sessions', headers: bearer(token) })).json().sessions
  const end = async (id: string, token?: string): Promise<LightMyRequestResponse> =>
    await test.app.inject({
      method: 'DELETE',
      url: `/auth/sessions/${id}`,
      headers: token === undefined ? {} : bearer(token)
    })
  const [own] = await list(phone.access_token)
  const others = (await list(ann.access_token)).filter(({ current }) => !current)
  const id = others[0]?.id ?? ''

  const stranger = await end(id, bob.access_token)
  t.equal(stranger.statusCode, 404)
  t.same(visible(await end('sid-of-nobody', bob.access_token)), visible(stranger), "another's looks like none")
  t.equal((await end(id)).statusCode, 401)
  t.ok(own)
  t.equal((await list(phone.access_token)).length, 2, 'all are alive')

  t.equal((await end(id, ann.access_token)).statusCode, 204)
  t.equal((await test.app.inject({ url: '/me', headers: bearer(phone.access_token) })).statusCode, 401)
  t.equal((await post(test, '/auth/refresh', {}, bearer(phone.refresh_token))).statusCode, 401)
  t.equal((await end(id, ann.access_token)).statusCode, 404, 'it is gone')
  const mine = (await list(ann.access_token))[0]?.id ?? ''
  t.equal((await end(mine, ann.access_token)).statusCode, 204)
  t.equal((await test.app.inject({ url: '/auth/sessions', headers: bearer(ann.access_token) })).statusCode, 401)
  t.equal((await test.app.inject({ url: '/me', headers: bearer(bob.access_token) })).statusCode, 200)
})

// covers ASVS-7.4.2
t.test('GHSA-2vg6 rejects a disabled user at once at the account endpoints, the refresh and the sign-in', async (t) => {
  const { users, disable } = mutableUsers()
  const test = await testApp({ users })
  t.teardown(test.close)
  const { sub } = await signUp(test.app)
  const { access_token: token, refresh_token: refresh } = await signIn(test.app)
  const [session] = (await test.app.inject({ url: '/auth/sessions', headers: bearer(token) })).json().sessions
  disable(sub)
  t.equal((await test.app.inject({ url: '/auth/sessions', headers: bearer(token) })).statusCode, 401)
  t.equal(
    (await test.app.inject({ method: 'DELETE', url: `/auth/sessions/${session.id}`, headers: bearer(token) }))
      .statusCode,
    401
  )
  t.equal(
    (await post(test, '/auth/password', { current_password: PASSWORD, new_password: NEXT }, bearer(token))).statusCode,
    401
  )
  t.equal((await post(test, '/auth/refresh', {}, bearer(refresh))).statusCode, 401)
  const login = await post(test, '/auth/token', { grant_type: 'password', username: 'ann', password: PASSWORD })
  t.same(
    visible(login),
    visible(await post(test, '/auth/token', { grant_type: 'password', username: 'nobody', password: PASSWORD })),
    'ENUM-login'
  )
})

t.test('rejects a form with 415 when the host has a form parser', async (t) => {
  const fields = Type.Object({ nickname: Type.Optional(Type.String()) })
  const test = await testApp({ registration: { fields } }, {}, async (app) => {
    await app.register(formbody)
    app.post('/form', async (request) => request.body)
  })
  t.teardown(test.close)
  await signUp(test.app)
  const { access_token: token } = await signIn(test.app)
  const send = async (method: 'DELETE' | 'PATCH' | 'POST', url: string): Promise<LightMyRequestResponse> =>
    await test.app.inject({
      method,
      url,
      headers: { ...bearer(token), 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({
        username: 'bob',
        password: NEXT,
        current_password: PASSWORD,
        new_password: NEXT,
        email: 'ann@example.com'
      }).toString()
    })
  t.match((await send('POST', '/form')).json(), { username: 'bob' }, 'the parser works on a route of the host')
  for (const [method, url] of [
    ['POST', '/auth/register'],
    ['POST', '/auth/password-reset'],
    ['POST', '/auth/password-reset/confirm'],
    ['POST', '/auth/email/verify'],
    ['POST', '/auth/email/resend'],
    ['POST', '/auth/email'],
    ['POST', '/auth/password'],
    ['PATCH', '/auth/profile'],
    ['DELETE', '/auth/account']
  ] as const) {
    const reply = await send(method, url)
    t.equal(reply.statusCode, 415, `${method} ${url}`)
    t.equal(reply.json().error, 'invalid_request', `${method} ${url}`)
  }
  t.ok((await signIn(test.app)).access_token, 'nothing has changed')
})

t.test('rejects other content types with 415, malformed JSON with 400 and a long body with 413', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  for (const url of ['/auth/register', '/auth/password-reset', '/auth/password-reset/confirm', '/auth/email/verify']) {
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']) {
      const reply = await test.app.inject({
        method: 'POST',
        url,
        headers: { 'content-type': type },
        payload: 'username=ann&password=x'
      })
      t.equal(reply.statusCode, 415, `${url} ${type}`)
      t.equal(reply.json().error, 'invalid_request')
    }
    t.equal(
      (
        await test.app.inject({
          method: 'POST',
          url,
          headers: { 'content-type': 'application/json' },
          payload: '{"username":'
        })
      ).statusCode,
      400
    )
    t.equal(
      (
        await test.app.inject({
          method: 'POST',
          url,
          headers: { 'content-type': 'application/json' },
          payload: `{"x":"${'x'.repeat(20_000)}"}`
        })
      ).statusCode,
      413,
      'DOS-body'
    )
  }
})

t.test('rejects NUL characters and lone surrogates at registration, and names the field', async (t) => {
  const fields = Type.Object({
    nickname: Type.Optional(Type.String()),
    tags: Type.Optional(Type.Array(Type.Object({ label: Type.String() })))
  })
  const { app, close } = await testApp({ registration: { fields } })
  t.teardown(close)
  const register = async (extra: Record<string, unknown>) =>
    await app.inject({
      method: 'POST',
      url: '/auth/register',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify({ username: 'ann', password: PASSWORD, ...extra })
    })
  for (const text of ['a\0b', '\ud800', 'x\udc00y']) {
    t.match((await register({ username: text })).json(), {
      error: 'invalid_request',
      error_description: 'username: it holds characters that are not allowed, or is too long.'
    })
    for (const [field, extra] of [
      ['nickname', { nickname: text }],
      ['tags', { tags: [{ label: 'fine' }, { label: text }] }]
    ] as const) {
      const reply = await register(extra)
      t.equal(reply.statusCode, 400, JSON.stringify(extra))
      t.match(reply.json(), {
        error: 'invalid_request',
        error_description: `${field}: it holds characters that are not allowed.`
      })
    }
  }
  t.equal((await register({ nickname: '👩‍👩‍👧 é\u2028', tags: [{ label: '' }] })).statusCode, 201)
})
