import t, { type Test } from '../support/tap.ts'
import { type AuthorityOptions, type Client, memoryUserStore } from '../../lib/index.ts'
import { decodeJwt } from '../support/jwt.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp, type TestApp } from '../support/app.ts'

interface Answer {
  status: number
  body: Record<string, string>
  headers: Record<string, unknown>
}

const SECRET = 'c2VjcmV0IG9mIDMyIGJ5dGVzIG9yIG1vcmU'
const SCOPES = ['openid', 'profile', 'email', 'offline_access', 'read', 'admin', 'write']
const machine: Client = {
  clientId: 'machine',
  clientSecret: SECRET,
  grantTypes: ['client_credentials'],
  scopes: ['openid', 'profile', 'email', 'offline_access', 'read', 'admin']
}
const basic = (id: string, secret = SECRET): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
})

async function started(t: Test, options: Partial<AuthorityOptions> = {}): Promise<TestApp> {
  const test = await testApp({ scopes: SCOPES, clients: [machine], ...options })
  t.teardown(test.close)
  return test
}

async function ask(
  { app }: Pick<TestApp, 'app'>,
  params: Record<string, unknown> = {},
  headers: Record<string, string> = basic('machine')
): Promise<Answer> {
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers,
    payload: { grant_type: 'client_credentials', ...params }
  })
  return { status: reply.statusCode, body: reply.json(), headers: reply.headers }
}

const refusal = ({ status, body }: Answer): unknown[] => [status, body.error]

// covers R6749-4.4 R9068-2.2
t.test('issues an access token of the client itself, and no other token', async (t) => {
  const test = await started(t, {
    claims: () => {
      throw new Error('there is no user to ask about')
    }
  })
  const { status, body, headers } = await ask(test)
  t.equal(status, 200)
  t.equal(headers['cache-control'], 'no-store')
  t.same(
    Object.keys(body).sort(),
    ['access_token', 'expires_in', 'scope', 'token_type'],
    'R6749-4.4.3 no refresh_token, no id_token'
  )
  t.match(body, { token_type: 'Bearer', expires_in: 900, scope: 'read admin' })
  const { header, claims } = decodeJwt(body.access_token ?? '')
  t.equal(header.typ, 'at+jwt')
  const { iat, exp, jti, ...rest } = claims
  t.same(
    rest,
    { iss: ISSUER, aud: ISSUER, sub: 'machine', client_id: 'machine', scope: 'read admin' },
    'no sid, no auth_time'
  )
  t.equal(Number(exp) - Number(iat), 900)
  t.ok(jti)
  t.same(
    test.events.map(({ name, payload }) => [
      name,
      payload.userId,
      payload.sid,
      payload.clientId,
      payload.scope,
      payload.grantType
    ]),
    [['token_issued', null, null, 'machine', 'read admin', 'client_credentials']]
  )
  t.equal((await ask(test, { client_id: 'machine', client_secret: SECRET }, {})).status, 200, 'client_secret_post')
  const form = await test.app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: { ...basic('machine'), 'content-type': 'application/x-www-form-urlencoded' },
    payload: 'grant_type=client_credentials&scope=read'
  })
  t.equal(form.json().scope, 'read')
})

// covers R6749-4.4
t.test('rejects clients that prove no secret or do not list the grant', async (t) => {
  const clients: Client[] = [
    machine,
    { clientId: 'public' },
    { clientId: 'public that lists it', grantTypes: ['client_credentials'] },
    { clientId: 'web', clientSecret: SECRET, grantTypes: ['password', 'refresh_token'] },
    { clientId: 'default', clientSecret: SECRET },
    { clientId: 'empty', clientSecret: '', grantTypes: ['client_credentials'] }
  ]
  // Uses a client store, because some of these would stop the start as listed clients.
  const test = await started(t, {
    clients: { findById: async (id) => clients.find(({ clientId }) => clientId === id) ?? null }
  })
  const cases: Array<[string, object, Record<string, string>, number, string]> = [
    ['no client', {}, {}, 401, 'invalid_client'],
    ['unknown client', {}, basic('nope'), 401, 'invalid_client'],
    ['wrong secret', {}, basic('machine', 'x'.repeat(32)), 401, 'invalid_client'],
    ['ASVS-10.4.10 no secret', { client_id: 'machine' }, {}, 401, 'invalid_client'],
    ['a Bearer token is no client', {}, bearer('x'.repeat(40)), 401, 'invalid_client'],
    ['two ways at once', { client_secret: SECRET }, basic('machine'), 400, 'invalid_request'],
    ['A4 a public client that lists the grant', { client_id: 'public that lists it' }, {}, 401, 'invalid_client'],
    ['public client', { client_id: 'public' }, {}, 400, 'unauthorized_client'],
    ['empty secret in the store', { client_id: 'empty' }, {}, 401, 'invalid_client'],
    ['ASVS-10.4.4 not in its list', {}, basic('web'), 400, 'unauthorized_client'],
    ['not in the default list', {}, basic('default'), 400, 'unauthorized_client']
  ]
  for (const [name, params, headers, status, error] of cases) {
    const answer = await ask(test, { ...params }, headers)
    t.same(refusal(answer), [status, error], name)
    t.equal(
      answer.headers['www-authenticate'] !== undefined,
      status === 401 && headers.authorization?.startsWith('Basic') === true,
      `R6749-5.2 ${name}: challenge`
    )
  }
  t.equal(test.events.filter(({ name }) => name === 'token_issued').length, 0)
})

