import t from '../support/tap.ts'
import type { Client } from '../../lib/index.ts'
import { decodeJwt } from '../support/jwt.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'

const grant = { grant_type: 'password', username: 'ann', password: PASSWORD }

// covers R6749-5.1
t.test('answers the password grant with five fields and no-store', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  const { sub } = await signUp(app)
  const reply = await app.inject({ method: 'POST', url: '/auth/token', payload: grant })
  t.equal(reply.statusCode, 200)
  t.equal(reply.headers['cache-control'], 'no-store')
  t.equal(reply.headers.pragma, 'no-cache')
  t.match(reply.headers['content-type'], /^application\/json; charset=utf-8/)
  const body = reply.json()
  t.same(Object.keys(body).sort(), ['access_token', 'expires_in', 'refresh_token', 'scope', 'token_type'])
  t.equal(body.token_type, 'Bearer')
  t.equal(body.expires_in, 900)
  t.equal(body.scope, 'openid profile email offline_access')
  const { header, claims } = decodeJwt(body.access_token)
  t.equal(header.typ, 'at+jwt', 'R9068-2.1')
  t.equal(header.alg, 'ES256')
  t.equal(claims.iss, ISSUER)
  t.equal(claims.aud, ISSUER)
  t.equal(claims.sub, sub)
  t.equal(Number(claims.exp) - Number(claims.iat), 900)
  for (const name of ['jti', 'sid', 'auth_time', 'scope']) t.ok(claims[name], name)
  t.notOk('client_id' in claims)
})

// covers R6749-4.3.2
t.test('accepts a form at the token endpoint, and ignores an unknown parameter', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  await signUp(app)
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
    payload: new URLSearchParams({ ...grant, unknown: 'ignored' }).toString()
  })
  t.equal(reply.statusCode, 200)
})

// covers R6749-5.2
t.test('answers invalid token requests with a status, an error code and a description', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  await signUp(app)
  const json = { 'content-type': 'application/json' }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const cases: Array<[string, string | object, Record<string, string>, number, string]> = [
    ['no grant_type', {}, json, 400, 'invalid_request'],
    ['unknown grant', { grant_type: 'urn:x' }, json, 400, 'unsupported_grant_type'],
    ['implicit is absent', { grant_type: 'implicit' }, json, 400, 'unsupported_grant_type'],
    ['username missing', { grant_type: 'password', password: 'x' }, json, 400, 'invalid_request'],
    ['empty counts as omitted', { ...grant, password: '' }, json, 400, 'invalid_request'],
    ['wrong password', { ...grant, password: 'wrong' }, json, 400, 'invalid_grant'],
    ['unknown user', { ...grant, username: 'nobody' }, json, 400, 'invalid_grant'],
    ['scope not allowed', { ...grant, scope: 'openid admin' }, json, 400, 'invalid_scope'],
    ['scope malformed', { ...grant, scope: 'openid  email' }, json, 400, 'invalid_scope'],
    ['POL-scope 1025 characters', { ...grant, scope: 'a'.repeat(1025) }, json, 400, 'invalid_scope'],
    ['POL-scope 5000 characters', { ...grant, scope: 'a'.repeat(5000) }, json, 400, 'invalid_scope'],
    [
      'R6749-3.2 repeated in a form',
      'grant_type=password&grant_type=password&username=ann&password=x',
      form,
      400,
      'invalid_request'
    ],
    [
      'repeated in JSON',
      '{"grant_type":"password","username":"ann","username":"bob","password":"x"}',
      json,
      400,
      'invalid_request'
    ],
    [
      'repeated in JSON by another spelling',
      '{"grant_type":"password","username":"ann","\\u0075sername":"bob","password":"x"}',
      json,
      400,
      'invalid_request'
    ],
    ['ASVS-15.3.5 array', { ...grant, username: ['ann'] }, json, 400, 'invalid_request'],
    ['object', { ...grant, username: { $ne: '' } }, json, 400, 'invalid_request'],
    ['number', { ...grant, password: 1 }, json, 400, 'invalid_request'],
    ['null', { ...grant, password: null }, json, 400, 'invalid_request'],
    ['not an object', '[]', json, 400, 'invalid_request'],
    ['a string', '"grant_type"', json, 400, 'invalid_request'],
    ['broken JSON', '{', json, 400, 'invalid_request'],
    ['ASVS-15.3.6 __proto__', '{"__proto__":{"x":1},"grant_type":"password"}', json, 400, 'invalid_request'],
    ['empty body', '', json, 400, 'invalid_request'],
    ['DOS 65 parameters', Array.from({ length: 65 }, (_, i) => `p${i}=1`).join('&'), form, 400, 'invalid_request'],
    ['unknown client', { ...grant, client_id: 'nope' }, json, 401, 'invalid_client'],
    ['secret without id', { ...grant, client_secret: 'x'.repeat(32) }, json, 400, 'invalid_request'],
    ['415 text', 'grant_type=password', { 'content-type': 'text/plain' }, 415, 'invalid_request'],
    ['415 multipart', 'x', { 'content-type': 'multipart/form-data; boundary=x' }, 415, 'invalid_request'],
    ['415 vendor JSON', '{}', { 'content-type': 'application/vnd.api+json' }, 415, 'invalid_request'],
    ['413', { ...grant, password: 'x'.repeat(20_000) }, json, 413, 'invalid_request']
  ]
  for (const [name, payload, headers, status, error] of cases) {
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/token',
      headers,
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload)
    })
    t.equal(reply.statusCode, status, `${name}: status`)
    const body = reply.json()
    t.equal(body.error, error, `${name}: error`)
    t.match(body.error_description, /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/, `${name}: description`)
    t.same(Object.keys(body), ['error', 'error_description'], `${name}: nothing else`)
    t.equal(reply.headers['cache-control'], 'no-store', `${name}: no-store`)
    t.equal(reply.headers['x-content-type-options'], 'nosniff', `ASVS-3.4.4 ${name}`)
  }
})

