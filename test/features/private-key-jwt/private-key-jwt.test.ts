import Database from 'libsql'
import { type Client, sqliteState } from '../../../lib/index.ts'
import t from '../../support/tap.ts'
import { ISSUER, PASSWORD, testApp } from '../../support/app.ts'
import { logLines } from '../../support/log-lines.ts'
import { turns } from '../../unit/accounts/world.ts'
import { signingKey } from '../resource/world.ts'
import {
  ask,
  assertionOf,
  type Changes,
  KEY,
  machine,
  publicJwk,
  refusal,
  SECRET,
  shop,
  signed,
  started,
  TYPE
} from './world.ts'

t.test('authenticates a client by a signed assertion at the token, introspection and revocation route', async (t) => {
  const test = await started(t)
  t.match(await ask(test, signed(assertionOf(test))), { status: 200, body: { scope: 'read', access_token: String } })
  t.match(
    await ask(test, { client_id: 'machine', ...signed(assertionOf(test, { header: { typ: undefined } })) }),
    { status: 200 },
    'with its id'
  )
  t.match(await ask(test, signed(assertionOf(test)), { url: '/auth/introspect' }), {
    status: 200,
    body: { active: false }
  })
  t.equal((await ask(test, signed(assertionOf(test)), { url: '/auth/revoke' })).status, 200)
})

t.test('accepts assertions with each algorithm that the metadata lists', async (t) => {
  const keys = ['ES256', 'EdDSA', 'PS256', 'RS256'].map((alg) => signingKey(alg))
  const test = await started(t, { clients: [{ ...machine, jwks: { keys: keys.map(publicJwk) } }] })
  const metadata = (await test.app.inject('/.well-known/oauth-authorization-server')).json()
  t.same(
    metadata.token_endpoint_auth_signing_alg_values_supported,
    keys.map(({ alg }) => alg)
  )
  for (const key of keys) t.equal((await ask(test, signed(assertionOf(test, { key })))).status, 200, key.alg)
})

// covers R7523-3
t.test('rejects invalid client assertions, and emits an event with the reason', async (t) => {
  const test = await started(t)
  const other = signingKey('ES256', 'k1')
  const now = test.clock.now() / 1000
  const rows: Record<string, [Changes, string]> = {
    'the key of another': [{ key: other }, 'wrong_signature'],
    'a key in the header': [{ key: other, header: { jwk: publicJwk(other) } }, 'wrong_signature'],
    'an unknown kid': [{ header: { kid: 'k2' } }, 'wrong_signature'],
    'an unknown client': [{ payload: { iss: 'nobody', sub: 'nobody' } }, 'unknown_client'],
    'a client with a secret': [{ payload: { iss: 'shop', sub: 'shop' } }, 'wrong_method'],
    'no algorithm': [{ header: { alg: 'none' } }, 'malformed_credentials'],
    'a symmetric algorithm': [{ header: { alg: 'HS256' } }, 'malformed_credentials'],
    'another algorithm of ours': [{ header: { alg: 'RS256' } }, 'wrong_signature'],
    'the type of an access token': [{ header: { typ: 'at+jwt' } }, 'malformed_credentials'],
    'the type of a proof': [{ header: { typ: 'dpop+jwt' } }, 'malformed_credentials'],
    'the token endpoint as audience': [{ payload: { aud: `${ISSUER}/auth/token` } }, 'malformed_credentials'],
    'an array as audience': [{ payload: { aud: [ISSUER] } }, 'malformed_credentials'],
    'no audience': [{ payload: { aud: undefined } }, 'malformed_credentials'],
    'no subject': [{ payload: { sub: undefined } }, 'malformed_credentials'],
    'no end': [{ payload: { exp: undefined } }, 'malformed_credentials'],
    'an end five minutes ago': [{ payload: { exp: now - 300 } }, 'malformed_credentials'],
    'an end in an hour': [{ payload: { exp: now + 3600 } }, 'malformed_credentials'],
    'a time ahead': [{ payload: { nbf: now + 61 } }, 'malformed_credentials'],
    'an id of a key that is no text': [{ header: { kid: 5 } }, 'malformed_credentials'],
    'a critical header': [{ header: { crit: ['b64'] } }, 'malformed_credentials'],
    'a jti that is too long': [{ payload: { jti: 'x'.repeat(300) } }, 'malformed_credentials'],
    'no jti': [{ payload: { jti: undefined } }, 'malformed_credentials']
  }
  for (const [name, [changes, reason]] of Object.entries(rows)) {
    test.events.length = 0
    t.same(refusal(await ask(test, signed(assertionOf(test, changes)))), [401, 'invalid_client'], name)
    const clientId = reason === 'wrong_signature' ? 'machine' : reason === 'wrong_method' ? 'shop' : null
    t.match(
      test.events,
      [{ name: 'client_authentication_failed', payload: { reason, clientId, method: 'private_key_jwt' } }],
      name
    )
    t.equal(test.events.length, 1, name)
  }
  t.match(
    (await ask(test, signed(assertionOf(test, { payload: { aud: `${ISSUER}/auth/token` } })))).body.error_description,
    ISSUER,
    'the error says which audience is right'
  )
  t.same(refusal(await ask(test, signed('x'.repeat(9000)))), [400, 'invalid_request'], 'too long')
  t.equal((await ask(test, signed(assertionOf(test, { payload: { nbf: now + 8, iat: now + 8 } })))).status, 200)
})

