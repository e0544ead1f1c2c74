import type { FastifyInstance } from 'fastify'
import t from '../support/tap.ts'
import { memoryUserStore, type PasswordHasher } from '../../lib/index.ts'
import { fastHasher } from '../../lib/testing/index.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp, type TestApp } from '../support/app.ts'
import { decodeJwt } from '../support/jwt.ts'

const oauth = (error: string, statusCode: number): { code: string } =>
  ({ code: 'FST_AUTHORITY_OAUTH', error, statusCode }) as { code: string }
const namesOf = ({ events }: TestApp): string[] => events.map(({ name }) => name)
const refresh = (app: FastifyInstance, token = '') =>
  app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(token) })
const me = async (app: FastifyInstance, token: string): Promise<number> =>
  (await app.inject({ url: '/me', headers: bearer(token) })).statusCode

t.test('verify: returns the frozen claims of a valid token, and rejects any other with invalid_token', async (t) => {
  const { app, clock, close } = await testApp()
  t.teardown(close)
  const { sub } = await signUp(app)
  const { access_token: token } = await signIn(app)
  const claims = await app.authority.verify(token)
  t.match(claims, { iss: ISSUER, aud: ISSUER, sub })
  t.ok(Object.isFrozen(claims))
  for (const bad of ['', 'x', 'a.b.c', `${token}x`, token.slice(0, -2), ` ${token}`])
    await t.rejects(app.authority.verify(bad), oauth('invalid_token', 401), bad.slice(0, 20))
  clock.step(900_000 - 1)
  await t.resolves(app.authority.verify(token))
  clock.step(1)
  await t.rejects(app.authority.verify(token), oauth('invalid_token', 401), 'expired')
})

t.test('issueTokens: issues the tokens of the password grant for a user that the host names', async (t) => {
  const secret = 'kJ8v2Qm4Xr7Zt1Wc9Ly6Bn3Hs5Dg0Pf!'
  const users = memoryUserStore([
    { id: 'u1', username: 'ann', passwordHash: null },
    { id: 'u2', username: 'bob', passwordHash: null, disabled: true }
  ])
  const test = await testApp({
    users,
    scopes: ['openid', 'read', 'admin'],
    clients: [
      {
        clientId: 'cli',
        clientSecret: secret,
        firstParty: false,
        grantTypes: ['refresh_token'],
        scopes: ['openid', 'read']
      }
    ]
  })
  t.teardown(test.close)
  const { app } = test

  const all = await app.authority.issueTokens('u1')
  t.match(all, { token_type: 'Bearer', expires_in: 900, scope: 'openid read admin' })
  t.match(await app.authority.verify(all.access_token), { sub: 'u1', scope: 'openid read admin' })
  t.equal(decodeJwt(all.access_token).claims.client_id, undefined)
  t.equal(await me(app, all.access_token), 200)
  t.equal((await refresh(app, all.refresh_token)).statusCode, 200, 'its refresh token is a real one')

  t.equal((await app.authority.issueTokens('u1', { scope: 'read' })).scope, 'read')
  const forClient = await app.authority.issueTokens('u1', { clientId: 'cli' })
  t.equal(forClient.scope, 'openid read', 'all that this client may have')
  t.equal(decodeJwt(forClient.access_token).claims.client_id, 'cli')
  t.match(
    test.events
      .filter(({ name }) => name === 'token_issued')
      .map(({ payload }) => [payload.userId, payload.clientId, payload.scope]),
    [
      ['u1', null, 'openid read admin'],
      ['u1', null, 'read'],
      ['u1', 'cli', 'openid read']
    ]
  )
  t.equal(
    (await refresh(app, forClient.refresh_token)).statusCode,
    401,
    'a third party with a secret must show it to refresh'
  )

  const before = (await app.authority.sessions('u1')).length
  await t.rejects(app.authority.issueTokens('nobody'), oauth('invalid_grant', 400))
  await t.rejects(app.authority.issueTokens('u2'), oauth('invalid_grant', 400), 'a disabled account')
  await t.rejects(app.authority.issueTokens('ann'), oauth('invalid_grant', 400), 'the name is not the id')
  await t.rejects(app.authority.issueTokens('u1', { scope: 'root' }), oauth('invalid_scope', 400))
  await t.rejects(app.authority.issueTokens('u1', { scope: '' }), oauth('invalid_scope', 400))
  await t.rejects(
    app.authority.issueTokens('u1', { scope: 'admin', clientId: 'cli' }),
    oauth('invalid_scope', 400),
    'more than the client may have'
  )
  await t.rejects(app.authority.issueTokens('u1', { clientId: 'other' }), oauth('invalid_client', 401))
  t.equal((await app.authority.sessions('u1')).length, before, 'what was refused has left nothing behind')
  t.same(await app.authority.sessions('u2'), [])
})