// covers R6749-3.3
t.test('grants only scopes of the client, and none that concern a user', async (t) => {
  const { scopes: _scopes, ...unlisted } = machine
  const test = await started(t, {
    clients: [machine, { ...unlisted, clientId: 'any' }, { ...machine, clientId: 'none', scopes: ['openid', 'email'] }]
  })
  const cases: Array<[string, string | undefined, string | null | undefined]> = [
    ['machine', undefined, 'read admin'],
    ['machine', 'admin', 'admin'],
    ['machine', 'admin read admin', 'admin read'],
    ['machine', 'write', null],
    ['machine', 'read write', null],
    ['machine', 'read  admin', null],
    ['machine', 'openid', null],
    ['machine', 'read offline_access', null],
    ['any', undefined, 'read admin write'],
    ['any', 'openid', null],
    ['any', 'unknown', null],
    ['none', undefined, undefined],
    ['none', '', undefined],
    ['none', 'email', null]
  ]
  for (const [client, scope, granted] of cases) {
    const answer = await ask(test, { scope }, basic(client))
    if (granted === null) {
      t.same(refusal(answer), [400, 'invalid_scope'], `${client}: ${scope}`)
      continue
    }
    t.equal(answer.body.scope, granted, `${client}: ${scope}`)
    t.equal(decodeJwt(answer.body.access_token ?? '').claims.scope, granted, `${client}: ${scope}: claim`)
  }
})

// covers RFC9700-4.15 ADV-CVE-2026-39976
t.test('rejects a client token at the account endpoints, even if a user has the same id', async (t) => {
  const users = memoryUserStore([{ id: 'machine', username: 'ann', passwordHash: null }])
  const test = await started(t, { users })
  const { app } = test
  await users.setPasswordHash('machine', await app.authority.hashPassword(PASSWORD))
  const session = String(decodeJwt((await signIn(app)).access_token).claims.sid)
  const token = bearer((await ask(test)).body.access_token ?? '')
  for (const [method, url, payload] of [
    ['GET', '/auth/sessions', undefined],
    ['DELETE', `/auth/sessions/${session}`, undefined],
    ['POST', '/auth/password', { current_password: PASSWORD, new_password: 'another fine password' }],
    ['POST', '/auth/refresh', undefined]
  ] as const) {
    const reply = await app.inject({ method, url, headers: token, ...(payload === undefined ? {} : { payload }) })
    t.equal(reply.statusCode, 401, `${method} ${url}`)
    t.equal(reply.json().error, 'invalid_token', `${method} ${url}`)
  }
  t.equal(
    (await app.authority.sessions('machine')).length,
    1,
    'the session of the user is as it was, and the client has none'
  )
  t.equal((await app.inject({ url: '/me', headers: token })).json().client_id, 'machine', 'routes of the host take it')
  t.equal((await app.inject({ url: '/admin', headers: token })).statusCode, 200, 'by its scope')
  const narrow = bearer((await ask(test, { scope: 'read' })).body.access_token ?? '')
  t.equal((await app.inject({ url: '/admin', headers: narrow })).statusCode, 403)
})

t.test('keeps the client_credentials grant when passwordGrant is false', async (t) => {
  const test = await started(t, { passwordGrant: false })
  t.equal((await ask(test)).status, 200)
})

t.test('RL counts wrong client secrets under the rule refresh, but not requests with the right secret', async (t) => {
  const test = await started(t, { rateLimit: { refresh: { max: 2 }, login: { max: 1 } } })
  for (let turn = 0; turn < 5; turn++) t.equal((await ask(test)).status, 200)
  for (let turn = 0; turn < 2; turn++) t.equal((await ask(test, {}, basic('machine', 'x'.repeat(32)))).status, 401)
  t.equal((await ask(test, {}, basic('machine', 'x'.repeat(32)))).status, 429)
  t.equal((await ask(test)).status, 200)
  t.match(
    test.events.filter(({ name }) => name === 'rate_limited').map(({ payload }) => payload),
    [{ rule: 'refresh', max: 2 }]
  )
  await signUp(test.app)
  await signIn(test.app)
})
