import t, { type Test as Tap } from '../support/tap.ts'
import { type AuthorityOptions, memoryState, memoryUserStore } from '../../lib/index.ts'
import { delayed } from '../../lib/testing/index.ts'
import { decodeJwt } from '../support/jwt.ts'
import { bearer, PASSWORD, signIn, signUp, testApp, type TestApp, type Tokens } from '../support/app.ts'

interface Answer {
  status: number
  body: Record<string, string>
  headers: Record<string, unknown>
}

const SECRET = 'c2VjcmV0IG9mIDMyIGJ5dGVzIG9yIG1vcmU'
const GRANTS = ['password' as const, 'refresh_token' as const]

async function started(t: Tap, options: Partial<AuthorityOptions> = {}): Promise<TestApp & { sub: string }> {
  const test = await testApp(options)
  t.teardown(test.close)
  return { ...test, sub: (await signUp(test.app)).sub }
}

async function refresh(
  { app }: Pick<TestApp, 'app'>,
  token: string | undefined,
  params: Record<string, unknown> = {},
  headers: Record<string, string> = {}
): Promise<Answer> {
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers,
    payload: { grant_type: 'refresh_token', refresh_token: token, ...params }
  })
  return { status: reply.statusCode, body: reply.json(), headers: reply.headers }
}

const refusal = ({ status, body }: Answer): unknown[] => [status, body.error]
const scopeOf = (token: string | undefined): unknown => decodeJwt(token ?? '').claims.scope
const named = ({ events }: TestApp, name: string): Array<Record<string, unknown>> =>
  events.filter((event) => event.name === name).map(({ payload }) => payload)

// covers R6749-6 R6749-5.1
t.test('issues a new refresh token in the same session, with five fields and no-store', async (t) => {
  const test = await started(t)
  const first = await signIn(test.app)
  test.clock.step(5000)
  const { status, body, headers } = await refresh(test, first.refresh_token)
  t.equal(status, 200)
  t.equal(headers['cache-control'], 'no-store')
  t.equal(headers.pragma, 'no-cache')
  t.same(Object.keys(body).sort(), ['access_token', 'expires_in', 'refresh_token', 'scope', 'token_type'])
  t.match(body, { token_type: 'Bearer', expires_in: 900, scope: first.scope })
  t.not(body.refresh_token, first.refresh_token)
  const before = decodeJwt(first.access_token).claims
  const after = decodeJwt(body.access_token ?? '').claims
  for (const claim of ['sub', 'sid', 'scope', 'auth_time', 'aud', 'iss']) t.equal(after[claim], before[claim], claim)
  t.not(after.jti, before.jti)
  t.equal(Number(after.iat) - Number(before.iat), 5)
  t.equal(
    (await test.app.inject({ url: '/auth/sessions', headers: bearer(body.access_token ?? '') })).json().sessions.length,
    1,
    'no second session'
  )
  t.match(named(test, 'token_refreshed'), [{ userId: test.sub, sid: before.sid, clientId: null, rotated: true }])
  t.equal(named(test, 'token_issued').length, 1, 'no session began')
  const form = await test.app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: body.refresh_token ?? '' }).toString()
  })
  t.equal(form.statusCode, 200)
})

t.test('rotates a refresh token at the token endpoint unless rotate is never', async (t) => {
  for (const [rotate, rotates] of [
    ['oauth', true],
    ['always', true],
    ['never', false]
  ] as const) {
    const test = await started(t, { refreshToken: { rotate, reuseGraceSeconds: 0 } })
    const { refresh_token: token } = await signIn(test.app)
    const { status, body } = await refresh(test, token)
    t.equal(status, 200, rotate)
    t.equal(typeof body.refresh_token === 'string', rotates, rotate)
    t.equal('refresh_token' in body, rotates, `${rotate}: absent, not empty`)
    t.match(named(test, 'token_refreshed'), [{ rotated: rotates }])
    t.equal((await refresh(test, token)).status, rotates ? 400 : 200, rotate)
  }
})

// covers ASVS-10.4.8
t.test('rotate never: extends the idle lifetime at each use', async (t) => {
  const test = await started(t, {
    accessToken: { expiresIn: 10 },
    refreshToken: { rotate: 'never', expiresIn: 100, idleTimeout: 40 }
  })
  const { refresh_token: token } = await signIn(test.app)
  for (const [step, status] of [
    [39_999, 200],
    [39_999, 200],
    [20_001, 200],
    [0, 200],
    [1, 400]
  ] as const) {
    test.clock.step(step)
    t.equal((await refresh(test, token)).status, status, `${step}`)
  }
})