t.test('revokeUser ends every session, and revokes access tokens on this instance at once', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  const { app } = test
  const { sub } = await signUp(app)
  await signUp(app, 'bob')
  const phone = await signIn(app)
  const laptop = await signIn(app)
  const other = await signIn(app, 'bob')
  t.equal(await me(app, phone.access_token), 200)
  await app.authority.revokeUser(sub)
  t.equal(await me(app, phone.access_token), 401, 'one that was seen before')
  t.equal(await me(app, laptop.access_token), 401, 'one that was not')
  await t.rejects(app.authority.verify(phone.access_token), oauth('invalid_token', 401))
  t.equal(await me(app, other.access_token), 200, 'another user is left alone')
  for (const { refresh_token } of [phone, laptop]) {
    t.match((await refresh(app, refresh_token)).json(), { error: 'invalid_token' })
  }
  t.same(await app.authority.sessions(sub), [])
  const ended = test.events.filter(({ name }) => name === 'logged_out')
  t.equal(ended.length, 1)
  t.match(ended[0]?.payload, { userId: sub, by: 'host' })
  t.match(ended[0]?.payload.sids, [String, String])
  await app.authority.revokeUser(sub)
  await app.authority.revokeUser('nobody')
  t.equal(test.events.filter(({ name }) => name === 'logged_out').length, 1, 'nothing was ended, nothing is said')
  t.equal(await me(app, (await signIn(app)).access_token), 200, 'the user can sign in again')
})

t.test('revokeUser ends no session when it refuses to revoke API keys', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  const { app } = test
  const { sub } = await signUp(app)
  const { refresh_token: token } = await signIn(app)
  await t.rejects(app.authority.revokeUser(sub, { apiKeys: true }), { message: /without the option apiKeys/ })
  t.equal((await refresh(app, token)).statusCode, 200)
})

t.test('lists the sessions of a user, and revokeSession ends one', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  const { app, clock } = test
  const { sub } = await signUp(app)
  const { sub: bob } = await signUp(app, 'bob')
  const first = await signIn(app)
  clock.step(1000)
  const second = await signIn(app)
  const sid = (token: string): string => String(decodeJwt(token).claims.sid)
  const listed = await app.authority.sessions(sub)
  t.same(
    listed.map((session) => session.id),
    [sid(second.access_token), sid(first.access_token)],
    'newest first'
  )
  t.notMatch(JSON.stringify(listed), first.refresh_token.split('.')[1] ?? '', 'no credential in it')
  t.same(await app.authority.sessions('nobody'), [])

  t.equal(await app.authority.revokeSession(bob, sid(first.access_token)), false, "another user's")
  t.equal(await app.authority.revokeSession(sub, 'nothing'), false)
  t.equal(await me(app, first.access_token), 200)
  t.equal(await app.authority.revokeSession(sub, sid(first.access_token)), true)
  t.equal(await me(app, first.access_token), 401)
  t.equal(await me(app, second.access_token), 200, 'the other device is left alone')
  t.equal(await app.authority.revokeSession(sub, sid(first.access_token)), false, 'once')
  t.equal((await app.authority.sessions(sub)).length, 1)
  t.match(
    test.events.filter(({ name }) => name === 'logged_out').map(({ payload }) => payload),
    [{ userId: sub, sids: [sid(first.access_token)], by: 'host' }]
  )
})

