import t from '../support/tap.ts'
import { memoryState } from '../../lib/index.ts'
import { decodeJwt } from '../support/jwt.ts'
import { bearer, signIn, signUp, testApp, type TestApp } from '../support/app.ts'

const SECRET = 'a'.repeat(16) + 'b'.repeat(16)
const clients = [{ clientId: 'spa' }, { clientId: 'own', clientSecret: SECRET }]
const basic = (id: string, secret: string): { authorization: string } => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
})

interface Answer {
  status: number
  body: Record<string, string>
  raw: string
  headers: Record<string, unknown>
}

async function revoke(
  { app }: Pick<TestApp, 'app'>,
  payload: object,
  headers: Record<string, string> = {}
): Promise<Answer> {
  const reply = await app.inject({ method: 'POST', url: '/auth/revoke', headers, payload })
  return { status: reply.statusCode, body: reply.json(), raw: reply.body, headers: reply.headers }
}

const refreshStatus = async ({ app }: Pick<TestApp, 'app'>, token: string): Promise<number> =>
  (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(token) })).statusCode
const meStatus = async ({ app }: Pick<TestApp, 'app'>, token: string): Promise<number> =>
  (await app.inject({ url: '/me', headers: bearer(token) })).statusCode

// covers R7009-2.1
t.test('ends the whole session of a refresh or access token, and no other, with any hint', async (t) => {
  for (const [which, hint] of [
    ['refresh_token', undefined],
    ['refresh_token', 'access_token'],
    ['refresh_token', 'nonsense'],
    ['access_token', undefined],
    ['access_token', 'refresh_token']
  ] as const) {
    const test = await testApp()
    t.teardown(test.close)
    const { sub } = await signUp(test.app)
    const tokens = await signIn(test.app)
    const other = await signIn(test.app)
    const { status, raw, headers } = await revoke(test, {
      token: tokens[which],
      ...(hint === undefined ? {} : { token_type_hint: hint })
    })
    t.equal(status, 200, `${which} ${hint}`)
    t.equal(raw, '{}')
    t.equal(headers['cache-control'], 'no-store')
    t.equal(await refreshStatus(test, tokens.refresh_token), 401)
    t.equal(await meStatus(test, tokens.access_token), 401, 'R7009-2.1 its access tokens end with it')
    t.equal(await refreshStatus(test, other.refresh_token), 200)
    t.equal(await meStatus(test, other.access_token), 200)
    t.match(
      test.events.filter(({ name }) => name === 'logged_out'),
      [{ payload: { userId: sub, sids: [decodeJwt(tokens.access_token).claims.sid], by: 'user' } }]
    )
  }
})

t.test('accepts a revocation as a form, and rejects a repeated parameter', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  await signUp(test.app)
  const tokens = await signIn(test.app)
  const form = async (payload: string): Promise<number> =>
    (
      await test.app.inject({
        method: 'POST',
        url: '/auth/revoke',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload
      })
    ).statusCode
  t.equal(await form(`token=${tokens.refresh_token}&token=${tokens.refresh_token}`), 400)
  t.equal(await refreshStatus(test, tokens.refresh_token), 200)
  t.equal(await form(`token=${tokens.refresh_token}&token_type_hint=refresh_token`), 200)
  t.equal(await refreshStatus(test, tokens.refresh_token), 401)
})

t.test('ends the session for a replaced refresh token, within or after the grace time', async (t) => {
  for (const later of [0, 60_000]) {
    const test = await testApp({ refreshToken: { rotate: 'always', reuseGraceSeconds: 10 } })
    t.teardown(test.close)
    await signUp(test.app)
    const { refresh_token: first } = await signIn(test.app)
    const next = (await test.app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(first) })).json()
      .refresh_token as string
    test.clock.step(later)
    t.equal((await revoke(test, { token: first })).status, 200)
    t.equal(await refreshStatus(test, next), 401, `after ${later} ms`)
    t.notOk(
      test.events.some(({ name }) => name === 'refresh_token_reused'),
      'a sign-out is no theft'
    )
  }
})

// covers R7009-2.2
t.test('answers 200 to unknown, malformed, expired and revoked tokens, and ends nothing', async (t) => {
  const test = await testApp({ accessToken: { expiresIn: 60 } })
  t.teardown(test.close)
  await signUp(test.app)
  const tokens = await signIn(test.app)
  const gone = await signIn(test.app)
  await revoke(test, { token: gone.refresh_token })
  const [, secret = ''] = tokens.refresh_token.split('.')
  const cases: Record<string, string> = {
    garbage: 'x',
    'no ASCII': 'ü'.repeat(30),
    long: 'x'.repeat(9000),
    "a stranger's family": `${'A'.repeat(38)}.${secret}`,
    'the public sid as the family': `${String(decodeJwt(tokens.access_token).claims.sid)}.${secret}`,
    'another signature': `${tokens.access_token.slice(0, -8)}AAAAAAAA`,
    'revoked refresh token': gone.refresh_token,
    'revoked access token': gone.access_token
  }
  for (const [name, token] of Object.entries(cases)) {
    const { status, raw } = await revoke(test, { token })
    t.equal(status, 200, name)
    t.equal(raw, '{}', name)
  }
  test.clock.step(60_000)
  t.equal((await revoke(test, { token: tokens.access_token })).raw, '{}', 'an expired access token')
  t.equal(await refreshStatus(test, tokens.refresh_token), 200, 'none of these ended the session')
  t.equal(test.events.filter(({ name }) => name === 'logged_out').length, 1)
})

