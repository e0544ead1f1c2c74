import t from '../support/tap.ts'
import { type Client, memoryUserStore } from '../../lib/index.ts'
import { bearer, ISSUER, type LightMyRequestResponse } from '../support/app.ts'
import { decodeJwt } from '../support/jwt.ts'
import {
  authorizeAs,
  authorizePath,
  basic,
  CLIENTS,
  KEYS,
  openidApp,
  type OpenidApp,
  redeem,
  SECRET,
  tokensOf
} from '../support/openid.ts'
import { forgedJwt } from './support/forged-jwt.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const MACHINE: Client = {
  clientId: 'machine',
  clientSecret: SECRET,
  grantTypes: ['client_credentials'],
  scopes: ['api']
}
const SCOPES = ['openid', 'profile', 'email', 'offline_access', 'api']

/** The form of a Bearer challenge. Its quoted values contain no characters that end the string. */
const CHALLENGE = /^Bearer(?: [a-z_]+="[\x20\x21\x23-\x5b\x5d-\x7e]*"(?:, [a-z_]+="[\x20\x21\x23-\x5b\x5d-\x7e]*")*)?$/

async function ownToken({ app }: Pick<OpenidApp, 'app'>): Promise<string> {
  return (
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      headers: basic('machine', SECRET),
      payload: { grant_type: 'client_credentials' }
    })
  ).json().access_token as string
}

// covers R6750-3 R6750-3.1 R6750-2 R6750-2.2 R6750-2.3 R9700-4.3.2 OIDC-5.3.3 ASVS-14.2.1
t.test('accepts only suitable access tokens at userinfo, and explains refusals in the challenge', async (t) => {
  const subject = await openidApp({ clients: [...CLIENTS, MACHINE], scopes: SCOPES })
  t.teardown(subject.close)
  const { app } = subject
  const {
    access_token: good,
    id_token: idToken = '',
    refresh_token: refresh = ''
  } = await tokensOf(subject, { scope: 'openid offline_access' })
  const { access_token: noOpenid } = await tokensOf(subject, { scope: 'profile' })
  const { header, claims } = decodeJwt(good)
  const es = KEYS[0] ?? null
  const form = (token: string): string => new URLSearchParams({ access_token: token }).toString()
  type Row = [
    what: string,
    request: { method?: 'GET' | 'POST'; url?: string; headers?: Record<string, string>; payload?: string },
    status: number,
    error?: string
  ]
  const withToken = (token: string): { headers: Record<string, string> } => ({ headers: bearer(token) })
  const rows: Row[] = [
    ['GET with header', withToken(good), 200],
    ['POST with header', { method: 'POST', ...withToken(good) }, 200],
    ['POST with header and an empty form', { method: 'POST', headers: { ...bearer(good), ...FORM }, payload: '' }, 200],
    ['POST with form', { method: 'POST', headers: FORM, payload: form(good) }, 200],
    [
      'POST with a form with charset',
      {
        method: 'POST',
        headers: { 'content-type': 'Application/X-WWW-Form-Urlencoded; charset=UTF-8' },
        payload: form(good)
      },
      200
    ],
    ['lower case scheme', { headers: { authorization: `bearer ${good}` } }, 200],
    ['nothing', {}, 401],
    ['POST with nothing', { method: 'POST' }, 401],
    ['another scheme', { headers: basic('web', SECRET) }, 401],
    ['query', { url: `/auth/userinfo?access_token=${good}` }, 401],
    ['query of a POST', { method: 'POST', url: `/auth/userinfo?access_token=${good}` }, 401],
    ['cookie', { headers: { cookie: `access_token=${good}` } }, 401],
    [
      'JSON body',
      {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        payload: JSON.stringify({ access_token: good })
      },
      401
    ],
    ['form body with GET', { method: 'GET', headers: FORM, payload: form(good) }, 401],
    [
      'header and form',
      { method: 'POST', headers: { ...bearer(good), ...FORM }, payload: form(good) },
      400,
      'invalid_request'
    ],
    ['form twice', { method: 'POST', headers: FORM, payload: `${form(good)}&${form(good)}` }, 400, 'invalid_request'],
    [
      'header and another in the form',
      { method: 'POST', headers: { ...bearer(good), ...FORM }, payload: form('x') },
      400,
      'invalid_request'
    ],
    ['no openid', withToken(noOpenid), 403, 'insufficient_scope'],
    ["a client's own", withToken(await ownToken(subject)), 403, 'insufficient_scope'],
    ['an ID token', withToken(idToken), 401, 'invalid_token'],
    ['a refresh token', withToken(refresh), 401, 'invalid_token'],
    ['garbage', withToken('garbage'), 401, 'invalid_token'],
    ['garbage in the form', { method: 'POST', headers: FORM, payload: form('"><x>') }, 401, 'invalid_token'],
    ['too long', withToken('a'.repeat(8193)), 401, 'invalid_token'],
    ...(
      [
        ['alg none', forgedJwt(null, { ...header, alg: 'none' }, claims)],
        ['a foreign issuer', forgedJwt(es, header, { ...claims, iss: 'https://evil.example' })],
        ['another audience', forgedJwt(es, header, { ...claims, aud: 'https://api.example' })],
        ['typ JWT', forgedJwt(es, { ...header, typ: 'JWT' }, claims)],
        ['no typ', forgedJwt(es, { alg: 'ES256', kid: 'es' }, claims)],
        ['expired', forgedJwt(es, header, { ...claims, exp: claims['iat'] })],
        ['no exp', forgedJwt(es, header, { ...claims, exp: undefined })],
        ['no session', forgedJwt(es, header, { ...claims, sid: undefined })],
        ["another's session", forgedJwt(es, header, { ...claims, sub: 'other' })],
        ['unknown crit', forgedJwt(es, { ...header, crit: ['x'] }, claims)],
        ['edited', good.slice(0, -6) + 'AAAAAA']
      ] as const
    ).map(([what, token]): Row => [what, withToken(token), 401, 'invalid_token'])
  ]
  for (const [what, request, status, error] of rows) {
    const reply = await app.inject({ url: '/auth/userinfo', ...request })
    t.equal(reply.statusCode, status, what)
    t.match(reply.headers, { 'cache-control': 'no-store', 'content-type': 'application/json; charset=utf-8' }, what)
    const challenge = reply.headers['www-authenticate']
    if (status === 200) {
      t.equal(reply.json().sub, subject.ann.sub, what)
      t.equal(challenge, undefined, what)
      continue
    }
    t.notOk('sub' in reply.json(), what)
    if (what === 'form twice') continue
    t.match(challenge, CHALLENGE, what)
    t.equal(/error="([^"]*)"/.exec(String(challenge))?.[1], error, `${what}: ${String(challenge)}`)
    if (error === 'insufficient_scope') t.match(challenge, 'scope="openid"')
    if (error !== undefined) t.equal(reply.json().error, error, what)
  }
})

