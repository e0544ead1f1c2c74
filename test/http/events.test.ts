import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setImmediate } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import {
  type AuthorityEventName,
  type AuthorityEvents,
  memoryState,
  memoryUserStore,
  type UserStore
} from '../../lib/index.ts'
import type { State } from '../../lib/ports/state.ts'
import { fastHasher } from '../../lib/testing/index.ts'
import { bearer, PASSWORD, signIn, signUp, testApp, type TestApp } from '../support/app.ts'

const NEXT = 'an entirely new password'

interface Case<Name extends AuthorityEventName = AuthorityEventName> {
  event: Name
  options?: Parameters<typeof testApp>[0]
  /** Prepares the act; its events don't count. */
  before?: (test: TestApp) => Promise<unknown>
  /** Raises the event once. */
  act: (test: TestApp, before: never) => Promise<unknown>
  payload: {
    [Key in keyof AuthorityEvents[Name]]:
      | RegExp
      | StringConstructor
      | NumberConstructor
      | AuthorityEvents[Name][Key]
      | null
  }
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const ORIGIN = { time: TIME, requestId: /^req-/, ip: '127.0.0.1', userAgent: 'events test' }
const SID = /^[\w-]{16,}$/

const send = async (
  { app }: TestApp,
  url: string,
  payload: object,
  headers: Record<string, string> = {}
): Promise<number> =>
  (await app.inject({ method: 'POST', url, payload, headers: { 'user-agent': ORIGIN.userAgent, ...headers } }))
    .statusCode
const login = async (test: TestApp, password = PASSWORD, username = 'ann@mail.example'): Promise<number> =>
  await send(test, '/auth/token', { grant_type: 'password', username, password })
const ann = async ({ app }: TestApp): Promise<unknown> => await signUp(app, 'ann@mail.example')
const signedIn = async (test: TestApp): Promise<{ access_token: string; refresh_token: string }> => {
  await ann(test)
  return await signIn(test.app, 'ann@mail.example')
}
const resetLink = async (test: TestApp): Promise<string | undefined> => {
  await ann(test)
  await send(test, '/auth/password-reset', { username: 'ann@mail.example' })
  return (await test.messages.next('password_reset')).token
}

const emailLink = async (test: TestApp): Promise<string> => {
  const { access_token: token } = await signedIn(test)
  await send(test, '/auth/email', { email: 'ann@new.example' }, bearer(token))
  return (await test.messages.next('email_change')).token
}
const own = async (
  { app }: TestApp,
  method: 'PATCH' | 'DELETE',
  url: string,
  token: string,
  payload?: object
): Promise<unknown> =>
  await app.inject({
    method,
    url,
    headers: { 'user-agent': ORIGIN.userAgent, ...bearer(token) },
    ...(payload === undefined ? {} : { payload })
  })

const CASES: Array<Case<never>> = []
function add<Name extends AuthorityEventName>(one: Case<Name>): void {
  CASES.push(one as unknown as Case<never>)
}

add<'registered'>({
  event: 'registered',
  act: async (test) => await send(test, '/auth/register', { username: 'Ann', password: PASSWORD }),
  payload: { ...ORIGIN, userId: String, username: 'ann' }
})
add<'authenticated'>({
  event: 'authenticated',
  before: ann,
  act: async (test) => await login(test),
  payload: { ...ORIGIN, userId: String, sid: SID, clientId: null, method: 'password', methods: ['password'] }
})
add<'token_issued'>({
  event: 'token_issued',
  before: ann,
  act: async (test) => await login(test),
  payload: {
    ...ORIGIN,
    userId: String,
    sid: SID,
    clientId: null,
    scope: 'openid profile email offline_access',
    grantType: 'password'
  }
})
add<'login_failed'>({
  event: 'login_failed',
  before: ann,
  act: async (test) => await login(test, 'wrong one'),
  payload: {
    ...ORIGIN,
    reason: 'wrong_password',
    userId: String,
    username: 'ann@mail.example',
    sid: null,
    clientId: null
  }
})
add<'token_refreshed'>({
  event: 'token_refreshed',
  before: signedIn,
  act: async (test, { refresh_token: token }: { refresh_token: string }) =>
    await send(test, '/auth/refresh', {}, bearer(token)),
  payload: { ...ORIGIN, userId: String, sid: SID, clientId: null, rotated: false }
})
add<'refresh_token_reused'>({
  event: 'refresh_token_reused',
  options: { refreshToken: { rotate: 'always', reuseGraceSeconds: 0 } },
  before: async (test) => {
    const tokens = await signedIn(test)
    await send(test, '/auth/refresh', {}, bearer(tokens.refresh_token))
    test.clock.step(1)
    return tokens
  },
  act: async (test, { refresh_token: token }: { refresh_token: string }) =>
    await send(test, '/auth/refresh', {}, bearer(token)),
  payload: { ...ORIGIN, userId: String, sid: SID, clientId: null }
})
add<'password_reset_requested'>({
  event: 'password_reset_requested',
  before: ann,
  act: async (test) => {
    await send(test, '/auth/password-reset', { username: 'ann@mail.example' })
    await test.messages.next('password_reset')
  },
  payload: { ...ORIGIN, userId: String }
})
add<'password_changed'>({
  event: 'password_changed',
  before: resetLink,
  act: async (test, token: string) => await send(test, '/auth/password-reset/confirm', { token, password: NEXT }),
  payload: { ...ORIGIN, userId: String, sid: null, by: 'reset' }
})
add<'email_change_requested'>({
  event: 'email_change_requested',
  before: signedIn,
  act: async (test, { access_token: token }: { access_token: string }) =>
    await send(test, '/auth/email', { email: 'ann@new.example' }, bearer(token)),
  payload: { ...ORIGIN, userId: String, sid: SID }
})
add<'email_changed'>({
  event: 'email_changed',
  before: emailLink,
  act: async (test, token: string) => await send(test, '/auth/email/verify', { token }),
  payload: { ...ORIGIN, userId: String }
})
add<'profile_changed'>({
  event: 'profile_changed',
  options: { registration: { fields: Type.Object({ city: Type.Optional(Type.String()) }) } },
  before: signedIn,
  act: async (test, { access_token: token }: { access_token: string }) =>
    await own(test, 'PATCH', '/auth/profile', token, { city: 'Bern' }),
  payload: { ...ORIGIN, userId: String, sid: SID, fields: ['city'] }
})
const AT_OP = { issuer: 'https://op.example', subject: 'subject-of-ann', connection: 'op' }
add<'identity_linked'>({
  event: 'identity_linked',
  before: async ({ app }) => await signUp(app, 'ann@mail.example'),
  act: async ({ app }, { sub }: { sub: string }) => await app.authority.linkIdentity(sub, AT_OP),
  payload: { time: TIME, requestId: null, userId: String, connection: 'op', by: 'host' }
})
add<'identity_unlinked'>({
  event: 'identity_unlinked',
  before: async (test) => {
    const token = await resetLink(test)
    const userId = (await test.app.authority.verifyPassword('ann@mail.example', PASSWORD)) ?? ''
    await test.app.authority.linkIdentity(userId, AT_OP)
    return token
  },
  act: async (test, token: string) => await send(test, '/auth/password-reset/confirm', { token, password: NEXT }),
  payload: { ...ORIGIN, userId: String, connection: 'op', by: 'password_reset' }
})
add<'account_removed'>({
  event: 'account_removed',
  before: signedIn,
  act: async (test, { access_token: token }: { access_token: string }) =>
    await own(test, 'DELETE', '/auth/account', token),
  payload: { ...ORIGIN, userId: String, sid: SID }
})
add<'email_verified'>({
  event: 'email_verified',
  before: async (test) => {
    await ann(test)
    return (await test.messages.next('verify_email')).token
  },
  act: async (test, token: string) => await send(test, '/auth/email/verify', { token }),
  payload: { ...ORIGIN, userId: String }
})
add<'logged_out'>({
  event: 'logged_out',
  before: signedIn,
  act: async ({ app }, { access_token: token }: { access_token: string }) => {
    const {
      sessions: [session]
    } = (await app.inject({ url: '/auth/sessions', headers: bearer(token) })).json()
    await app.inject({
      method: 'DELETE',
      url: `/auth/sessions/${session.id}`,
      headers: { ...bearer(token), 'user-agent': ORIGIN.userAgent }
    })
  },
  payload: { ...ORIGIN, userId: String, sids: [SID] as never, by: 'user' }
})
add<'rate_limited'>({
  event: 'rate_limited',
  options: { rateLimit: { login: { max: 1, windowMs: 60_000 } } },
  before: async (test) => await login(test, 'wrong one'),
  act: async (test) => await login(test, 'wrong one'),
  payload: { ...ORIGIN, rule: 'login', max: 1, windowMs: 60_000, retryAfter: 60 }
})
add<'hash_queue_full'>({
  event: 'hash_queue_full',
  options: { password: { concurrency: 1, maxQueue: 1, hasher: slowHasher() } },
  // One hash runs, one waits, and the third finds the queue full.
  act: async (test) => {
    const sent = Promise.all(
      [1, 2, 3].map(async (each) => await send(test, '/auth/register', { username: `user${each}`, password: PASSWORD }))
    )
    // The refusal is delayed by less than half a second.
    await new Promise<void>((resolve) => {
      test.app.authority.on('hash_queue_full', () => {
        resolve()
      })
    })
    await setImmediate()
    test.clock.step(1250)
    await sent
  },
  payload: { time: TIME, requestId: null, running: 1, waiting: 1, maxQueue: 1 }
})

/** Hashes that take some turns of the event loop, so that requests meet in the queue. */
function slowHasher(): ReturnType<typeof fastHasher> {
  const fast = fastHasher()
  return {
    ...fast,
    async hash(...args) {
      for (let turn = 0; turn < 20; turn++) await setImmediate()
      return await fast.hash(...args)
    }
  }
}

for (const { event, options, before, act, payload } of CASES as unknown as Array<Case>) {
  // covers ASVS-16.2.1 ASVS-16.2.2 ASVS-16.3.1
  t.test(`reports ${event} once to handlers of app.authority.on and once on the diagnostics channel`, async (t) => {
    const requests: string[] = []
    const test = await testApp(options, {}, (app) => {
      app.addHook('onRequest', async (request) => {
        requests.push(request.id)
      })
    })
    t.teardown(test.close)
    // The start checks the hasher in the background. Waits for that check.
    await test.app.authority.hashPassword('something else')
    const first = await before?.(test)
    const published: unknown[] = []
    const raised: unknown[] = []
    const listen = (message: unknown): void => {
      published.push(message)
    }
    subscribe(`fastify-authority.${event}`, listen)
    t.teardown(() => {
      unsubscribe(`fastify-authority.${event}`, listen)
    })
    test.app.authority.on(event, (got: unknown) => {
      raised.push(got)
    })
    const time = new Date(test.clock.now()).toISOString()
    requests.length = 0
    await act(test, first as never)
    t.equal(raised.length, 1)
    t.match(raised[0], payload)
    t.match(
      raised[0],
      { time, requestId: payload.requestId === null ? null : requests.at(-1) },
      'when, and in which request'
    )
    t.same(Object.keys(raised[0] as object).sort(), Object.keys(payload).sort(), 'nothing else is told')
    t.ok(Object.isFrozen(raised[0]), 'no handler changes it for the next')
    t.same(published, raised)
  })
}

// covers ASVS-16.3.1
t.test('login_failed gives each reason to handlers, and none to the client', async (t) => {
  const store = memoryUserStore([
    { id: 'gone', username: 'gone', passwordHash: null, disabled: true },
    { id: 'nopassword', username: 'nopassword', passwordHash: null },
    { id: 'broken', username: 'broken', passwordHash: '$argon2id$broken' }
  ])
  const test = await testApp({ users: store })
  t.teardown(test.close)
  await signUp(test.app, 'ann')
  const bodies = new Set<string>()
  for (const [username, reason] of [
    ['nobody', 'unknown_user'],
    ['ann', 'wrong_password'],
    ['gone', 'disabled'],
    ['nopassword', 'no_password'],
    ['broken', 'unusable_hash']
  ] as const) {
    bodies.add(
      (
        await test.app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'password', username, password: 'wrong one' }
        })
      ).body
    )
    const failed = test.events.filter(({ name }) => name === 'login_failed')
    t.equal(failed.at(-1)?.payload.reason, reason)
    t.equal(
      'username' in (failed.at(-1)?.payload ?? {}),
      username !== 'nobody',
      'people type passwords into the wrong field'
    )
  }
  t.equal(bodies.size, 1, 'ENUM-login')
  t.equal(test.events.filter(({ name }) => name === 'login_failed').length, 5)
})

