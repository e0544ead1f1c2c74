import { admittedFor } from '../../support/admitted.ts'
import t from '../../support/tap.ts'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { publicDocuments } from '../../../lib/http/api/metadata.ts'
import { presentedTokens } from '../../../lib/http/api/presented-tokens.ts'
import { routes } from './routes.ts'
import { ISSUER, SECRET, world } from './world.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` })
const basic = (id: string, secret = SECRET): { authorization: string } => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
})

interface Answer {
  status: number
  body: Record<string, unknown>
  raw: string
  headers: Record<string, unknown>
}

async function send(app: FastifyInstance, options: InjectOptions): Promise<Answer> {
  const reply = await app.inject(options)
  return { status: reply.statusCode, body: reply.json(), raw: reply.body, headers: reply.headers }
}

// covers R6750-2 OIDF-oidcc-userinfo-get OIDF-oidcc-userinfo-post-header OIDF-oidcc-userinfo-post-body
t.test('userinfo accepts a token only in the header of a GET or POST, or in the form of a POST', async (t) => {
  const one = await world()
  const { app } = await routes(one, presentedTokens)
  t.teardown(async () => {
    await app.close()
  })
  const { accessToken, refreshToken } = await one.signIn({ scope: 'openid email' })
  const url = '/userinfo'
  const good: Record<string, InjectOptions> = {
    GET: { url, headers: bearer(accessToken) },
    POST: { method: 'POST', url, headers: bearer(accessToken) },
    'POST of an empty form': {
      method: 'POST',
      url,
      headers: { ...bearer(accessToken), ...FORM },
      payload: 'access_token='
    },
    'POST of a form': {
      method: 'POST',
      url,
      headers: { 'content-type': 'Application/X-WWW-Form-URLencoded; charset=utf-8' },
      payload: `access_token=${accessToken}`
    },
    'a query that means nothing': { url: `${url}?access_token=x`, headers: bearer(accessToken) },
    'JSON that means nothing': { method: 'POST', url, headers: bearer(accessToken), payload: { access_token: 'x' } }
  }
  for (const [name, request] of Object.entries(good)) {
    const { status, body, headers } = await send(app, request)
    t.equal(status, 200, name)
    t.strictSame(body, { sub: 'u1', email: 'ann@example.com', email_verified: true }, name)
    t.match(headers, { 'content-type': /^application\/json/, 'cache-control': 'no-store' }, name)
  }
  const { accessToken: narrow } = await one.signIn({ scope: 'email' })
  const missing = /^Bearer$/
  const invalid = /^Bearer error="invalid_token", error_description="[^"]+"$/
  const bad: Record<string, [InjectOptions, number, string, RegExp]> = {
    'no token': [{ url }, 401, 'invalid_token', missing],
    'R6750-2.3 ASVS-14.2.1 a token in the query': [
      { url: `${url}?access_token=${accessToken}` },
      401,
      'invalid_token',
      missing
    ],
    'a token in JSON': [{ method: 'POST', url, payload: { access_token: accessToken } }, 401, 'invalid_token', missing],
    'a token both ways': [
      { method: 'POST', url, headers: { ...bearer(accessToken), ...FORM }, payload: `access_token=${accessToken}` },
      400,
      'invalid_request',
      /^Bearer error="invalid_request"/
    ],
    'a malformed token in a form': [
      { method: 'POST', url, headers: FORM, payload: 'access_token=%22' },
      401,
      'invalid_token',
      invalid
    ],
    garbage: [{ url, headers: bearer('x.y.z') }, 401, 'invalid_token', invalid],
    'a refresh token': [{ url, headers: bearer(refreshToken) }, 401, 'invalid_token', invalid],
    'an ID token': [
      {
        url,
        headers: bearer(
          await one.idTokens.mint({
            user: { id: 'u1', username: 'ann', passwordHash: null },
            client: { clientId: 'spa' },
            scopes: [],
            authentication: { acr: null, amr: [], authenticatedAt: 0 },
            sid: null,
            accessToken
          })
        )
      },
      401,
      'invalid_token',
      invalid
    ],
    'R6750-3.1 a token without openid': [
      { url, headers: bearer(narrow) },
      403,
      'insufficient_scope',
      /^Bearer error="insufficient_scope", scope="openid"$/
    ]
  }
  for (const [name, [request, status, error, challenge]] of Object.entries(bad)) {
    const answer = await send(app, request)
    t.equal(answer.status, status, name)
    t.equal(answer.body['error'], error, name)
    t.match(answer.headers['www-authenticate'], challenge, name)
    t.equal(answer.headers['cache-control'], 'no-store', name)
  }
  const repeated = await send(app, {
    method: 'POST',
    url,
    headers: FORM,
    payload: `access_token=${accessToken}&access_token=${accessToken}`
  })
  t.match(repeated, { status: 400, body: { error: 'invalid_request' } })
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url,
        headers: { ...bearer(accessToken), 'content-type': 'text/plain' },
        payload: 'x'
      })
    ).statusCode,
    415
  )
})

