import t from '../support/tap.ts'
import {
  authorizeAs,
  authorizePath,
  basic,
  CALLBACK,
  CLIENTS,
  type CodeTokens,
  openidApp,
  type OpenidApp,
  redeem,
  SECRET,
  suitePath,
  tokensOf
} from '../support/openid.ts'
import type { AuthorityOptions, Client } from '../../lib/index.ts'
import type { LightMyRequestResponse } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { decodeJwt } from '../support/jwt.ts'

const OFFLINE = { scope: 'openid profile email offline_access', nonce: 'nonce-1' }

async function refresh(
  { app }: Pick<OpenidApp, 'app'>,
  token: string | undefined,
  params: Record<string, string | undefined> = {},
  headers: Record<string, string> = {}
): Promise<LightMyRequestResponse> {
  return await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers,
    payload: { grant_type: 'refresh_token', refresh_token: token, client_id: 'spa', ...params }
  })
}

// covers OIDC-12.1 OIDC-12.2 OIDF-oidcc-refresh-token
t.test('keeps auth_time and drops the nonce in the ID token of a refresh', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { browser, clock } = subject
  await authorizeAs(browser, authorizePath())
  clock.step(100_000)
  const first = await tokensOf(subject, OFFLINE)
  const before = decodeJwt(first.id_token ?? '').claims
  t.match(before, { nonce: 'nonce-1', auth_time: Number(before['iat']) - 100 })
  let token = first.refresh_token
  for (const step of [0, 1000, 86_400_000]) {
    clock.step(step)
    const reply = await refresh(subject, token)
    t.match(reply.headers, {
      'cache-control': 'no-store',
      pragma: 'no-cache',
      'content-type': 'application/json; charset=utf-8'
    })
    const next: CodeTokens = reply.json()
    const { claims, header } = decodeJwt(next.id_token ?? '')
    for (const name of ['iss', 'sub', 'aud', 'auth_time', 'sid', 'acr', 'amr'])
      t.strictSame(claims[name], before[name], name)
    t.notOk('nonce' in claims || 'azp' in claims)
    t.equal(claims['iat'], Math.floor(clock.now() / 1000))
    t.equal(claims['exp'], Number(claims['iat']) + 900)
    t.equal(header['alg'], 'RS256')
    t.equal(next.scope, OFFLINE.scope)
    t.not(next.refresh_token, token, 'rotated')
    t.equal(decodeJwt(next.access_token).claims['auth_time'], before['auth_time'])
    token = next.refresh_token
  }
})

// covers R6749-6 R9700-2.2.2 R6749-3.3
t.test('narrows the scope at a refresh on request, and rejects a wider one with invalid_scope', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const first = await tokensOf(subject, { scope: 'openid email offline_access' })
  let token = first.refresh_token
  const rows: Array<[scope: string, granted: string | null]> = [
    ['email openid', 'openid email'],
    ['email', 'email'],
    ['openid email offline_access', 'openid email offline_access'],
    ['openid profile', null],
    ['profile', null],
    ['openid admin', null],
    ['OPENID', null],
    ['a"b', null],
    ['', 'openid email offline_access']
  ]
  for (const [scope, granted] of rows) {
    const reply = await refresh(subject, token, { scope })
    t.equal(reply.statusCode, granted === null ? 400 : 200, scope)
    if (granted === null) {
      t.equal(reply.json().error, 'invalid_scope', scope)
      continue
    }
    const next: CodeTokens = reply.json()
    t.equal(next.scope, granted, scope)
    t.equal(decodeJwt(next.access_token).claims['scope'], granted)
    t.equal('id_token' in next, granted.includes('openid'), 'an ID token only with openid')
    token = next.refresh_token
  }
  t.equal(
    (await refresh(subject, token, { aud: 'https://evil.example' })).statusCode,
    200,
    'unknown parameters are ignored'
  )
})

