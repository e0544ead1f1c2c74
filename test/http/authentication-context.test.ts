import t, { type Test } from '../support/tap.ts'
import type { AuthorityOptions } from '../../lib/index.ts'
import { authAs, sessionAs } from '../../lib/testing/index.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'
import { type TestBrowser, testBrowser } from '../support/browser.ts'
import { decodeJwt } from '../support/jwt.ts'
import { answerOf, authorizeAs, authorizePath, basic, CLIENTS, KEYS, redeem, SECRET } from '../support/openid.ts'

/** An app whose own pages can sign Ann in with any `amr`. */
async function subjectOf(t: Test, options: Partial<AuthorityOptions> = {}) {
  const test = await testApp({ keys: KEYS, clients: CLIENTS, ...options }, {}, (app) => {
    app.post<{ Body: { sub: string; amr?: string[] } }>('/host/sign-in', async (request, reply) => {
      await app.authority.signIn(
        request,
        reply,
        request.body.sub,
        request.body.amr === undefined ? {} : { amr: request.body.amr }
      )
      return 'done'
    })
    app.get(
      '/host/me',
      {
        onRequest: async (request, reply) => {
          await app.authority.readSession(request, reply)
        }
      },
      async (request) => ({ session: request.authSession })
    )
  })
  t.teardown(test.close)
  const { app, clock } = test
  const ann = await signUp(app)
  const browser = testBrowser(app, ISSUER)
  /** Takes over the cookie that the host's own page sets. */
  const byHost = async (amr?: string[], on = browser): Promise<void> => {
    const cookie = [...on.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const reply = await app.inject({
      method: 'POST',
      url: '/host/sign-in',
      payload: { sub: ann.sub, ...(amr === undefined ? {} : { amr }) },
      headers: { cookie }
    })
    for (const one of [reply.headers['set-cookie'] ?? []].flat()) {
      const [name = '', value = ''] = (one.split(';')[0] ?? '').split('=')
      on.cookies.set(name, value)
    }
  }
  const said = ({ acr, amr, auth_time: at }: Record<string, unknown>): unknown[] => [acr, amr, at]
  /** The level and methods in the ID token, the access token, introspection of both tokens and the browser session. */
  const everywhere = async (
    path = authorizePath({ client_id: 'web', scope: 'openid offline_access' }),
    on: TestBrowser = browser
  ): Promise<unknown[][]> => {
    const { code = '' } = await authorizeAs(on, path)
    const tokens = (await redeem(app, code, { client_id: undefined }, basic('web', SECRET))).json()
    const inspect = async (token: string) =>
      (
        await app.inject({ method: 'POST', url: '/auth/introspect', headers: basic('web', SECRET), payload: { token } })
      ).json()
    const session = (await on.get('/host/me')).json().session
    const rows = [
      decodeJwt(tokens.id_token).claims,
      decodeJwt(tokens.access_token).claims,
      await inspect(tokens.access_token),
      await inspect(tokens.refresh_token)
    ]
    const refreshed = (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        headers: basic('web', SECRET),
        payload: { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
      })
    ).json()
    return [
      ...[...rows, decodeJwt(refreshed.id_token).claims, decodeJwt(refreshed.access_token).claims].map(said),
      [
        session.acr ?? undefined,
        session.amr.length === 0 ? undefined : session.amr,
        Date.parse(session.authenticatedAt) / 1000
      ]
    ]
  }
  return { ...test, ann, browser, byHost, everywhere, seconds: () => Math.floor(clock.now() / 1000) }
}
const alike = (said: unknown[]): unknown[][] => Array.from({ length: 7 }, () => said)

// covers ASVS-6.8.4
t.test('reports acr, amr and auth_time in tokens and session, and a new time after a new sign-in', async (t) => {
  const { clock, everywhere, seconds } = await subjectOf(t)
  const first = seconds()
  t.strictSame(await everywhere(), alike(['password', ['pwd'], first]))
  clock.step(60_000)
  t.strictSame(await everywhere(), alike(['password', ['pwd'], first]), 'single sign-on is no sign-in')
  t.strictSame(
    await everywhere(authorizePath({ client_id: 'web', scope: 'openid offline_access', prompt: 'login' })),
    alike(['password', ['pwd'], first + 60])
  )
  clock.step(30_000)
  t.strictSame(
    await everywhere(authorizePath({ client_id: 'web', scope: 'openid offline_access', max_age: '5' })),
    alike(['password', ['pwd'], first + 90])
  )
})