// covers R7662-2.1
t.test('answers introspection only to a client with a secret, and counts failed attempts', async (t) => {
  const one = await world()
  const { app, failures } = await routes(one, presentedTokens)
  t.teardown(async () => {
    await app.close()
  })
  const { accessToken } = await one.signIn({ clientId: 'spa' })
  const ask = async (payload: object, headers: Record<string, string> = {}): Promise<Answer> =>
    await send(app, { method: 'POST', url: '/introspect', payload, headers })
  const refused: Array<[string, object, Record<string, string>, number, string]> = [
    ['nobody', {}, {}, 401, 'invalid_client'],
    ['a public client', { client_id: 'spa' }, {}, 401, 'invalid_client'],
    ['no secret', { client_id: 'own' }, {}, 401, 'invalid_client'],
    ['a wrong secret', { client_id: 'own', client_secret: 'x' }, {}, 401, 'invalid_client'],
    ['a wrong secret by Basic', {}, basic('own', 'x'), 401, 'invalid_client'],
    ['an unknown client', {}, basic('nobody'), 401, 'invalid_client'],
    ['an access token', {}, bearer(accessToken), 401, 'invalid_client'],
    ['two ways at once', { client_id: 'own', client_secret: SECRET }, basic('own'), 400, 'invalid_request']
  ]
  for (const [name, payload, headers, status, error] of refused) {
    const answer = await ask({ token: accessToken, ...payload }, headers)
    t.match(answer, { status, body: { error } }, name)
    t.equal(answer.headers['cache-control'], 'no-store', name)
  }
  t.match((await ask({ token: 'x' })).headers['www-authenticate'], /^Basic/)
  t.strictSame(
    failures,
    [...refused, 'x'].map(() => 'refresh')
  )
  for (const payload of [{}, { token: '' }, { token: ['x'] }])
    t.match(await ask(payload, basic('own')), { status: 400, body: { error: 'invalid_request' } })

  failures.length = 0
  for (const answer of [
    await ask({ token: accessToken }, basic('own')),
    await ask({ token: accessToken, client_id: 'own', client_secret: SECRET, token_type_hint: 'refresh_token' })
  ]) {
    t.match(answer, {
      status: 200,
      body: { active: true, sub: 'u1', client_id: 'spa' },
      headers: { 'cache-control': 'no-store', 'content-type': /^application\/json/ }
    })
  }
  t.match(
    await send(app, {
      method: 'POST',
      url: '/introspect',
      headers: { ...basic('own'), ...FORM },
      payload: `token=${accessToken}`
    }),
    { status: 200, body: { active: true } }
  )
  t.equal(
    (
      await send(app, {
        method: 'POST',
        url: '/introspect',
        headers: { ...basic('own'), ...FORM },
        payload: `token=${accessToken}&token=x`
      })
    ).status,
    400
  )
  for (const token of ['x', 'x'.repeat(9000), 'ü'])
    t.equal((await ask({ token }, basic('own'))).raw, '{"active":false}')
  t.equal((await ask({ token: accessToken }, basic('other'))).raw, '{"active":false}', 'R7662-2.2 to the byte')
  t.strictSame(failures, [], 'a flood of bad tokens at an API must not lock the API out here')
})

t.test('R7662 omits the members that a client token lacks, instead of returning null', async (t) => {
  const one = await world()
  const { app } = await routes(one, presentedTokens)
  t.teardown(async () => {
    await app.close()
  })
  const { body } = await send(app, {
    method: 'POST',
    url: '/introspect',
    headers: basic('own'),
    payload: { token: one.accessTokens.mint({ sub: 'own', client_id: 'own', scopes: admittedFor('read') }) }
  })
  t.strictSame(Object.keys(body), [
    'active',
    'scope',
    'client_id',
    'sub',
    'aud',
    'iss',
    'exp',
    'iat',
    'jti',
    'token_type'
  ])
})

// covers R9068-4
t.test('serves the same document at both metadata paths, with URLs of the issuer', async (t) => {
  const one = await world()
  const { app } = await routes(one, publicDocuments)
  t.teardown(async () => {
    await app.close()
  })
  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' }
  const [oauth, openid] = [
    await send(app, { url: '/metadata', headers }),
    await send(app, { url: '/openidConfiguration', headers })
  ]
  t.strictSame(openid.body, oauth.body)
  t.match(openid, {
    status: 200,
    headers: { 'cache-control': 'public, max-age=300', 'content-type': /^application\/json/ },
    body: {
      issuer: ISSUER,
      authorization_endpoint: `${ISSUER}/authorize`,
      end_session_endpoint: `${ISSUER}/logout`,
      jwks_uri: `${ISSUER}/jwks`,
      id_token_signing_alg_values_supported: ['ES256', 'RS256']
    }
  })
  t.notMatch(openid.raw, /evil/)
})

// covers OIDC-10.1.1
t.test(
  'waits for a key of each algorithm before it serves the key set, and forbids caching if one is missing',
  async (t) => {
    const asked: unknown[] = []
    let broken = false
    const one = await world({
      ring: (ring) => ({
        ...ring,
        async ready(alg) {
          asked.push(alg)
          if (broken && alg === 'RS256') throw new Error('no entropy')
        }
      })
    })
    const { app } = await routes(one, publicDocuments)
    t.teardown(async () => {
      await app.close()
    })
    const { headers, body, raw } = await send(app, { url: '/jwks' })
    t.strictSame(asked.toSorted(), ['ES256', 'RS256'])
    t.equal(headers['cache-control'], 'public, max-age=300')
    t.strictSame(
      (body['keys'] as Array<{ alg: string }>).map(({ alg }) => alg),
      ['ES256', 'RS256']
    )
    t.notMatch(raw, /"(?:d|p|q|dp|dq|qi|k)":/, 'no private half')
    broken = true
    t.match(await send(app, { url: '/jwks' }), { status: 200, headers: { 'cache-control': 'no-store' } })
  }
)