t.test('startPasswordReset sends the user a reset link', async (t) => {
  const users = memoryUserStore([
    { id: 'u1', username: 'ann@example.com', email: 'ann@example.com', passwordHash: null },
    { id: 'u2', username: 'bob', email: 'bob@example.com', passwordHash: null, disabled: true },
    { id: 'u3', username: 'cy', passwordHash: null }
  ])
  const test = await testApp({ users })
  t.teardown(test.close)
  await test.app.authority.startPasswordReset('u1')
  const message = await test.messages.next('password_reset')
  t.match(message, { kind: 'password_reset', user: { id: 'u1' }, token: String })
  t.match(test.events, [{ name: 'password_reset_requested', payload: { userId: 'u1' } }])
  t.notMatch(JSON.stringify(test.events), String((message as { token?: string }).token), 'the token is in no event')
  const confirmed = await test.app.inject({
    method: 'POST',
    url: '/auth/password-reset/confirm',
    payload: { token: (message as { token?: string }).token, password: PASSWORD }
  })
  t.equal(confirmed.statusCode, 204)
  await signIn(test.app, 'ann@example.com')
  await t.rejects(test.app.authority.startPasswordReset('nobody'), oauth('not_found', 404))
  await t.rejects(test.app.authority.startPasswordReset('u2'), oauth('invalid_request', 400), 'disabled')
  await test.app.authority.startPasswordReset('u3')
  t.match(
    await test.messages.next('password_reset'),
    { user: { id: 'u3' } },
    'without an address: the host may know another way'
  )

  const mute = await testApp({ users, sendMessage: undefined } as never)
  t.teardown(mute.close)
  await t.rejects(mute.app.authority.startPasswordReset('u1'), oauth('invalid_request', 400), 'no sendMessage')
})

t.test('adds and removes event handlers, and survives a handler that fails', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  const heard: string[] = []
  const hear = ({ username }: { username: string }): void => {
    heard.push(username)
  }
  app.authority.on('registered', () => {
    throw new Error('boom')
  })
  app.authority.on('registered', async () => {
    throw new Error('later')
  })
  app.authority.on('registered', hear)
  await signUp(app, 'ann')
  app.authority.off('registered', hear)
  await signUp(app, 'bob')
  t.same(heard, ['ann'])
})

/** A hasher that holds every verification until it is told to let go. */
function heldHasher(): PasswordHasher & { hold(): void; letGo(): void; running(): number } {
  const fast = fastHasher()
  let held = false
  let waiting: Array<() => void> = []
  const pass = async (): Promise<void> => {
    if (held)
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
      })
  }
  return {
    async hash(password, parameters, secret) {
      await pass()
      return await fast.hash(password, parameters, secret)
    },
    async verify(encoded, password, secret) {
      await pass()
      return await fast.verify(encoded, password, secret)
    },
    hold() {
      held = true
    },
    letGo() {
      held = false
      for (const resolve of waiting.splice(0)) resolve()
      waiting = []
    },
    running: () => waiting.length
  }
}

const turn = async (): Promise<void> => {
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
}
async function settle(): Promise<void> {
  for (let n = 0; n < 30; n++) await turn()
}

/** A refusal by the full queue is delayed by less than half a second. */
async function afterTheHold<T>({ clock }: TestApp, refused: PromiseLike<T>): Promise<T> {
  const reply = Promise.resolve(refused)
  reply.catch(() => {})
  await settle()
  clock.step(1250)
  return await reply
}