t.test('reports acr, amr and auth_time after a password grant, refresh and sign-up, but not for clients', async (t) => {
  const { app, clock, seconds, ...rest } = await subjectOf(t, {
    clients: [
      ...CLIENTS,
      { clientId: 'robot', clientSecret: SECRET, grantTypes: ['client_credentials'], scopes: ['read'] }
    ],
    scopes: ['openid', 'profile', 'email', 'offline_access', 'read']
  })
  const began = seconds()
  const tokens = await signIn(app)
  const expected = { acr: 'password', amr: ['pwd'], auth_time: began }
  t.match(decodeJwt(tokens.access_token).claims, expected)
  t.match((await app.inject({ url: '/me', headers: bearer(tokens.access_token) })).json(), expected, 'request.auth')
  clock.step(100_000)
  t.match(
    decodeJwt(
      (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(tokens.refresh_token) })).json()
        .access_token
    ).claims,
    expected
  )
  const own = decodeJwt(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        headers: basic('robot', SECRET),
        payload: { grant_type: 'client_credentials', scope: 'read' }
      })
    ).json().access_token
  ).claims
  for (const name of ['acr', 'amr', 'auth_time']) t.notOk(name in own, name)

  await rest.browser.submit('/auth/signup', { username: 'bob', password: `${PASSWORD} of Bob` })
  t.match((await rest.browser.get('/host/me')).json().session, {
    acr: 'password',
    amr: ['pwd'],
    authenticatedAt: new Date(clock.now()).toISOString()
  })
})

t.test('reports only the authentication methods that the host named at its own sign-in', async (t) => {
  const { app, ann, clock, byHost, everywhere, seconds } = await subjectOf(t)
  await byHost()
  t.strictSame(await everywhere(), alike([undefined, undefined, seconds()]))
  t.match((await app.inject({ url: '/host/me', headers: await sessionAs(app, { id: ann.sub }) })).json().session, {
    acr: null,
    amr: []
  })
  clock.step(10_000)
  await byHost(['face'])
  t.strictSame(await everywhere(), alike([undefined, ['face'], seconds()]))
  clock.step(10_000)
  await byHost(['pwd', 'otp'])
  t.strictSame(
    await everywhere(),
    alike(['password', ['pwd', 'otp'], seconds()]),
    'and no more is made of it than a password'
  )
  clock.step(10_000)
  await byHost(['pwd', 'otp', 'mfa'])
  t.strictSame(
    await everywhere(),
    alike(['mfa', ['pwd', 'otp', 'mfa'], seconds()]),
    'unless the host says that it saw two factors'
  )
  clock.step(10_000)
  await byHost()
  t.strictSame(
    await everywhere(),
    alike([undefined, undefined, seconds()]),
    'a new sign-in takes the place of the former'
  )

  const issued = async (amr?: readonly string[]) =>
    decodeJwt((await app.authority.issueTokens(ann.sub, { amr })).access_token).claims
  const none = await issued()
  for (const name of ['acr', 'amr']) t.notOk(name in none, name)
  t.match(await issued(['pwd']), { acr: 'password', amr: ['pwd'], auth_time: seconds() })
  for (const bad of ['pwd', [1], ['a b']]) {
    await t.rejects(app.authority.issueTokens(ann.sub, { amr: bad as never }), TypeError)
    await t.rejects(sessionAs(app, { id: ann.sub }, { amr: bad as never }), TypeError)
  }
  t.match((await app.inject({ url: '/me', headers: await authAs(app, { id: ann.sub }, { amr: ['pwd'] }) })).json(), {
    acr: 'password'
  })
})

t.test('ignores custom claims that would replace the authentication context', async (t) => {
  const forged = { acr: 'phr', amr: ['mfa'], auth_time: 1 }
  const { everywhere, seconds, byHost } = await subjectOf(t, { claims: () => forged })
  await byHost()
  t.strictSame(await everywhere(), alike([undefined, undefined, seconds()]))
})