// covers R6749-6
t.test('narrows only the access token by scope, and never widens it', async (t) => {
  const stores = { users: memoryUserStore(), state: memoryState() }
  const test = await started(t, { ...stores, scopes: ['openid', 'email', 'admin'] })
  const { refresh_token: token } = await signIn(test.app, 'ann', PASSWORD, { scope: 'openid email' })
  const narrow = await refresh(test, token, { scope: 'email' })
  t.equal(narrow.body.scope, 'email')
  t.equal(scopeOf(narrow.body.access_token), 'email')
  for (const scope of ['admin', 'email admin', 'unknown', 'email  openid', '"'])
    t.same(refusal(await refresh(test, narrow.body.refresh_token, { scope })), [400, 'invalid_scope'], scope)
  const whole = await refresh(test, narrow.body.refresh_token)
  t.equal(whole.status, 200, 'a refused scope used nothing up')
  t.equal(whole.body.scope, 'openid email', 'the family keeps its scope')
  t.equal(scopeOf(whole.body.access_token), 'openid email')
  t.equal(named(test, 'refresh_token_reused').length, 0)
  const later = await testApp({ ...stores, scopes: ['openid', 'admin'], clock: test.clock })
  t.teardown(later.close)
  const shrunk = await refresh(later, whole.body.refresh_token, { scope: 'openid email' })
  t.equal(
    shrunk.body.scope,
    'openid',
    'ADV-CVE-2025-12110 what may no longer be granted is gone, and the answer says so'
  )
  t.equal(scopeOf(shrunk.body.access_token), 'openid')
})

t.test('rejects missing, malformed, unknown, revoked and expired refresh tokens with 400', async (t) => {
  const test = await started(t, { accessToken: { expiresIn: 10 }, refreshToken: { expiresIn: 100, idleTimeout: 100 } })
  const { access_token: access, refresh_token: token } = await signIn(test.app)
  const [family = '', secret = ''] = token.split('.')
  const cases: Record<string, [unknown, string]> = {
    absent: [undefined, 'invalid_request'],
    empty: ['', 'invalid_request'],
    'an array': [[token], 'invalid_request'],
    'C4 long': ['x'.repeat(513), 'invalid_grant'],
    'C4 ASVS-9.2.2 an access token': [access, 'invalid_grant'],
    garbage: ['x', 'invalid_grant'],
    "a stranger's family": [`${'A'.repeat(38)}.${secret}`, 'invalid_grant'],
    'another spelling of the same bytes': [
      `${family}.${secret.slice(0, -1)}${String.fromCharCode(secret.charCodeAt(42) + 1)}`,
      'invalid_grant'
    ],
    'the public sid as the family': [`${String(decodeJwt(access).claims.sid)}.${secret}`, 'invalid_grant']
  }
  for (const [name, [value, error]] of Object.entries(cases))
    t.same(refusal(await refresh(test, value as string)), [400, error], name)
  t.equal(
    (await test.app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(token) })).statusCode,
    200,
    'none of these revoked the family'
  )
  const ended = await signIn(test.app)
  await test.app.authority.revokeSession(test.sub, String(decodeJwt(ended.access_token).claims.sid))
  t.same(refusal(await refresh(test, ended.refresh_token)), [400, 'invalid_grant'], 'revoked')
  test.clock.step(100_000)
  t.same(refusal(await refresh(test, token)), [400, 'invalid_grant'], 'expired')
})

// covers RFC9700-4.14
t.test(
  'returns the same successor within the grace time, and revokes only this session at a later replay',
  async (t) => {
    const test = await started(t, { refreshToken: { reuseGraceSeconds: 10 } })
    const one = await signIn(test.app)
    const bystander = await signIn(test.app)
    const second = (await refresh(test, one.refresh_token)).body.refresh_token
    test.clock.step(10_000)
    const repeated = await refresh(test, one.refresh_token, { scope: 'openid' })
    t.equal(repeated.body.refresh_token, second, 'a lost answer is given again')
    t.equal(repeated.body.scope, 'openid')
    test.clock.step(1)
    t.same(refusal(await refresh(test, one.refresh_token)), [400, 'invalid_grant'])
    t.match(named(test, 'refresh_token_reused'), [
      { userId: test.sub, sid: decodeJwt(one.access_token).claims.sid, clientId: null, ip: '127.0.0.1' }
    ])
    t.same(refusal(await refresh(test, second)), [400, 'invalid_grant'], 'the newest token of the family is dead too')
    t.equal(
      (await test.app.inject({ url: '/me', headers: bearer(repeated.body.access_token ?? '') })).statusCode,
      401,
      'and its access tokens'
    )
    t.equal((await refresh(test, bystander.refresh_token)).status, 200, 'the other device stays signed in')
    t.equal(named(test, 'refresh_token_reused').length, 1)
  }
)