t.test('queues hashPassword calls, and rejects one with 503 when the hashing queue is full', async (t) => {
  const hasher = heldHasher()
  const users = memoryUserStore()
  const test = await testApp({ users, password: { hasher, concurrency: 1, maxQueue: 1 } })
  t.teardown(test.close)
  await settle()
  const encoded = await test.app.authority.hashPassword(PASSWORD)
  t.match(encoded, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  await users.create({ username: 'ann', passwordHash: encoded })
  await signIn(test.app)

  hasher.hold()
  const running = test.app.authority.hashPassword('one')
  const waiting = test.app.authority.hashPassword('two')
  await t.rejects(afterTheHold(test, test.app.authority.hashPassword('three')), oauth('temporarily_unavailable', 503))
  t.equal(hasher.running(), 1)
  hasher.letGo()
  await t.resolves(Promise.all([running, waiting]))
  await t.resolves(test.app.authority.hashPassword('four'), 'and it recovers')
})

// covers DOS-3 RL-20
t.test('answers sign-ins with 503 when the hashing queue is full, reports this once, and recovers', async (t) => {
  const MAX_QUEUE = 3
  const hasher = heldHasher()
  const test = await testApp({
    password: { hasher, concurrency: 1, maxQueue: MAX_QUEUE },
    // Each attempt counts here, so an attempt that is not given back would be visible.
    rateLimit: { login: { max: 6, windowMs: 900_000 }, account: false, register: false }
  })
  t.teardown(test.close)
  const { app } = test
  app.log.level = 'silent'
  await settle()
  await signUp(app)
  const { access_token: token } = await signIn(app)
  const attempt = async () =>
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
    })

  hasher.hold()
  const accepted = Array.from({ length: 1 + MAX_QUEUE }, attempt)
  await settle()
  t.equal(hasher.running(), 1, 'one hash runs')
  for (let round = 0; round < 10; round++) {
    const refused = await afterTheHold(test, attempt())
    t.equal(refused.statusCode, 503)
    t.match(refused.json(), { error: 'temporarily_unavailable', error_description: String })
    t.match(refused.headers['retry-after'], /^[1-9]\d*$/)
    t.equal(refused.headers['cache-control'], 'no-store')
  }
  t.same(
    test.events
      .filter(({ name }) => name === 'hash_queue_full')
      .map(({ payload: { time: _time, requestId: _requestId, ...queue } }) => queue),
    [{ running: 1, waiting: MAX_QUEUE, maxQueue: MAX_QUEUE }],
    'once an overload'
  )
  t.equal(await me(app, token), 200, 'the host goes on')
  t.notOk(namesOf(test).includes('login_failed'), "nobody's password was found wrong")

  hasher.letGo()
  const replies = await Promise.all(accepted)
  t.same(
    replies.map(({ statusCode }) => statusCode),
    [200, 200, 200, 200],
    'those that waited are served'
  )
  // One earlier sign-in and four that waited: if a refused one had counted, this one would be limited.
  t.equal((await attempt()).statusCode, 200, 'R6585-4 what was answered 503 was given back')
  t.equal((await attempt()).statusCode, 429, 'and no more than that')
})

t.test('keeps the queue place of a request that its client aborted until its hash ends', async (t) => {
  const hasher = heldHasher()
  const test = await testApp({ password: { hasher, concurrency: 1, maxQueue: 0 } })
  t.teardown(test.close)
  test.app.log.level = 'silent'
  await settle()
  await signUp(test.app)
  hasher.hold()
  const abandoned = new AbortController()
  const first = test.app
    .inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'password', username: 'ann', password: PASSWORD },
      signal: abandoned.signal
    })
    .catch(() => null)
  await settle()
  t.equal(hasher.running(), 1)
  abandoned.abort()
  await settle()
  const second = await afterTheHold(
    test,
    test.app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
    })
  )
  t.equal(second.statusCode, 503, 'its memory is still in use')
  hasher.letGo()
  await first
  await settle()
  await signIn(test.app)
})