// covers R6749-6 R6749-3.2.1 ADV-CVE-2026-53512 OIDC-12.1
t.test('accepts a refresh token only from its own, authenticated client', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app, browser } = subject
  const { code = '' } = await authorizeAs(browser, authorizePath({ client_id: 'web', ...OFFLINE }))
  const { refresh_token: token }: CodeTokens = (
    await redeem(app, code, { client_id: undefined }, basic('web', SECRET))
  ).json()
  const rows: Array<
    [what: string, params: Record<string, string | undefined>, headers: Record<string, string>, error: string]
  > = [
    ['without secret', { client_id: 'web' }, {}, 'invalid_client'],
    ['with a wrong one', { client_id: 'web', client_secret: 'x' }, {}, 'invalid_client'],
    ['a wrong Basic', { client_id: undefined }, basic('web', 'x'), 'invalid_client'],
    ['two ways', { client_id: 'web', client_secret: SECRET }, basic('web', SECRET), 'invalid_request'],
    ['a public client', {}, {}, 'invalid_grant'],
    ['another confidential one', { client_id: 'suite', client_secret: SECRET }, {}, 'invalid_grant'],
    ['no client', { client_id: undefined }, {}, 'invalid_grant'],
    ['a public client with a secret', { client_secret: SECRET }, {}, 'invalid_client']
  ]
  for (const [what, params, headers, error] of rows) {
    const reply = await refresh(subject, token, params, headers)
    t.equal(reply.json().error, error, what)
    t.equal(reply.statusCode, error === 'invalid_client' ? 401 : 400, what)
  }
  t.equal(
    (await refresh(subject, token, { client_id: undefined }, basic('web', SECRET))).statusCode,
    200,
    'none of which cost it'
  )
})

// covers OIDC-11 R9700-2.2.2
t.test('issues a refresh token for offline_access if the client may have one', async (t) => {
  const clients: Client[] = [
    ...CLIENTS,
    { clientId: 'no-refresh', grantTypes: ['authorization_code'], redirectUris: [CALLBACK] },
    { clientId: 'no-offline', scopes: ['openid'], redirectUris: [CALLBACK] }
  ]
  const subject = await openidApp({ clients })
  t.teardown(subject.close)
  const { app, browser } = subject
  for (const [clientId, scope, granted, offline] of [
    ['spa', 'openid offline_access', 'openid offline_access', true],
    ['spa', 'openid', 'openid', false],
    ['no-refresh', 'openid offline_access', 'openid', false],
    ['no-offline', 'openid offline_access email', 'openid', false]
  ] as const) {
    const { code = '' } = await authorizeAs(browser, authorizePath({ client_id: clientId, scope }))
    const tokens: CodeTokens = (await redeem(app, code, { client_id: clientId })).json()
    t.equal(tokens.scope, granted, clientId)
    t.equal('refresh_token' in tokens, offline, clientId)
  }
  const THIRD = { client_id: 'third', redirect_uri: 'https://third.example/cb', scope: 'openid offline_access' }
  const consent = async (params: Record<string, string>): Promise<CodeTokens> => {
    const { url } = await browser.follow(await browser.get(authorizePath({ ...THIRD, ...params })))
    t.match(url, '/auth/consent?')
    const page = await browser.get(url)
    const done = await browser.follow(
      await browser.submit(/action="([^"]*)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? '', {
        decision: 'allow'
      })
    )
    const code = new URL(done.url).searchParams.get('code') ?? ''
    return (
      await redeem(app, code, { client_id: 'third', client_secret: SECRET, redirect_uri: THIRD.redirect_uri })
    ).json()
  }
  const without = await consent({})
  t.equal(without.scope, 'openid offline_access', 'L6 the page asked for it')
  t.ok(without.refresh_token)
  const asked = await consent({ prompt: 'consent' })
  t.equal(asked.scope, 'openid offline_access')
  t.ok(asked.refresh_token)
})