// covers R6749-3.2
t.test('answers 405 to other methods at the token endpoint, and reads no password from the query', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  await signUp(app)
  for (const method of ['GET', 'PUT', 'DELETE', 'HEAD'] as const)
    t.equal((await app.inject({ method, url: '/auth/token' })).statusCode, 405, method)
  const reply = await app.inject({
    method: 'POST',
    url: `/auth/token?grant_type=password&username=ann&password=${encodeURIComponent(PASSWORD)}`,
    payload: {}
  })
  t.equal(reply.statusCode, 400, 'ASVS-14.2.1')
})

// covers R6749-3.3
t.test('grants the requested scopes once each, or all, and rejects a token without the scope of a route', async (t) => {
  const { app, close } = await testApp({ scopes: ['openid', 'admin', 'email'] })
  t.teardown(close)
  await signUp(app)
  t.equal((await signIn(app, 'ann', PASSWORD, { scope: 'admin openid admin' })).scope, 'admin openid')
  t.equal((await signIn(app)).scope, 'openid admin email', 'all of them where none was asked for')
  const narrow = await signIn(app, 'ann', PASSWORD, { scope: 'openid' })
  const refused = await app.inject({ url: '/admin', headers: bearer(narrow.access_token) })
  t.equal(refused.statusCode, 403)
  t.equal(refused.json().error, 'insufficient_scope')
  t.equal(refused.headers['www-authenticate'], 'Bearer error="insufficient_scope", scope="admin"')
  t.equal((await app.inject({ url: '/admin', headers: bearer((await signIn(app)).access_token) })).statusCode, 200)
})

// covers ENUM-login
t.test(
  'answers the same after one hash for an unknown, disabled or passwordless user and a wrong password',
  async (t) => {
    const { memoryUserStore } = await import('../../lib/index.ts')
    const { fastHasher } = await import('../../lib/testing/index.ts')
    const made = await fastHasher().hash(PASSWORD, { memoryCost: 19456, timeCost: 2, parallelism: 1 })
    const users = memoryUserStore([
      { id: '1', username: 'ann', passwordHash: made },
      { id: '2', username: 'off', passwordHash: made, disabled: true },
      { id: '3', username: 'sso', passwordHash: null },
      {
        id: '4',
        username: 'odd',
        passwordHash:
          '$argon2id$v=19$m=99999999,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
      }
    ])
    const { app, hasher, close } = await testApp({ users })
    t.teardown(close)
    const attempt = async (
      username: string,
      password: string
    ): Promise<{ status: number; headers: object; body: string; runs: number }> => {
      const before = hasher.calls.verify
      const reply = await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username, password }
      })
      const { date: _date, ...headers } = reply.headers
      return { status: reply.statusCode, headers, body: reply.body, runs: hasher.calls.verify - before }
    }
    await attempt('warm', 'up')
    const expected = await attempt('ann', 'wrong password')
    t.equal(expected.status, 400)
    t.equal(expected.runs, 1)
    for (const [username, password] of [
      ['nobody', PASSWORD],
      ['off', PASSWORD],
      ['off', 'wrong'],
      ['sso', PASSWORD],
      ['odd', PASSWORD],
      ['\u0000', PASSWORD],
      ['ann', 'x'.repeat(1025)]
    ] as const) {
      t.same(await attempt(username, password), expected, JSON.stringify(username))
    }
  }
)