t.test('treats a token that the token endpoint rotated as a replay at POST /auth/refresh', async (t) => {
  const test = await started(t, { refreshToken: { reuseGraceSeconds: 10 } })
  const { refresh_token: first } = await signIn(test.app)
  const {
    body: { refresh_token: second }
  } = await refresh(test, first)
  const bare = async (token: string | undefined): Promise<number> =>
    (await test.app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(token ?? '') })).statusCode
  t.equal(await bare(first), 200, 'within the grace time')
  test.clock.step(10_001)
  t.equal(await bare(second), 200)
  t.equal(await bare(first), 401)
  t.equal(await bare(second), 401)
  t.equal(named(test, 'refresh_token_reused').length, 1)
})

// covers R6749-6 ASVS-10.4.10
t.test('accepts a refresh token only from its client, and lets no other client end the session', async (t) => {
  const test = await started(t, {
    refreshToken: { reuseGraceSeconds: 0 },
    clients: [
      { clientId: 'web', clientSecret: SECRET, grantTypes: GRANTS, firstParty: true },
      { clientId: 'partner', clientSecret: SECRET, firstParty: false },
      { clientId: 'spa', grantTypes: GRANTS },
      { clientId: 'other', grantTypes: GRANTS }
    ]
  })
  const { app, sub } = test
  const basic = (id: string, secret = SECRET): Record<string, string> => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
  })
  const owners: Record<string, { tokens: Partial<Tokens>; params?: object; headers?: Record<string, string> }> = {
    web: {
      tokens: await signIn(app, 'ann', PASSWORD, { client_id: 'web', client_secret: SECRET }),
      headers: basic('web')
    },
    partner: {
      tokens: await app.authority.issueTokens(sub, { clientId: 'partner' }),
      params: { client_id: 'partner', client_secret: SECRET }
    },
    spa: { tokens: await signIn(app, 'ann', PASSWORD, { client_id: 'spa' }), params: { client_id: 'spa' } },
    nobody: { tokens: await signIn(app) }
  }
  const strangers: Record<string, [object, Record<string, string>, string]> = {
    other: [{ client_id: 'other' }, {}, 'invalid_grant'],
    web: [{}, basic('web'), 'invalid_grant'],
    spa: [{ client_id: 'spa' }, {}, 'invalid_grant'],
    nobody: [{}, {}, 'invalid_grant'],
    'web without its secret': [{ client_id: 'web' }, {}, 'invalid_client'],
    'web with a wrong secret': [{}, basic('web', 'x'.repeat(32)), 'invalid_client'],
    'spa with a secret': [{ client_id: 'spa', client_secret: SECRET }, {}, 'invalid_client'],
    'a made-up client': [{ client_id: 'nope' }, {}, 'invalid_client']
  }
  for (const [owner, { tokens, params = {}, headers = {} }] of Object.entries(owners)) {
    const own = await refresh(test, tokens.refresh_token, { ...params }, headers)
    t.equal(own.status, 200, owner)
    t.equal(
      decodeJwt(own.body.access_token ?? '').claims.client_id,
      owner === 'nobody' ? undefined : owner,
      `${owner}: client_id`
    )
    test.clock.step(1)
    for (const [stranger, [theirs, how, error]] of Object.entries(strangers)) {
      if (stranger === owner) continue
      const status = error === 'invalid_client' ? 401 : 400
      t.same(
        refusal(await refresh(test, own.body.refresh_token, { ...theirs }, how)),
        [status, error],
        `${owner}'s token from ${stranger}`
      )
      t.same(
        refusal(await refresh(test, tokens.refresh_token, { ...theirs }, how)),
        [status, error],
        `${owner}'s old token from ${stranger}`
      )
    }
    t.equal(named(test, 'refresh_token_reused').length, 0, 'no stranger set off the alarm')
    const next = await refresh(test, own.body.refresh_token, { ...params }, headers)
    t.equal(next.status, 200, `${owner} is still signed in`)
  }
})

// covers ASVS-10.4.4
t.test('accepts the refresh grant only from clients with that grant, and without a client by default', async (t) => {
  const clients = [
    { clientId: 'login', grantTypes: ['password' as const] },
    { clientId: 'both', grantTypes: GRANTS },
    { clientId: 'default' }
  ]
  for (const [passwordGrant, bare] of [
    ['first-party', 200],
    ['clients', 400],
    [false, 400]
  ] as const) {
    const test = await started(t, { passwordGrant, clients })
    const issue = async (clientId?: string): Promise<string | undefined> =>
      (await test.app.authority.issueTokens(test.sub, clientId === undefined ? {} : { clientId })).refresh_token
    const without = await refresh(test, await issue())
    t.equal(without.status, bare, `${passwordGrant}: no client`)
    if (bare === 400) t.equal(without.body.error, 'unauthorized_client')
    t.equal((await refresh(test, await issue('both'), { client_id: 'both' })).status, 200, 'both')
    t.equal(
      (await refresh(test, await issue('default'), { client_id: 'default' })).status,
      200,
      'the default list has it'
    )
    t.same(
      refusal(await refresh(test, await issue('login'), { client_id: 'login' })),
      [400, 'unauthorized_client'],
      'not in its list'
    )
  }
})