// covers OIDC-3.1.2.1
t.test('issues no ID token without the scope openid', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const tokens = await tokensOf(subject, { scope: 'profile offline_access' })
  t.notOk('id_token' in tokens)
  t.equal(tokens.scope, 'profile offline_access')
  const next: CodeTokens = (await refresh(subject, tokens.refresh_token)).json()
  t.notOk('id_token' in next)
  const userinfo = await subject.app.inject({
    url: '/auth/userinfo',
    headers: { authorization: `Bearer ${tokens.access_token}` }
  })
  t.equal(userinfo.statusCode, 403)
})

// covers OIDC-3.1.3.3 R6749-5.1 R6749-3.3 OIDF-oidcc-server
t.test('returns the documented fields and headers for a redeemed code', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { code = '' } = await authorizeAs(subject.browser, suitePath({ scope: 'openid nonsense email' }))
  for (const [headers, params] of [[basic('suite', SECRET), { client_id: undefined }]] as const) {
    const reply = await redeem(subject.app, code, { ...params, code_verifier: undefined }, headers)
    t.equal(reply.statusCode, 200)
    t.match(reply.headers, {
      'cache-control': 'no-store',
      pragma: 'no-cache',
      'content-type': 'application/json; charset=utf-8'
    })
    t.match(reply.json(), {
      token_type: 'Bearer',
      expires_in: 900,
      scope: 'openid email',
      access_token: /^[\w-]+\.[\w-]+\.[\w-]+$/,
      id_token: /^[\w-]+\.[\w-]+\.[\w-]+$/
    })
    t.same(Object.keys(reply.json()).sort(), ['access_token', 'expires_in', 'id_token', 'scope', 'token_type'])
  }
  const { code: json = '' } = await authorizeAs(subject.browser, authorizePath())
  const asJson = await subject.app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: {
      grant_type: 'authorization_code',
      client_id: 'spa',
      code: json,
      redirect_uri: CALLBACK,
      code_verifier: 'a-verifier-of-at-least-43-characters-for-all-the-tests'
    }
  })
  t.equal(asJson.statusCode, 200, 'JSON is the same')
})

// covers R9700-2.1.2 R9700-4.2.4
t.test('returns only an opaque code, iss and state through the browser', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const answer = await authorizeAs(subject.browser, authorizePath(OFFLINE))
  t.same(Object.keys(answer).sort(), ['code', 'iss', 'state'])
  t.notOk((answer['code'] ?? '').includes(subject.ann.sub))
  t.throws(() => decodeJwt(answer['code'] ?? ''))
})

// covers R9700-4.14.2 ASVS-10.4.8 ASVS-7.3.2 R9700-2.2.2
t.test('rejects a refresh token after its idle timeout, after its lifetime and after a replay', async (t) => {
  const day = 86_400_000
  const policy: Partial<AuthorityOptions> = {
    refreshToken: { expiresIn: 10 * 86_400, idleTimeout: 2 * 86_400, reuseGraceSeconds: 0 }
  }
  const subject = await openidApp(policy)
  t.teardown(subject.close)
  const start = async (): Promise<string | undefined> =>
    (await tokensOf({ app: subject.app, browser: testBrowser(subject.app) }, OFFLINE)).refresh_token
  let token = await start()
  subject.clock.step(2 * day)
  t.equal((await refresh(subject, token)).json().error, 'invalid_grant', 'idle')
  token = await start()
  for (let days = 0; days < 9; days++) {
    subject.clock.step(day)
    token = (await refresh(subject, token)).json().refresh_token
    t.ok(token, `day ${days}`)
  }
  subject.clock.step(day - 1)
  token = (await refresh(subject, token)).json().refresh_token
  t.ok(token)
  subject.clock.step(1)
  t.equal((await refresh(subject, token)).json().error, 'invalid_grant', 'no use moves the end')
  const old = await start()
  const newest = (await refresh(subject, old)).json().refresh_token as string
  subject.clock.step(1)
  t.equal((await refresh(subject, old)).json().error, 'invalid_grant', 'a replay')
  t.equal((await refresh(subject, newest)).json().error, 'invalid_grant', 'ends the newest too')
})