// covers ASVS-14.2.5
t.test('answers 404 to file names below userinfo', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { access_token: token } = await tokensOf(subject)
  for (const url of [
    '/auth/userinfo/x.css',
    '/auth/userinfo%2fx.css',
    '/auth/userinfo;x.css',
    '/auth/userinfo.css',
    '/auth/userinfo%00.css',
    '/auth/userinfo/'
  ])
    t.equal((await subject.app.inject({ url, headers: bearer(token) })).statusCode, 404, url)
})

const ask = async (
  { app }: Pick<OpenidApp, 'app'>,
  token: string,
  client: [string, string] = ['web', SECRET],
  more: Record<string, unknown> = {}
): Promise<LightMyRequestResponse> =>
  await app.inject({ method: 'POST', url: '/auth/introspect', headers: basic(...client), payload: { token, ...more } })

// covers R7662-2.1 ASVS-10.4.10
t.test('accepts introspection from authenticated clients by POST only', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app } = subject
  const { access_token: token } = await tokensOf(subject)
  const rows: Array<[what: string, headers: Record<string, string>, payload: Record<string, unknown>, error: string]> =
    [
      ['nobody', {}, {}, 'invalid_client'],
      ['a public client', {}, { client_id: 'spa' }, 'invalid_client'],
      ['a public client with a secret', {}, { client_id: 'spa', client_secret: SECRET }, 'invalid_client'],
      ['without secret', {}, { client_id: 'web' }, 'invalid_client'],
      ['wrong secret', basic('web', 'x'), {}, 'invalid_client'],
      ['unknown', basic('other', SECRET), {}, 'invalid_client'],
      ['the token itself', bearer(token), {}, 'invalid_client'],
      ['two ways', basic('web', SECRET), { client_id: 'web', client_secret: SECRET }, 'invalid_request']
    ]
  for (const [what, headers, payload, error] of rows) {
    for (const value of [token, 'garbage']) {
      const reply = await app.inject({
        method: 'POST',
        url: '/auth/introspect',
        headers,
        payload: { token: value, ...payload }
      })
      t.equal(reply.statusCode, error === 'invalid_client' ? 401 : 400, what)
      t.same([reply.json().error, 'active' in reply.json()], [error, false], what)
    }
  }
  t.equal(
    (await app.inject({ method: 'GET', url: `/auth/introspect?token=${token}`, headers: basic('web', SECRET) }))
      .statusCode,
    405
  )
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: `/auth/introspect?token=${token}`,
        headers: { ...basic('web', SECRET), ...FORM },
        payload: ''
      })
    ).statusCode,
    400,
    'a token in the query is none'
  )
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/introspect',
        headers: { ...basic('web', SECRET), ...FORM },
        payload: `token=${token}&token=x`
      })
    ).statusCode,
    400
  )
  for (const value of [undefined, '', null, 1, {}, ['a']])
    t.equal(
      (
        await app.inject({
          method: 'POST',
          url: '/auth/introspect',
          headers: basic('web', SECRET),
          payload: { token: value }
        })
      ).statusCode,
      400,
      JSON.stringify(value)
    )
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/introspect',
        headers: { ...basic('web', SECRET), 'content-type': 'text/plain' },
        payload: token
      })
    ).statusCode,
    415
  )
})

