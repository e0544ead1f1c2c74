import t from '../support/tap.ts'
import { memoryState, memoryUserStore } from '../../lib/index.ts'
import { delayed } from '../../lib/testing/index.ts'
import { decodeJwt } from '../support/jwt.ts'
import { bearer, signIn, signUp, testApp, type TestApp } from '../support/app.ts'

const refresh = async (
  { app }: Pick<TestApp, 'app'>,
  token: string
): Promise<{ status: number; body: Record<string, string>; challenge: unknown }> => {
  const reply = await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(token) })
  return { status: reply.statusCode, body: reply.json(), challenge: reply.headers['www-authenticate'] }
}

t.test('answers POST /auth/refresh with only an access token and its lifetime', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  await signUp(test.app)
  const tokens = await signIn(test.app)
  const { status, body } = await refresh(test, tokens.refresh_token)
  t.equal(status, 200)
  t.same(Object.keys(body).sort(), ['access_token', 'expires_in'])
  t.equal(decodeJwt(body.access_token ?? '').claims.sid, decodeJwt(tokens.access_token).claims.sid)
  t.equal(decodeJwt(body.access_token ?? '').claims.scope, tokens.scope)
  t.equal((await refresh(test, tokens.refresh_token)).status, 200, 'the token is not used up')
})

// covers POL-refresh
t.test('answers 401 invalid_token to text that is not a refresh token', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  await signUp(test.app)
  const { access_token: access, refresh_token: token } = await signIn(test.app)
  const [family = '', secret = ''] = token.split('.')
  const cases: Record<string, string> = {
    'an access token': access,
    garbage: 'x',
    "a stranger's family": `${'A'.repeat(38)}.${secret}`,
    'another spelling of the same bytes': `${family}.${secret.slice(0, -1)}${String.fromCharCode(secret.charCodeAt(42) + 1)}`,
    'the public sid as the family': `${String(decodeJwt(access).claims.sid)}.${secret}`,
    truncated: token.slice(0, -1),
    long: `${token}A`
  }
  for (const [name, value] of Object.entries(cases)) {
    const { status, body, challenge } = await refresh(test, value)
    t.equal(status, 401, name)
    t.equal(body.error, 'invalid_token', name)
    t.match(challenge, /^Bearer error="invalid_token"/, name)
  }
  t.equal((await refresh(test, token)).status, 200, 'none of these revoked the family')
  const none = await test.app.inject({ method: 'POST', url: '/auth/refresh' })
  t.equal(none.statusCode, 401)
  t.equal(none.headers['www-authenticate'], 'Bearer')
  const body = await test.app.inject({
    method: 'POST',
    url: '/auth/refresh',
    headers: { ...bearer(token), 'content-type': 'application/json' },
    payload: ''
  })
  t.equal(body.statusCode, 200, 'an empty body of whatever type is no body')
})

// covers ASVS-10.4.8
t.test('ends a refresh token after its absolute and its idle lifetime', async (t) => {
  const test = await testApp({ accessToken: { expiresIn: 10 }, refreshToken: { expiresIn: 100, idleTimeout: 40 } })
  t.teardown(test.close)
  await signUp(test.app)
  const idle = await signIn(test.app)
  const used = await signIn(test.app)
  test.clock.step(39_999)
  t.equal((await refresh(test, used.refresh_token)).status, 200)
  test.clock.step(1)
  t.equal((await refresh(test, idle.refresh_token)).status, 401, 'idle for 40 s')
  test.clock.step(30_000)
  t.equal((await refresh(test, used.refresh_token)).status, 200, 'use keeps it alive')
  test.clock.step(29_999)
  t.equal((await refresh(test, used.refresh_token)).status, 200, 'one millisecond before the end')
  test.clock.step(1)
  t.equal((await refresh(test, used.refresh_token)).status, 401, 'nothing moves the absolute end')
})

// covers ASVS-7.4.2
t.test('rejects a disabled or deleted user at the next refresh, and ends all sessions', async (t) => {
  for (const what of ['disabled', 'deleted'] as const) {
    const users = memoryUserStore()
    let gone = false
    const test = await testApp({
      users: {
        ...users,
        findById: async (id) => {
          const user = await users.findById(id)
          if (!gone || user === null) return user
          return what === 'deleted' ? null : { ...user, disabled: true }
        }
      }
    })
    t.teardown(test.close)
    const { sub } = await signUp(test.app)
    const one = await signIn(test.app)
    const two = await signIn(test.app)
    gone = true
    t.match(await refresh(test, one.refresh_token), { status: 401, body: { error: 'invalid_token' } }, what)
    t.same(await test.app.authority.sessions(sub), [], what)
    gone = false
    t.equal((await refresh(test, two.refresh_token)).status, 401, `${what}: the other device too`)
    t.equal(test.events.filter(({ name }) => name === 'logged_out').length, 1, what)
  }
})