t.test('logs a handler that throws or rejects, and completes the request and the other handlers', async (t) => {
  const lines: string[] = []
  const { app, close } = await testApp(
    {},
    {
      logger: {
        level: 'error',
        stream: {
          write: (line: string) => {
            lines.push(line)
          }
        }
      }
    }
  )
  t.teardown(close)
  const seen: string[] = []
  app.authority.on('registered', () => {
    throw new Error('thrown by a handler')
  })
  app.authority.on('registered', async () => {
    throw new Error('rejected by a handler')
  })
  app.authority.on('registered', ({ username }) => {
    seen.push(username)
  })
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/register', payload: { username: 'ann', password: PASSWORD } }))
      .statusCode,
    201
  )
  await setImmediate()
  t.same(seen, ['ann'])
  t.equal(lines.length, 2)
  for (const what of ['thrown by a handler', 'rejected by a handler'])
    t.ok(
      lines.some((line) => line.includes(what) && line.includes('"event":"registered"')),
      what
    )
})

t.test('off removes one handler and keeps the others', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  const seen: string[] = []
  const first = ({ username }: { username: string }): void => {
    seen.push(`first ${username}`)
  }
  app.authority.on('registered', first)
  app.authority.on('registered', ({ username }) => {
    seen.push(`second ${username}`)
  })
  await signUp(app, 'ann')
  app.authority.off('registered', first)
  app.authority.off('registered', first)
  await signUp(app, 'bob')
  t.same(seen, ['first ann', 'second ann', 'second bob'])
})