// covers R7662-2.2 R7662-4 R7662-5 ADV-CVE-2026-37979 ADV-CVE-2026-8922
t.test('answers only active: false for inactive and foreign tokens', async (t) => {
  const subject = await openidApp({ clients: [...CLIENTS, MACHINE], scopes: SCOPES })
  const apart = await openidApp()
  t.teardown(subject.close)
  t.teardown(apart.close)
  const { app, browser, clock } = subject
  const {
    access_token: token,
    refresh_token: refresh = '',
    id_token: idToken = ''
  } = await tokensOf(subject, { scope: 'openid email offline_access' })
  const { code: webCode = '' } = await authorizeAs(
    browser,
    authorizePath({ client_id: 'web', scope: 'openid offline_access' })
  )
  const ofWeb = (await redeem(app, webCode, { client_id: 'web', client_secret: SECRET })).json()
  const { header, claims } = decodeJwt(token)
  const es = KEYS[0] ?? null
  const active = await ask(subject, token)
  t.match(active.headers, { 'cache-control': 'no-store' })
  t.strictSame(
    active.json(),
    {
      active: true,
      scope: 'openid email offline_access',
      client_id: 'spa',
      sub: subject.ann.sub,
      aud: ISSUER,
      iss: ISSUER,
      exp: claims['exp'],
      iat: claims['iat'],
      jti: claims['jti'],
      token_type: 'Bearer',
      auth_time: claims['auth_time'],
      acr: 'password',
      amr: ['pwd'],
      sid: claims['sid']
    },
    'and nothing about the person'
  )
  t.match(
    (await ask(subject, ofWeb.refresh_token)).json(),
    { active: true, client_id: 'web', token_type: undefined },
    'its own refresh token'
  )
  for (const hint of ['access_token', 'refresh_token', 'nonsense', 'id_token'])
    t.equal((await ask(subject, token, undefined, { token_type_hint: hint })).json().active, true, hint)
  const { code = '' } = await authorizeAs(browser, authorizePath())
  const rows: Array<[string, string, [string, string]?]> = [
    ['garbage', 'garbage'],
    ['dots', '..'],
    ['8 kB and more', 'a'.repeat(9000)],
    ['an ID token', idToken],
    ['a code', code],
    ['the cookie', [...browser.cookies.values()][0] ?? ''],
    ["another client's refresh token", refresh],
    ["another client's refresh token, by a third party", refresh, ['third', SECRET]],
    ['a token for the host, by a third party', token, ['third', SECRET]],
    ['another audience', forgedJwt(es, header, { ...claims, aud: 'https://api.example' })],
    ['another issuer', forgedJwt(es, header, { ...claims, iss: 'https://evil.example' })],
    ['not yet', forgedJwt(es, header, { ...claims, nbf: Number(claims['exp']) })],
    ["another's session", forgedJwt(es, header, { ...claims, sub: 'x' })],
    ["a foreign service's", (await tokensOf(apart)).access_token.replace(/\.[^.]*$/, '.AAAA')],
    ['padding', `${token}=`],
    ['a line break', `${token}\n`],
    ['a space', ` ${token}`]
  ]
  const bodies = new Set<string>()
  for (const [what, value, client] of rows) {
    const reply = await ask(subject, value, client)
    t.equal(reply.statusCode, 200, what)
    t.strictSame(reply.json(), { active: false }, what)
    t.notOk('www-authenticate' in reply.headers)
    bodies.add(reply.body)
  }
  t.same([...bodies], ['{"active":false}'])
  clock.step(900_000)
  t.strictSame((await ask(subject, token)).json(), { active: false }, 'expired')
})