t.test('treats disabled: 1 from a store as disabled at the session list, issueTokens and the refresh', async (t) => {
  const users = memoryUserStore()
  let disabled: unknown = false
  const test = await testApp({
    users: {
      ...users,
      findById: async (id) => {
        const user = await users.findById(id)
        return user === null ? null : { ...user, disabled: disabled as boolean }
      }
    }
  })
  t.teardown(test.close)
  const { sub } = await signUp(test.app)
  const tokens = await signIn(test.app)
  disabled = 1
  t.equal((await test.app.inject({ url: '/auth/sessions', headers: bearer(tokens.access_token) })).statusCode, 401)
  await t.rejects(test.app.authority.issueTokens(sub))
  t.equal((await refresh(test, tokens.refresh_token)).status, 401)
  t.same(await test.app.authority.sessions(sub), [])
})

t.test('rotate always: repeats the successor within the grace time, then a replay revokes that family', async (t) => {
  const test = await testApp({ refreshToken: { rotate: 'always', reuseGraceSeconds: 10 } })
  t.teardown(test.close)
  await signUp(test.app)
  const { refresh_token: first } = await signIn(test.app)
  const { refresh_token: bystander } = await signIn(test.app)
  const second = (await refresh(test, first)).body.refresh_token ?? ''
  t.not(second, first)
  t.equal(second.split('.')[0], first.split('.')[0])
  test.clock.step(10_000)
  t.equal((await refresh(test, first)).body.refresh_token, second, 'a lost answer is given again')
  const third = (await refresh(test, second)).body.refresh_token ?? ''
  test.clock.step(10_001)
  const replay = await refresh(test, second)
  t.equal(replay.status, 401)
  t.equal(replay.body.error, 'invalid_token')
  t.equal((await refresh(test, third)).status, 401, 'the newest token of the family is dead too')
  t.equal((await refresh(test, bystander)).status, 200, 'the other device stays signed in')
  t.equal(test.events.filter(({ name }) => name === 'refresh_token_reused').length, 1)
})

t.test('treats a token two generations old as a replay even within the grace time', async (t) => {
  const test = await testApp({ refreshToken: { rotate: 'always' } })
  t.teardown(test.close)
  await signUp(test.app)
  const { refresh_token: first } = await signIn(test.app)
  const second = (await refresh(test, first)).body.refresh_token ?? ''
  const third = (await refresh(test, second)).body.refresh_token ?? ''
  t.equal((await refresh(test, first)).status, 401)
  t.equal((await refresh(test, third)).status, 401)
})

// covers ADV-CVE-2026-53517
t.test('issues one successor for 50 parallel refreshes of one token on a slow store', async (t) => {
  const state = memoryState()
  const test = await testApp({ refreshToken: { rotate: 'always' }, state: { ...state, tokens: delayed(state.tokens) } })
  t.teardown(test.close)
  await signUp(test.app)
  const { refresh_token: first } = await signIn(test.app)
  const replies = await Promise.all(Array.from({ length: 50 }, async () => await refresh(test, first)))
  t.ok(replies.every(({ status }) => status === 200))
  t.equal(new Set(replies.map(({ body }) => body.refresh_token)).size, 1)
})

t.test('keeps the refresh token valid when the request fails before the commit', async (t) => {
  const users = memoryUserStore()
  let down = false
  const test = await testApp({
    refreshToken: { rotate: 'always', reuseGraceSeconds: 0 },
    users: {
      ...users,
      findById: async (id) => {
        if (down) throw new Error('users are down')
        return await users.findById(id)
      }
    }
  })
  t.teardown(test.close)
  await signUp(test.app)
  const { refresh_token: first } = await signIn(test.app)
  down = true
  const failed = await test.app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(first) })
  t.equal(failed.statusCode, 503, 'ASVS-16.5.2')
  t.equal(failed.json().error, 'temporarily_unavailable')
  t.ok(failed.headers['retry-after'])
  t.notMatch(failed.body, 'users are down', 'ASVS-16.5.1')
  down = false
  test.clock.step(3_600_000)
  t.equal((await refresh(test, first)).status, 200)
})

// covers ADV-CVE-2025-12110
t.test('removes a scope that may no longer be granted at the next refresh', async (t) => {
  const [state, users] = [memoryState(), memoryUserStore()]
  const before = await testApp({ scopes: ['openid', 'admin'], state, users })
  t.teardown(before.close)
  await signUp(before.app)
  const { refresh_token: token } = await signIn(before.app)
  const after = await testApp({ scopes: ['openid'], state, users })
  t.teardown(after.close)
  t.equal(decodeJwt((await refresh(after, token)).body.access_token ?? '').claims.scope, 'openid')
})