// covers R6749-2.3
t.test('authenticates clients by basic, post or none, and rejects two methods at once', async (t) => {
  const secret = 's3cret+:%ü'.repeat(4)
  const clients: Client[] = [
    { clientId: 'web', clientSecret: secret, grantTypes: ['password'] },
    { clientId: 'spa', grantTypes: ['password'], scopes: ['openid'] },
    { clientId: 'code', clientSecret: secret },
    { clientId: 'other', grantTypes: ['password'], firstParty: false }
  ]
  const { app, close } = await testApp({
    passwordGrant: 'clients',
    clients: { findById: async (id) => clients.find(({ clientId }) => clientId === id) ?? null }
  })
  t.teardown(close)
  await signUp(app)
  const encode = (text: string): string => encodeURIComponent(text).replaceAll('%20', '+')
  const basic = (id: string, value: string): Record<string, string> => ({
    authorization: `Basic ${Buffer.from(`${encode(id)}:${encode(value)}`).toString('base64')}`
  })
  const ask = async (
    headers: Record<string, string>,
    extra: object
  ): Promise<{ status: number; error?: string; scope?: string; challenge?: string; token?: string }> => {
    const reply = await app.inject({ method: 'POST', url: '/auth/token', headers, payload: { ...grant, ...extra } })
    const body = reply.json()
    return {
      status: reply.statusCode,
      error: body.error,
      scope: body.scope,
      token: body.access_token,
      challenge: reply.headers['www-authenticate'] as string
    }
  }
  t.equal((await ask(basic('web', secret), {})).status, 200)
  t.equal((await ask({}, { client_id: 'web', client_secret: secret })).status, 200)
  const spa = await ask({}, { client_id: 'spa' })
  t.equal(spa.scope, 'openid', 'ASVS-10.4.11 a client gets its own scopes')
  t.equal(decodeJwt(spa.token ?? '').claims.client_id, 'spa')
  const wrong = await ask(basic('web', 'wrong'), {})
  t.same([wrong.status, wrong.error], [401, 'invalid_client'])
  t.match(wrong.challenge, /^Basic /)
  t.same((await ask({}, { client_id: 'web' })).error, 'invalid_client', 'a confidential client must prove its secret')
  t.same(
    (await ask({}, { client_id: 'spa', client_secret: 'x'.repeat(32) })).error,
    'invalid_client',
    'a public client has none to prove'
  )
  t.same((await ask(basic('web', secret), { client_secret: secret })).error, 'invalid_request')
  t.same((await ask({}, {})).error, 'unauthorized_client')
  t.same((await ask(basic('code', secret), {})).error, 'unauthorized_client', 'ASVS-10.4.4')
  t.same((await ask({}, { client_id: 'other' })).error, 'unauthorized_client')
  for (const malformed of [
    'Basic',
    'Basic !!!',
    'Basic ' + Buffer.from('nocolon').toString('base64'),
    'Basic ' + Buffer.from('%zz:x').toString('base64'),
    `Basic ${'A'.repeat(5000)}`
  ]) {
    t.not((await ask({ authorization: malformed }, {})).status, 200, malformed.slice(0, 20))
  }
})

// covers ASVS-6.3.4
t.test('passwordGrant: false disables the password grant', async (t) => {
  const { app, close } = await testApp({ passwordGrant: false })
  t.teardown(close)
  await signUp(app)
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/token', payload: grant })).json().error,
    'unsupported_grant_type'
  )
})