// covers OIDC-5.5.1.1 SU-01 SU-02
t.test('asks for an available acr, rejects an unavailable one, and ignores unknown and voluntary ones', async (t) => {
  const { browser, byHost, clock, app } = await subjectOf(t)
  const silent = async (params: Record<string, string>) =>
    answerOf(String((await browser.get(authorizePath({ prompt: 'none', ...params }))).headers.location))
  const acrOf = async (code = '') => decodeJwt((await redeem(app, code)).json().id_token).claims['acr']
  const claims = (acr: object): string => JSON.stringify({ id_token: { acr } })
  const unmet = { error: 'unmet_authentication_requirements', state: 'state-1' }
  const never: Array<Record<string, string>> = [
    { acr_values: 'mfa' },
    { acr_values: 'phr mfa' },
    { acr_values: 'connection' },
    { acr_values: 'email 1' },
    { claims: claims({ essential: true, value: 'mfa' }) },
    { claims: claims({ essential: true, values: [1, null] }) },
    { claims: claims({ essential: true, values: [] }) },
    { claims: claims({ essential: true, value: 'mfa' }), acr_values: 'password' }
  ]
  const asked: Array<Record<string, string>> = [
    { acr_values: 'password' },
    { acr_values: 'phr mfa  password' },
    { claims: claims({ essential: true, values: ['mfa', 'password'] }) },
    { claims: claims({ essential: true, value: 'password' }), acr_values: 'mfa' }
  ]
  const wishes: Array<Record<string, string>> = [
    {},
    { acr_values: '1 2' },
    { acr_values: 'PASSWORD' },
    { claims: claims({ value: 'mfa' }) },
    { claims: claims({ values: ['mfa', 5] }) },
    { claims: claims({ essential: true }) },
    { claims: '{"id_token":{"acr":null}}' }
  ]
  for (const params of never) t.match(await silent(params), unmet, `nobody signed in: ${JSON.stringify(params)}`)
  for (const params of [...asked, ...wishes]) t.match(await silent(params), { error: 'login_required' })
  t.match(
    answerOf(String((await browser.get(authorizePath({ acr_values: 'mfa' }))).headers.location)),
    unmet,
    'without a page, and before a sign-in'
  )

  await byHost()
  for (const params of never) t.match(await silent(params), unmet)
  for (const params of asked) t.match(await silent(params), { error: 'login_required' }, JSON.stringify(params))
  for (const params of wishes) t.equal(await acrOf((await silent(params))['code']), undefined, JSON.stringify(params))
  clock.step(1000)
  const { url } = await browser.follow(await browser.get(authorizePath({ acr_values: 'password' })))
  t.match(url, /\/auth\/login\?/, 'the page asks for what is missing')
  t.equal(
    await acrOf((await authorizeAs(browser, authorizePath({ acr_values: 'password' })))['code']),
    'password',
    'and once is enough'
  )
  for (const params of never) t.match(await silent(params), unmet)
  for (const params of [...asked, ...wishes])
    t.equal(await acrOf((await silent(params))['code']), 'password', JSON.stringify(params))
})

t.test('answers a silent third-party request with consent_required before it checks the acr', async (t) => {
  const { browser, byHost } = await subjectOf(t)
  await byHost()
  const third = authorizePath({
    client_id: 'third',
    redirect_uri: 'https://third.example/cb',
    prompt: 'none',
    acr_values: 'password'
  })
  t.match(answerOf(String((await browser.get(third)).headers.location)), { error: 'consent_required' })
})

t.test('with a loginUrl, answers a session below the acr with unmet_authentication_requirements', async (t) => {
  const { app, browser, byHost } = await subjectOf(t, { pages: { loginUrl: '/sign-in' } })
  const path = authorizePath({ acr_values: 'password' })
  t.match((await browser.follow(await browser.get(path))).url, /\/sign-in\?return_to=/, 'nobody is signed in')
  await byHost()
  t.match(answerOf(String((await browser.get(path)).headers.location)), {
    error: 'unmet_authentication_requirements'
  })
  await byHost(['pwd'])
  const { code = '' } = answerOf(String((await browser.get(path)).headers.location))
  t.match(decodeJwt((await redeem(app, code)).json().id_token).claims, { acr: 'password', amr: ['pwd'] })
})