/** Decoders ignore some bits of the last character of a signature. */
const secondSpelling = (token: string): string =>
  `${token.slice(0, -1)}${String.fromCodePoint((token.codePointAt(token.length - 1) ?? 0) + 1)}`

// covers R7009-2.1 R7009-2.2 ADV-CVE-2026-27840 ADV-CVE-2016-6582
t.test('rejects a revoked token at introspection and userinfo for each token_type_hint', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app } = subject
  const revoke = async (
    token: string,
    params: Record<string, string> = { client_id: 'spa' },
    headers: Record<string, string> = {}
  ): Promise<LightMyRequestResponse> =>
    await app.inject({ method: 'POST', url: '/auth/revoke', headers, payload: { token, ...params } })
  const works = async (token: string): Promise<boolean[]> => [
    (await app.inject({ url: '/auth/userinfo', headers: bearer(token) })).statusCode === 200,
    (await ask(subject, token)).json().active as boolean
  ]
  for (const kind of ['access_token', 'refresh_token'] as const) {
    for (const hint of ['access_token', 'refresh_token', 'nonsense']) {
      const tokens = await tokensOf(subject, { scope: 'openid offline_access' })
      const presented = tokens[kind] ?? ''
      for (const [what, params, headers] of [
        ['another client', {}, basic('web', SECRET)],
        ['no client', {}, {}]
      ] as const) {
        const refused = await revoke(presented, { token_type_hint: hint, ...params }, headers)
        t.match([refused.statusCode, refused.json()], [400, { error: 'unauthorized_client' }], `${kind}: ${what}`)
      }
      t.same(await works(tokens.access_token), [true, true], 'alive still')
      const reply = await revoke(presented, { client_id: 'spa', token_type_hint: hint })
      t.strictSame([reply.statusCode, reply.json()], [200, {}])
      t.same(await works(tokens.access_token), [false, false], `${kind} with the hint ${hint}`)
      t.same(
        await works(secondSpelling(tokens.access_token)),
        [false, false],
        'ADV-CVE-2026-27840 nor does a second spelling of it work'
      )
      t.strictSame((await revoke(presented)).json(), {}, 'once more is no error')
    }
  }
  for (const garbage of ['garbage', '..', 'a.b', 'a'.repeat(9000)])
    t.equal((await revoke(garbage)).statusCode, 200, garbage.slice(0, 10))
})

// covers ADV-GHSA-2vg6-77g8-24mp ASVS-7.4.2
t.test('rejects the tokens of a deleted user at userinfo and introspection', async (t) => {
  const users = memoryUserStore()
  let gone = false
  const subject = await openidApp({
    users: { ...users, findById: async (id) => (gone ? null : await users.findById(id)) }
  })
  t.teardown(subject.close)
  const { access_token: token } = await tokensOf(subject)
  gone = true
  t.equal((await subject.app.inject({ url: '/auth/userinfo', headers: bearer(token) })).json().error, 'invalid_token')
  t.strictSame((await ask(subject, token)).json(), { active: false })
  t.match(await authorizeAs(subject.browser, authorizePath({ prompt: 'none' })), { error: 'login_required' })
})
