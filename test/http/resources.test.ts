import t from '../support/tap.ts'
import { decodeJwt } from '../support/jwt.ts'
import { bearer, ISSUER } from '../support/app.ts'
import { authorizeAs, authorizePath, basic, SECRET } from '../support/openid.ts'
import { asMachine, machine, MAIL, ORDERS, password, path, started, token } from './support/apis.ts'

// covers R8707-3
t.test('rejects a token for an API at the service, also right after its issue or its introspection', async (t) => {
  const test = await started(t)
  const { app } = test
  const { body } = await token(test, { ...password, scope: 'openid orders:read', resource: ORDERS })
  const own = await token(test, { ...password, scope: 'openid' })
  const header = bearer(body.access_token ?? '')
  for (let round = 0; round < 3; round++) {
    for (const url of ['/me', '/auth/userinfo', '/auth/sessions', '/auth/profile']) {
      const reply = await app.inject({ url, headers: header })
      t.equal(reply.statusCode, 401, `${url}, round ${round}`)
      t.match(reply.headers['www-authenticate'], /error="invalid_token"/)
    }
    await t.rejects(app.authority.verify(body.access_token ?? ''), { message: /another audience/ })
    t.equal((await app.inject({ url: '/me', headers: bearer(own.body.access_token ?? '') })).statusCode, 200)
    // An introspection verifies the token too.
    const asked = await app.inject({
      method: 'POST',
      url: '/auth/introspect',
      headers: basic('orders-api', SECRET),
      payload: { token: body.access_token }
    })
    t.equal(asked.json().active, true)
  }
})

// covers R9068-3
t.test('issues a token for the named API, with the scopes and the settings of that API alone', async (t) => {
  const test = await started(t)
  for (const [resource, aud] of [
    [ORDERS, ORDERS],
    ['HTTPS://ORDERS.example.com:443/', ORDERS],
    [MAIL, MAIL]
  ] as const) {
    const { status, body, claims } = await token(test, { ...password, resource })
    t.equal(status, 200, resource)
    t.match(claims, { aud, client_id: 'spa', iss: ISSUER })
    t.equal(body.scope, aud === ORDERS ? 'orders:read orders:write' : 'mail:read')
    t.equal(claims.scope, body.scope)
    t.equal(Number(claims.exp) - Number(claims.iat), aud === ORDERS ? 120 : 900)
    t.equal(body.expires_in, aud === ORDERS ? 120 : 900)
    t.equal(decodeJwt(body.access_token ?? '').header.alg, aud === ORDERS ? 'RS256' : 'ES256')
  }
  const named = await token(test, { ...password, audience: ORDERS, scope: 'openid orders:read' })
  t.match(named.claims, { aud: ORDERS, scope: 'orders:read' })
  const both = await token(test, { ...password, audience: ORDERS, resource: `${ORDERS}/` })
  t.equal(both.claims.aud, ORDERS)
  const none = await token(test, password)
  t.match(none.claims, { aud: ISSUER, scope: 'openid profile email offline_access' })
  t.equal((await token(test, { ...password, audience: ISSUER })).claims.aud, ISSUER)
})

// covers R8707-2
t.test('rejects a resource that is unknown, malformed or not for the client with invalid_target', async (t) => {
  const test = await started(t)
  for (const resource of [
    'https://unknown.example.com',
    `${ORDERS}/v1`,
    `${MAIL}/`,
    '/mail',
    'orders',
    'http://orders.example.com',
    `${ORDERS}#x`,
    `${ORDERS}?x=1`,
    `${ORDERS} ${MAIL}`,
    'https://internal.example.com/v1',
    'https://user@orders.example.com'
  ]) {
    for (const name of ['resource', 'audience']) {
      const { status, body } = await token(test, { ...password, [name]: resource })
      t.same([status, body.error], [400, 'invalid_target'], `${name}=${resource}`)
    }
    const answer = await authorizeAs(test.browser, path([resource]))
    t.match(answer, { error: 'invalid_target', state: 'state-1', iss: ISSUER }, resource)
  }
  const twice = await token(test, `${new URLSearchParams(password).toString()}&resource=${ORDERS}&resource=${MAIL}`)
  t.same([twice.status, twice.body.error], [400, 'invalid_target'])
  const conflicting = await token(test, { ...password, resource: ORDERS, audience: MAIL })
  t.equal(conflicting.body.error, 'invalid_target')
  const { client_id: _without, ...noClient } = password
  t.equal((await token(test, { ...noClient, resource: ORDERS })).body.error, 'invalid_target')
  const other = await authorizeAs(test.browser, path([MAIL], { client_id: 'other' }))
  t.equal(other.error, 'invalid_target')
})