// covers R7009-2.1
t.test('revokes only tokens of the calling client, and keeps those of others', async (t) => {
  const test = await testApp({ clients })
  t.teardown(test.close)
  const { sub } = await signUp(test.app)
  const issue = async (clientId?: string): Promise<{ access_token: string; refresh_token?: string }> =>
    await test.app.authority.issueTokens(sub, clientId === undefined ? {} : { clientId })
  const callers: Record<string, { payload?: object; headers?: Record<string, string> }> = {
    nobody: {},
    spa: { payload: { client_id: 'spa' } },
    own: { headers: basic('own', SECRET) }
  }
  for (const owner of ['nobody', 'spa', 'own']) {
    for (const [caller, { payload = {}, headers = {} }] of Object.entries(callers)) {
      for (const which of ['access_token', 'refresh_token'] as const) {
        const tokens = await issue(owner === 'nobody' ? undefined : owner)
        const { status, body } = await revoke(test, { token: tokens[which], ...payload }, headers)
        const name = `${caller} revokes the ${which} of ${owner}`
        t.equal(status, caller === owner ? 200 : 400, name)
        if (caller !== owner) t.equal(body.error, 'unauthorized_client', name)
        t.equal(await meStatus(test, tokens.access_token), caller === owner ? 401 : 200, name)
      }
    }
  }
})

// covers R6749-2.3
t.test('rejects an unauthenticated client before it reads the token', async (t) => {
  const test = await testApp({ clients })
  t.teardown(test.close)
  const { sub } = await signUp(test.app)
  const tokens = await test.app.authority.issueTokens(sub, { clientId: 'own' })
  const cases: Array<[string, object, Record<string, string>, number, string]> = [
    ['no secret', { client_id: 'own' }, {}, 401, 'invalid_client'],
    ['wrong secret', { client_id: 'own', client_secret: 'x' }, {}, 401, 'invalid_client'],
    ['wrong Basic', {}, basic('own', 'x'), 401, 'invalid_client'],
    ['public with a secret', { client_id: 'spa', client_secret: 'x' }, {}, 401, 'invalid_client'],
    ['unknown client', { client_id: 'none' }, {}, 401, 'invalid_client'],
    ['two ways at once', { client_id: 'own', client_secret: SECRET }, basic('own', SECRET), 400, 'invalid_request']
  ]
  for (const [name, payload, headers, status, error] of cases) {
    const answer = await revoke(test, { token: tokens.access_token, ...payload }, headers)
    t.equal(answer.status, status, name)
    t.equal(answer.body.error, error, name)
  }
  t.match((await revoke(test, { token: 'x' }, basic('own', 'x'))).headers['www-authenticate'], /^Basic/)
  t.equal(await meStatus(test, tokens.access_token), 200)
  t.equal(
    (await revoke(test, { token: tokens.access_token, client_id: 'own', client_secret: SECRET })).status,
    200,
    'client_secret_post'
  )
})

t.test('answers 400 to a malformed revocation request', async (t) => {
  const test = await testApp()
  t.teardown(test.close)
  for (const payload of [
    {},
    { token: '' },
    { token: 5 },
    { token: ['x'] },
    { token: 'x', client_id: 'x'.repeat(1537) },
    []
  ]) {
    const { status, body } = await revoke(test, payload)
    t.equal(status, 400, JSON.stringify(payload).slice(0, 40))
    t.equal(body.error, 'invalid_request')
  }
})

// covers R7009-2.2.1
t.test('answers 503 to a revocation while the store is down, and keeps the session', async (t) => {
  for (const method of ['findFamily', 'revokeFamily'] as const) {
    const state = memoryState()
    let down = false
    const answer = (state.tokens[method] as (...args: unknown[]) => Promise<unknown>).bind(state.tokens)
    const tokens = {
      ...state.tokens,
      [method]: async (...args: unknown[]) => {
        if (down) throw new Error('tokens are down')
        return await answer(...args)
      }
    }
    const test = await testApp({ state: { ...state, tokens } })
    t.teardown(test.close)
    await signUp(test.app)
    const issued = await signIn(test.app)
    down = true
    for (const token of [issued.refresh_token, issued.access_token]) {
      const { status, body, headers } = await revoke(test, { token })
      t.equal(status, 503, method)
      t.equal(body.error, 'temporarily_unavailable')
      t.ok(headers['retry-after'])
    }
    down = false
    t.equal(await meStatus(test, issued.access_token), 200)
  }
})

// covers R7009-5
t.test('counts unknown tokens under the rule refresh, but not valid ones', async (t) => {
  const test = await testApp({ rateLimit: { refresh: { max: 2 }, login: false } })
  t.teardown(test.close)
  await signUp(test.app)
  for (let turn = 0; turn < 4; turn++)
    t.equal((await revoke(test, { token: (await signIn(test.app)).refresh_token })).status, 200)
  t.equal((await revoke(test, { token: 'x' })).status, 200)
  t.equal((await revoke(test, { token: 'x' })).status, 200)
  const limited = await revoke(test, { token: 'x' })
  t.equal(limited.status, 429)
  t.ok(limited.headers['retry-after'])
})
