import t from '../../support/tap.ts'
import { formAction } from '../../support/browser.ts'
import { BODIES } from './bodies.ts'
import { assertionOf, KEY, publicJwk, signed } from '../private-key-jwt/world.ts'
import { AGENT, documentHost, open, refresh, register, requestOf, tokensFor, world } from './world.ts'

t.test('allows any origin at the registration endpoint, and origins of the client at the token endpoint', async (t) => {
  const test = await world(t)
  const origin = 'http://localhost:6274'
  const { app } = test
  for (const url of ['/auth/clients', '/auth/token', '/.well-known/oauth-authorization-server']) {
    const preflight = await app.inject({
      method: 'OPTIONS',
      url,
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,mcp-protocol-version'
      }
    })
    t.match(preflight.headers['access-control-allow-origin'], /^(?:\*|http:\/\/localhost:6274)$/, url)
    t.match(preflight.headers['access-control-allow-headers'], 'mcp-protocol-version', url)
  }
  const browser = { origin, 'sec-fetch-site': 'cross-site' }
  const registered = await register(test, BODIES['inspector']?.body ?? {}, browser)
  t.same([registered.statusCode, registered.headers['access-control-allow-origin']], [201, '*'])
  const { client_id: id } = registered.json()
  const { redirectUri } = BODIES['inspector'] ?? { redirectUri: '' }
  const tokens = await tokensFor(test, id, { redirect_uri: redirectUri })
  const payload = { grant_type: 'refresh_token', client_id: id, refresh_token: tokens.refresh_token }
  const asked = await app.inject({ method: 'POST', url: '/auth/token', payload, headers: browser })
  t.same([asked.statusCode, asked.headers['access-control-allow-origin']], [200, origin])
  const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  const refused = await app.inject({ method: 'POST', url: '/auth/token', payload, headers: evil })
  t.same([refused.statusCode, refused.headers['access-control-allow-origin']], [403, undefined])
})

t.test('allows an unknown client only codes with PKCE and refresh tokens', async (t) => {
  const test = await world(t)
  const { client_id: id } = (
    await register(test, {
      redirect_uris: [AGENT],
      grant_types: ['authorization_code', 'password', 'client_credentials']
    })
  ).json()
  for (const payload of [
    { grant_type: 'password', username: 'ann', password: 'correct horse battery' },
    { grant_type: 'client_credentials' }
  ]) {
    const reply = await test.app.inject({ method: 'POST', url: '/auth/token', payload: { ...payload, client_id: id } })
    t.equal(reply.json().error, 'unauthorized_client')
  }
  const looked = await test.app.inject({
    method: 'POST',
    url: '/auth/introspect',
    payload: { token: 'x', client_id: id }
  })
  t.equal(looked.statusCode, 401)
  const { url } = await open(
    test.browser,
    requestOf(id, { code_challenge: undefined, code_challenge_method: undefined })
  )
  t.match(url, 'error=invalid_request', 'PKCE')
})

t.test('repeats the successor of a reused refresh token for 120 seconds, and ends the family after that', async (t) => {
  for (const [seconds, status] of [
    [1, 200],
    [30, 200],
    [90, 200],
    [121, 400]
  ] as const) {
    const test = await world(t)
    const { client_id: id } = (await register(test, BODIES['chatgpt']?.body ?? {})).json()
    const redirectUri = BODIES['chatgpt']?.redirectUri
    const { refresh_token: first } = await tokensFor(test, id, { redirect_uri: redirectUri })
    const winner = await refresh(test, id, first)
    test.clock.step(seconds * 1000)
    const replayed = await refresh(test, id, first)
    t.equal(replayed.status, status, `${seconds} s`)
    if (status === 200) t.equal(replayed.body.refresh_token, winner.body.refresh_token, 'the same successor')
    t.equal((await refresh(test, id, winner.body.refresh_token)).status, status)
  }
})

t.test('lists an unknown client on the account page, and revokes its access there', async (t) => {
  const test = await world(t)
  const { client_id: id } = (await register(test, BODIES['vscode']?.body ?? {})).json()
  t.ok(id.length > 255)
  const redirectUri = 'https://vscode.dev/redirect'
  const tokens = await tokensFor(test, id, { redirect_uri: redirectUri })
  const { reply } = await open(test.browser, '/auth/account/access')
  t.match(reply.body, 'Visual Studio Code')
  t.equal((await test.browser.submit(formAction(reply.body), { client: id })).statusCode, 303)
  t.same(await test.app.authority.consents(test.ann.sub), [])
  t.equal((await refresh(test, id, tokens.refresh_token)).status, 400)
})

t.test('accepts the authentication methods of a document, and rejects introspection by its client', async (t) => {
  const host = await documentHost(t)
  const test = await world(t)
  host.metadata = {
    ...host.metadata,
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    jwks: { keys: [publicJwk(KEY)] }
  }
  const proof = () => signed(assertionOf(test, { payload: { iss: host.url, sub: host.url } }))
  const tokens = await tokensFor(test, host.url)
  const asked = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, ...proof() }
  t.equal((await test.app.inject({ method: 'POST', url: '/auth/token', payload: asked })).statusCode, 200)
  host.metadata = { ...host.metadata, token_endpoint_auth_methods_supported: undefined }
  test.clock.step(301_000)
  await open(test.browser, requestOf(host.url))
  const bare = { grant_type: 'refresh_token', client_id: host.url, refresh_token: tokens.refresh_token }
  t.equal((await test.app.inject({ method: 'POST', url: '/auth/token', payload: bare })).statusCode, 401, 'keys alone')
  const payload = { token: tokens.access_token, ...proof() }
  t.equal((await test.app.inject({ method: 'POST', url: '/auth/introspect', payload })).statusCode, 401)
})