t.test('drops scopes of an API that the request does not name, or rejects it if no scope is left', async (t) => {
  const test = await started(t)
  const { claims } = await token(test, { ...password, scope: 'openid orders:read' })
  t.match(claims, { aud: ISSUER, scope: 'openid' })
  const { body } = await token(test, { ...password, scope: 'orders:read' })
  t.equal(body.error, 'invalid_scope')
  const { body: wrong } = await token(test, { ...password, scope: 'mail:read', resource: ORDERS })
  t.equal(wrong.error, 'invalid_scope')
  const answer = await authorizeAs(test.browser, authorizePath({ scope: 'orders:read' }))
  t.equal(answer.error, 'invalid_scope')
})

t.test('requires a machine client with several possible resources to name one', async (t) => {
  const test = await started(t)
  t.equal((await token(test, machine, asMachine)).body.error, 'invalid_target')
  const named = await token(test, { ...machine, resource: 'https://internal.example.com/v1' }, asMachine)
  t.match(named.claims, { aud: 'https://internal.example.com/v1', scope: 'internal', sub: 'machine' })
  const only = await token(test, machine, basic('orders-api', SECRET))
  t.match(only.claims, { aud: ORDERS, scope: 'orders:read orders:write' }, 'the only one of its list')
})

t.test('chooses the audience of a machine client from the APIs, its resources and the request', async (t) => {
  const orders = { resource: ORDERS, scopes: { 'orders:read': 'see your orders' } }
  const mail = { resource: '/mail', scopes: { 'mail:read': 'read your mail' } }
  const rows: Array<
    [apis: Array<typeof orders | typeof mail>, may: string[] | undefined, resource: string | undefined, aud: string]
  > = [
    [[], undefined, undefined, ISSUER],
    [[orders], undefined, undefined, ISSUER],
    [[orders], [ORDERS], undefined, ORDERS],
    [[orders, mail], [ORDERS], undefined, ORDERS],
    [[orders, mail], [], undefined, ISSUER],
    [[orders, mail], undefined, undefined, 'invalid_target'],
    [[orders, mail], ['/mail', ORDERS], undefined, 'invalid_target'],
    [[orders, mail], undefined, ORDERS, ORDERS],
    [[orders, mail], undefined, ISSUER, ISSUER],
    [[orders, mail], ['/mail'], ISSUER, ISSUER],
    [[orders, mail], ['/mail'], ORDERS, 'invalid_target']
  ]
  for (const [resources, may, resource, aud] of rows) {
    const client = { clientId: 'machine', clientSecret: SECRET, grantTypes: ['client_credentials' as const] }
    const test = await started(t, {
      scopes: ['openid', 'reports'],
      resources,
      clients: [{ ...client, ...(may === undefined ? {} : { resources: may }) }]
    })
    const { body, claims } = await token(
      test,
      { ...machine, ...(resource === undefined ? {} : { resource }) },
      asMachine
    )
    t.equal(claims.aud ?? body.error, aud, JSON.stringify([resources.length, may, resource]))
  }
})

// covers R7662-4
t.test('introspects for an API only tokens that were issued for it', async (t) => {
  const test = await started(t)
  const introspect = async (about: string, headers: Record<string, string>): Promise<Record<string, unknown>> =>
    (await test.app.inject({ method: 'POST', url: '/auth/introspect', headers, payload: { token: about } })).json()
  const orders = await token(test, { ...password, resource: ORDERS })
  const mail = await token(test, { ...password, resource: MAIL })
  const own = await token(test, password)
  const api = basic('orders-api', SECRET)
  t.match(await introspect(orders.body.access_token ?? '', api), { active: true, aud: ORDERS, client_id: 'spa' })
  for (const { body } of [mail, own]) t.same(await introspect(body.access_token ?? '', api), { active: false })
  t.same(await introspect(orders.body.refresh_token ?? '', api), { active: false })
  t.same(await introspect(orders.body.access_token ?? '', asMachine), { active: false }, 'not for other clients')
  t.match(await introspect(own.body.access_token ?? '', asMachine), { active: true })
})