// covers ADV-CVE-2026-53517
t.test('issues one successor for 50 parallel refreshes of one token on a slow store', async (t) => {
  const state = memoryState()
  const test = await started(t, { state: { ...state, tokens: delayed(state.tokens) } })
  const { refresh_token: first } = await signIn(test.app)
  const answers = await Promise.all(Array.from({ length: 50 }, async () => await refresh(test, first)))
  t.ok(answers.every(({ status }) => status === 200))
  const successors = new Set(answers.map(({ body }) => body.refresh_token))
  t.equal(successors.size, 1)
  t.notOk(successors.has(first))
  test.clock.step(3_600_000)
  t.equal((await refresh(test, [...successors][0])).status, 200, 'and it is the live one')
})

t.test('keeps a refresh token unused if the request fails before the commit', async (t) => {
  const users = memoryUserStore()
  let down = ''
  const test = await started(t, {
    refreshToken: { reuseGraceSeconds: 0 },
    users: {
      ...users,
      findById: async (id) => {
        if (down === 'users') throw new Error('users are down')
        return await users.findById(id)
      }
    },
    claims: () => {
      if (down === 'claims') throw new Error('claims are down')
      return {}
    }
  })
  const { refresh_token: first } = await signIn(test.app)
  for (down of ['users', 'claims']) {
    const failed = await refresh(test, first)
    t.same(refusal(failed), [503, 'temporarily_unavailable'], `ASVS-16.5.2 ${down}`)
    t.ok(failed.headers['retry-after'])
    t.notMatch(JSON.stringify(failed.body), 'down', 'ASVS-16.5.1')
  }
  down = ''
  test.clock.step(3_600_000)
  t.equal((await refresh(test, first)).status, 200)
})

// covers ASVS-7.4.2
t.test('answers invalid_grant for a disabled or deleted user, and ends all sessions', async (t) => {
  for (const what of ['disabled', 'deleted']) {
    const users = memoryUserStore()
    let gone = false
    const findById: typeof users.findById = async (id) => {
      const user = await users.findById(id)
      if (!gone || user === null) return user
      return what === 'deleted' ? null : { ...user, disabled: true }
    }
    const test = await started(t, { users: { ...users, findById } })
    const one = await signIn(test.app)
    const two = await signIn(test.app)
    gone = true
    t.same(refusal(await refresh(test, one.refresh_token)), [400, 'invalid_grant'], what)
    t.same(await test.app.authority.sessions(test.sub), [], what)
    gone = false
    t.same(refusal(await refresh(test, two.refresh_token)), [400, 'invalid_grant'], `${what}: the other device too`)
    t.match(named(test, 'logged_out'), [{ userId: test.sub, by: 'disabled' }])
  }
})

t.test('issues no token at a refresh when the session ends before the commit', async (t) => {
  const state = memoryState()
  let meanwhile = async (): Promise<void> => {}
  const tokens: typeof state.tokens = {
    ...state.tokens,
    rotateToken: async (use, next) => {
      await meanwhile()
      return await state.tokens.rotateToken(use, next)
    }
  }
  const test = await started(t, { state: { ...state, tokens } })
  const { refresh_token: first } = await signIn(test.app)
  meanwhile = async () => {
    await test.app.authority.revokeUser(test.sub)
  }
  t.same(refusal(await refresh(test, first)), [400, 'invalid_grant'])
})

t.test('RL counts failed refreshes under the rule refresh, and never successful ones', async (t) => {
  const test = await started(t, { rateLimit: { refresh: { max: 2 }, login: { max: 1 } } })
  let { refresh_token: token } = await signIn(test.app)
  for (let turn = 0; turn < 5; turn++) {
    const { status, body } = await refresh(test, token)
    t.equal(status, 200)
    token = body.refresh_token ?? 'none'
  }
  t.equal((await refresh(test, 'x')).status, 400)
  t.equal((await refresh(test, 'x')).status, 400)
  t.equal((await refresh(test, 'x')).status, 429)
  t.equal((await refresh(test, token)).status, 200)
  t.match(named(test, 'rate_limited'), [{ rule: 'refresh', max: 2 }])
})