/** The secrets in a text, plain or as in a JSON string. */
function found(secrets: Map<string, string>, text: string): string[] {
  return [...secrets].flatMap(([name, secret]) =>
    text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1)) ? [name] : []
  )
}

// covers ASVS-16.2.5 ADV-auth0-js-2020-5263
t.test('puts no secret of an account into a log, an error or an event during its whole life', async (t) => {
  const secrets = new Map<string, string>()
  const lines: string[] = []
  const errors: string[] = []
  const store = memoryUserStore()
  const inner = memoryState()
  let down = false
  const failing =
    <Args extends unknown[], Result>(work: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      // As with real drivers, the message quotes the statement's name and not its values. The values are in the
      // arguments.
      if (down) throw Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' })
      return await work(...args)
    }
  const users: UserStore = {
    ...store,
    findById: failing(store.findById),
    findByUsername: failing(store.findByUsername),
    create: failing(async (user) => {
      secrets.set(`hash ${secrets.size}`, user.passwordHash ?? '')
      return await store.create(user)
    }),
    setPasswordHash: failing(async (id, next, expected) => {
      secrets.set(`hash ${secrets.size}`, next ?? '')
      return await store.setPasswordHash(id, next, expected)
    })
  }
  const state: State = {
    ...inner,
    tokens: {
      ...inner.tokens,
      createFamily: failing(inner.tokens.createFamily),
      useToken: failing(inner.tokens.useToken),
      rotateToken: failing(inner.tokens.rotateToken)
    }
  }
  const SECRET = 'the option secret, of thirty-two bytes or more'
  const CLIENT_SECRET = 'a client secret of thirty-two bytes or more'
  secrets
    .set('option secret', SECRET)
    .set('client secret', CLIENT_SECRET)
    .set('basic credentials', Buffer.from(`app:${CLIENT_SECRET}`).toString('base64'))
  const WORDS = {
    first: 'canary Password "one"',
    wrong: 'canary wrong password',
    second: 'canary password two',
    third: 'canary password three',
    asName: 'canary typed into the wrong field',
    malformed: 'canary in a broken body'
  }
  for (const [name, word] of Object.entries(WORDS)) secrets.set(`password ${name}`, word)

  let mailerDown = true
  const test = await testApp(
    {
      users,
      state,
      secret: SECRET,
      clients: [{ clientId: 'app', clientSecret: CLIENT_SECRET, grantTypes: ['password', 'refresh_token'] }],
      refreshToken: { rotate: 'always', reuseGraceSeconds: 0 },
      registration: { verifyEmail: true },
      password: {
        isBreached: (password) => {
          throw new Error(`look-up of a password of ${password.length} characters failed`)
        }
      },
      sendMessage: async (message) => {
        if (message.token !== undefined) secrets.set(`${message.kind} ${secrets.size}`, message.token)
        await mails.send(message)
        // A mailer's error quotes the email.
        if (mailerDown) throw new Error(`550 rejected: ${message.url} ${message.token}`)
      }
    },
    {
      logger: {
        level: 'trace',
        stream: {
          write: (line: string) => {
            lines.push(line)
          }
        }
      }
    }
  )
  const mails = test.messages
  t.teardown(test.close)
  const { app } = test
  const statuses: number[] = []
  type Answer = { access_token?: string; refresh_token?: string }
  const request = async (
    method: 'GET' | 'POST',
    url: string,
    payload?: object | string,
    headers: Record<string, string> = {}
  ): Promise<Answer> => {
    if (headers.authorization !== undefined)
      secrets.set(`authorization ${secrets.size}`, headers.authorization.slice(headers.authorization.indexOf(' ') + 1))
    const reply = await app.inject({
      method,
      url,
      headers: { ...(typeof payload === 'string' ? { 'content-type': 'application/json' } : {}), ...headers },
      ...(payload === undefined ? {} : { payload })
    })
    statuses.push(reply.statusCode)
    if (reply.statusCode >= 400) errors.push(JSON.stringify(reply.headers) + reply.body)
    const answer = reply.statusCode === 200 ? reply.json<Answer>() : {}
    if (answer.access_token !== undefined)
      secrets
        .set(`access token ${secrets.size}`, answer.access_token)
        .set(`signature ${secrets.size}`, answer.access_token.split('.')[2] ?? '')
    if (answer.refresh_token !== undefined)
      secrets
        .set(`refresh token ${secrets.size}`, answer.refresh_token)
        .set(`its secret ${secrets.size}`, answer.refresh_token.split('.')[1] ?? '')
    return answer
  }
  const username = 'ann@mail.example'
  const grant = (password: string, extra: object = {}): object => ({
    grant_type: 'password',
    username,
    password,
    ...extra
  })
  const basic = { authorization: `Basic ${Buffer.from(`app:${CLIENT_SECRET}`).toString('base64')}` }

  await request('POST', '/auth/register', { username, password: WORDS.first })
  const { token: verification } = await mails.next('verify_email')
  await request('POST', '/auth/token', grant(WORDS.first))
  await request('POST', '/auth/email/verify', { token: `${verification}x` })
  await request('POST', '/auth/email/verify', { token: verification })
  await request('POST', '/auth/register', { username, password: WORDS.first })
  const tokens = await request('POST', '/auth/token', grant(WORDS.first))
  await request('POST', '/auth/token', grant(WORDS.wrong))
  await request('POST', '/auth/token', { ...grant(WORDS.wrong), username: WORDS.asName })
  await request('POST', '/auth/token', grant(WORDS.first), basic)
  await request('POST', '/auth/token', grant(WORDS.first), {
    authorization: `Basic ${Buffer.from('app:canary wrong client secret').toString('base64')}`
  })
  await request('POST', '/auth/token', grant(WORDS.first, { client_id: 'app', client_secret: CLIENT_SECRET }))
  const rotated = await request('POST', '/auth/refresh', undefined, bearer(tokens.refresh_token ?? ''))
  await request('GET', '/auth/sessions', undefined, bearer(rotated.access_token ?? ''))
  await request('GET', '/me', undefined, bearer(rotated.access_token ?? ''))
  await request('GET', '/me', undefined, bearer(`${rotated.access_token}x`))
  await request(
    'POST',
    '/auth/password',
    { current_password: WORDS.wrong, new_password: WORDS.second },
    bearer(rotated.access_token ?? '')
  )
  await request(
    'POST',
    '/auth/password',
    { current_password: WORDS.first, new_password: WORDS.second },
    bearer(rotated.access_token ?? '')
  )
  test.clock.step(1)
  await request('POST', '/auth/refresh', undefined, bearer(tokens.refresh_token ?? ''))
  await request('POST', '/auth/refresh', undefined, bearer('canary.in-no-form-of-ours'))
  await request('POST', '/auth/password-reset', { username })
  const { token: reset } = await mails.next('password_reset')
  await request('POST', '/auth/password-reset/confirm', { token: reset, password: 'short' })
  await request('POST', '/auth/password-reset/confirm', { token: reset, password: WORDS.third })
  await request('POST', '/auth/password-reset/confirm', { token: reset, password: WORDS.third })
  for (const body of [
    `{"username":"ann","password":"${WORDS.malformed}"`,
    `{"password":"${WORDS.malformed}","password":"${WORDS.malformed}"}`,
    `["${WORDS.malformed}"]`,
    `{"grant_type":"${WORDS.malformed}"}`
  ]) {
    for (const url of ['/auth/token', '/auth/register', '/auth/password-reset/confirm'])
      await request('POST', url, body)
  }
  const last = await request('POST', '/auth/token', grant(WORDS.third))
  down = true
  await request('POST', '/auth/token', grant(WORDS.third))
  await request('POST', '/auth/register', { username: 'bob@mail.example', password: WORDS.third })
  await request('POST', '/auth/refresh', undefined, bearer(last.refresh_token ?? ''))
  await request(
    'POST',
    '/auth/password',
    { current_password: WORDS.third, new_password: WORDS.second },
    bearer(last.access_token ?? '')
  )
  await request('POST', '/auth/password-reset', { username })
  down = false
  await app.authority.revokeUser(String(test.events.find(({ name }) => name === 'registered')?.payload.userId))
  // All attempts of all messages fail and are reported.
  for (let step = 0; step < 4; step++) {
    await setImmediate()
    test.clock.step(60_000)
  }
  mailerDown = false
  await setImmediate()

  // Checks that the journey took all of its branches.
  for (const status of [200, 202, 204, 400, 401, 503]) t.ok(statuses.includes(status), `a ${status}`)
  const names = new Set(test.events.map(({ name }) => name))
  for (const name of [
    'registered',
    'authenticated',
    'login_failed',
    'token_issued',
    'token_refreshed',
    'refresh_token_reused',
    'password_reset_requested',
    'password_changed',
    'email_verified',
    'logged_out'
  ] as const)
    t.ok(names.has(name), name)
  t.ok(secrets.size > 30)
  t.ok(
    [...secrets.values()].every((secret) => secret.length >= 8),
    'an empty one would be found everywhere'
  )
  t.ok(lines.length > 80)
  t.ok(
    lines.some((line) => /550 rejected: \[removed\]/.test(line)),
    'the mailer was reported'
  )

  const told = lines.map((line) => found(secrets, line)).flat()
  t.same(told, [], 'logs')
  t.same(errors.map((error) => found(secrets, error)).flat(), [], 'errors')
  t.same(test.events.map((event) => found(secrets, JSON.stringify(event))).flat(), [], 'events')

  // Checks that the search can find each secret.
  for (const [name, secret] of secrets) {
    app.log.trace({ planted: secret }, 'control')
    t.ok(found(secrets, lines.at(-1) ?? '').includes(name), `the search finds ${name.replace(/ \d+$/, '')}`)
  }
})

// covers B16
t.test('accepts 20 handlers of one event without a warning', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  const warnings: Error[] = []
  const heard = (warning: Error): void => {
    warnings.push(warning)
  }
  process.on('warning', heard)
  t.teardown(() => {
    process.off('warning', heard)
  })
  for (let i = 0; i < 20; i++) app.authority.on('authenticated', () => {})
  await setImmediate()
  t.same(warnings, [])
})
