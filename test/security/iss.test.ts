import t from '../support/tap.ts'
import { ISSUER, PASSWORD } from '../support/app.ts'
import { formAction, testBrowser } from '../support/browser.ts'
import { decodeJwt } from '../support/jwt.ts'
import { answerOf, authorizeAs, authorizePath, KEYS, CLIENTS, openidApp, redeem } from '../support/openid.ts'

const THIRD = { client_id: 'third', redirect_uri: 'https://third.example/cb' }

// covers R9207-2 R9207-2.3 R9700-4.4 OIDC-2
t.test('names the configured issuer in authorization responses, metadata and ID token', async (t) => {
  for (const issuer of [
    ISSUER,
    'https://auth.example',
    'https://auth.example/tenant',
    'https://auth.example:8443/a/b'
  ]) {
    const { app, close } = await openidApp({ issuer, keys: KEYS, clients: CLIENTS })
    t.teardown(close)
    const browser = testBrowser(app, issuer)
    const { pathname } = new URL(issuer)
    const found = (
      await Promise.all(
        [`${pathname.replace(/\/$/, '')}/.well-known/openid-configuration`, '/.well-known/openid-configuration'].map(
          async (url) =>
            await app.inject({
              url,
              headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' }
            })
        )
      )
    ).find(({ statusCode }) => statusCode === 200)
    const metadata = found?.json() as Record<string, unknown>
    t.equal(metadata['issuer'], issuer)
    t.equal(metadata['authorization_response_iss_parameter_supported'], true)
    t.notMatch(found?.body, 'evil.example')
    const success = await authorizeAs(browser, authorizePath())
    t.equal(success['iss'], issuer, 'success')
    const { id_token: idToken } = (await redeem(app, success['code'] ?? '')).json()
    t.equal(decodeJwt(idToken).claims['iss'], issuer, 'ID token')
    for (const [what, params] of [
      ['query', {}],
      ['fragment', { response_mode: 'fragment' }],
      ['error', { response_type: 'foo' }],
      ['error in a fragment', { response_type: 'token' }],
      ['silent error', { ...THIRD, prompt: 'none' }],
      ['without state', { state: undefined }],
      ['bad scope', { scope: '"' }],
      ['request object', { request: 'x' }]
    ] as Array<[string, Record<string, string | undefined>]>) {
      const location = String(
        (await browser.get(authorizePath(params), { host: 'evil.example', 'x-forwarded-host': 'evil.example' })).headers
          .location
      )
      t.equal(answerOf(location)['iss'], issuer, what)
      t.equal(location.split('iss=').length, 2, `${what}: once`)
    }
    for (const params of [{}, { response_type: 'foo' }]) {
      const { body } = await browser.get(authorizePath({ response_mode: 'form_post', ...params }))
      t.match(body, `name="iss" value="${issuer}"`, 'form post')
    }
  }
})

// covers R9207-2
t.test('names the issuer in the error response after a denied consent', async (t) => {
  const { browser, close } = await openidApp()
  t.teardown(close)
  const login = String((await browser.get(authorizePath(THIRD))).headers.location)
  const { reply } = await browser.follow(await browser.submit(login, { username: 'ann', password: PASSWORD }))
  const denied = await browser.submit(formAction(reply.body), { decision: 'deny' })
  const { error_description: description, ...rest } = answerOf(String(denied.headers.location))
  t.match(description, /./)
  t.same(rest, { error: 'access_denied', state: 'state-1', iss: ISSUER })
})

// covers R9207-2
t.test('ignores an iss parameter of the request', async (t) => {
  const { browser, close } = await openidApp()
  t.teardown(close)
  await authorizeAs(browser, authorizePath())
  const location = String(
    (await browser.get(`${authorizePath({ state: '&iss=https://evil.example' })}&iss=https%3A%2F%2Fevil.example`))
      .headers.location
  )
  t.same(new URL(location).searchParams.getAll('iss'), [ISSUER])
})

// covers R8414-2 R8414-3.2 R9700-2.1.1 R9700-2.6 ADV-GHSA-9h47-pqcx-hjr4
t.test('lists the supported features, no empty list and no algorithm none in the metadata', async (t) => {
  const { app, close } = await openidApp()
  t.teardown(close)
  const documents = await Promise.all(
    ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'].map(
      async (url) => await app.inject({ url })
    )
  )
  const [openid, oauth] = documents.map((reply) => reply.json() as Record<string, unknown>)
  for (const reply of documents)
    t.match(reply.headers, { 'content-type': /^application\/json/, 'access-control-allow-origin': '*' })
  t.match(openid, {
    issuer: ISSUER,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'fragment', 'form_post'],
    code_challenge_methods_supported: ['S256'],
    subject_types_supported: ['public'],
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    authorization_endpoint: `${ISSUER}/auth/authorize`,
    token_endpoint: `${ISSUER}/auth/token`,
    userinfo_endpoint: `${ISSUER}/auth/userinfo`,
    jwks_uri: `${ISSUER}/.well-known/jwks.json`,
    end_session_endpoint: `${ISSUER}/auth/logout`
  })
  for (const [name, value] of Object.entries(openid ?? {})) {
    t.notSame(value, [], `${name} is no empty list`)
    if (name.endsWith('_signing_alg_values_supported')) t.notOk((value as string[]).includes('none'), name)
    if (oauth !== undefined && name in oauth) t.same(oauth[name], value, `R9068-4 ${name} is the same in both`)
  }
  t.notOk('registration_endpoint' in (openid ?? {}))
})