t.test('logs at debug why no registered key fits an assertion', async (t) => {
  const { lines, stream } = logLines()
  const unnamed: Client = { ...machine, clientId: 'unnamed', jwks: { keys: [KEY.jwk] } }
  const test = await testApp(
    { scopes: ['openid', 'read'], clients: [machine, shop, unnamed] },
    { logger: { level: 'debug', stream } }
  )
  t.teardown(test.close)
  const rows: Array<[Changes, string]> = [
    [{ header: { kid: 'k2' } }, 'wrong_signature: no key of the client has the kid of the assertion'],
    [
      { payload: { iss: 'unnamed', sub: 'unnamed' } },
      'wrong_signature: no key of the client has the kid of the assertion'
    ],
    [{ header: { alg: 'RS256' } }, 'wrong_signature: no such key of the client is for the algorithm of the assertion'],
    [{ key: signingKey('ES256', 'k1') }, 'wrong_signature: another key signed the assertion'],
    [{ payload: { iss: 'shop', sub: 'shop' } }, 'wrong_method'],
    [{ payload: { iss: 'nobody', sub: 'nobody' } }, 'unknown_client']
  ]
  for (const [changes, detail] of rows) {
    lines.length = 0
    const { body } = await ask(test, signed(assertionOf(test, changes)))
    t.equal(body.error_description, 'Client authentication failed.', detail)
    t.match(
      lines.filter((line) => line.error === 'invalid_client'),
      [{ level: 20, detail }],
      detail
    )
    t.equal(lines.find((line) => line.error === 'invalid_client')?.detail, detail)
  }
  const withoutKid = assertionOf(test, { header: { kid: undefined }, payload: { iss: 'unnamed', sub: 'unnamed' } })
  t.equal((await ask(test, signed(withoutKid))).status, 200, 'a header without kid tries every key')
})

t.test('accepts a client assertion once, also in fifty parallel requests', async (t) => {
  const test = await started(t)
  const text = signed(assertionOf(test))
  const answers = await Promise.all(Array.from({ length: 50 }, async () => await ask(test, text)))
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  t.ok(answers.every((answer) => answer.status === 200 || answer.status === 401))
  const refused = signed(assertionOf(test, { payload: { jti: 'same' }, key: signingKey('ES256', 'k1') }))
  t.equal((await ask(test, refused)).status, 401)
  t.equal(
    (await ask(test, signed(assertionOf(test, { payload: { jti: 'same' } })))).status,
    200,
    'a stranger uses up no jti of the client'
  )
})

t.test('accepts an assertion with fractions of a millisecond in exp over SQLite, and only once', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => {
    db.close()
  })
  const test = await started(t, { state: sqliteState(db) })
  const text = signed(assertionOf(test, { payload: { exp: test.clock.now() / 1000 + 60.1234567 } }))
  t.equal((await ask(test, text)).status, 200)
  t.equal((await ask(test, text)).status, 401)
})

t.test('rejects a used client assertion also after the clock was set back', async (t) => {
  const test = await started(t)
  const text = signed(assertionOf(test))
  const at = test.clock.now()
  t.equal((await ask(test, text)).status, 200)
  test.clock.step(5 * 60_000)
  await turns()
  test.clock.setWall(at)
  t.same(refusal(await ask(test, text)), [401, 'invalid_client'])
})

t.test('accepts only the registered method of a client, and no two methods in one request', async (t) => {
  const test = await started(t, {
    clients: [machine, shop, { ...shop, clientId: 'post', tokenEndpointAuthMethod: 'client_secret_post' }]
  })
  const basic = (id: string): Record<string, string> => ({
    authorization: `Basic ${Buffer.from(`${id}:${SECRET}`).toString('base64')}`
  })
  t.same(refusal(await ask(test, { client_id: 'machine' })), [401, 'invalid_client'], 'nothing')
  t.same(refusal(await ask(test, { client_id: 'machine', client_secret: SECRET })), [401, 'invalid_client'], 'a secret')
  t.same(refusal(await ask(test, {}, { headers: basic('machine') })), [401, 'invalid_client'], 'Basic')
  t.equal((await ask(test, { client_id: 'post', client_secret: SECRET })).status, 200)
  t.same(refusal(await ask(test, {}, { headers: basic('post') })), [401, 'invalid_client'], 'Basic instead of post')
  const text = assertionOf(test)
  for (const [name, params, headers] of [
    ['a secret beside', { client_id: 'shop', client_secret: SECRET, ...signed(text) }, {}],
    ['Basic beside', signed(text), basic('shop')],
    ['the id of another client', { client_id: 'shop', ...signed(text) }, {}],
    ['no type', { client_assertion: text }, {}],
    ['another type', { ...signed(text), client_assertion_type: 'x' }, {}],
    ['the type alone', { client_id: 'machine', client_assertion_type: TYPE }, {}]
  ] as const)
    t.same(refusal(await ask(test, params, { headers })), [400, 'invalid_request'], name)
  t.equal((await ask(test, signed(text))).status, 200, 'none of these used it up')
})

t.test('accepts an assertion with the password grant, and rejects a refresh without one', async (t) => {
  const test = await started(t)
  const { body } = await ask(test, {
    grant_type: 'password',
    username: 'ann@example.com',
    password: PASSWORD,
    ...signed(assertionOf(test))
  })
  t.equal(body.error, 'invalid_grant', 'there is no such user, and the client was accepted')
  t.same(refusal(await ask(test, { grant_type: 'refresh_token', refresh_token: 'x', client_id: 'machine' })), [
    401,
    'invalid_client'
  ])
})
