/**
 * A2, H8: the permitted callers of each route. Every route of the plugin, in several configurations, is called by every
 * kind of caller. The table lists the permitted ones, and a route without a row fails. A permitted caller gets neither
 * 401 nor 403.
 */
import { createPrivateKey, type JsonWebKey, sign } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import {
  type AuthorityOptions,
  memoryApiKeyStore,
  memoryAudit,
  memoryFactorStore,
  memoryState,
  memoryUserStore
} from '../../lib/index.ts'
import { useCallers } from '../../lib/http/edge/callers.ts'
import { bearer, ISSUER, PASSWORD, plainUrl, signIn, signUp, type TestApp, testApp } from '../support/app.ts'
import { PAGES as ADMIN_PAGES, ROUTES as ADMIN_ROUTES } from '../features/admin/world.ts'
import { testBrowser } from '../support/browser.ts'
import { decodeJwt, encodePart } from '../support/jwt.ts'
import { authorizePath, basic, CALLBACK, CLIENTS, KEYS, SECRET, tokensOf } from '../support/openid.ts'

const CALLERS = [
  'nobody',
  'own page',
  'own token',
  'first-party token',
  'third-party token',
  'token with act',
  "client's own token",
  'ID token',
  'refresh token',
  'client',
  'browser',
  'browser from elsewhere'
] as const
type Caller = (typeof CALLERS)[number]
type Sent = { headers: Record<string, string>; payload?: object | string }

const ALL: readonly Caller[] = CALLERS
/** All callers except a page of another site, which must not act for its visitor. */
const NOT_ELSEWHERE: readonly Caller[] = CALLERS.filter((caller) => caller !== 'browser from elsewhere')
const ACCOUNT: readonly Caller[] = ['own token', 'first-party token', 'browser']
const OWN_PAGE: readonly Caller[] = ['own page', 'browser']
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const WRONG = { current_password: 'not this one', new_password: 'another long one' }

/** The sent request without the caller's credentials, and the permitted callers. */
const TABLE: Record<string, [sent: Partial<Sent>, letIn: readonly Caller[]]> = {
  'POST /auth/token': [{ payload: { grant_type: 'password', username: 'ann', password: PASSWORD } }, NOT_ELSEWHERE],
  'POST /auth/refresh': [{}, ['refresh token']],
  'POST /auth/revoke': [{ payload: { token: 'no token of ours' } }, NOT_ELSEWHERE],
  'POST /auth/par': [{}, ['client']],
  'POST /auth/introspect': [{ payload: { token: 'no token of ours' } }, ['client']],
  'POST /auth/register': [{ payload: { username: 'ann', password: PASSWORD } }, NOT_ELSEWHERE],
  'POST /auth/password': [{ payload: WRONG }, ACCOUNT],
  'POST /auth/password-reset': [{ payload: { username: 'ann' } }, NOT_ELSEWHERE],
  'POST /auth/password-reset/confirm': [{ payload: { token: 'x', password: PASSWORD } }, NOT_ELSEWHERE],
  'POST /auth/email/verify': [{ payload: { token: 'x' } }, NOT_ELSEWHERE],
  'GET /auth/profile': [{}, ACCOUNT],
  'PATCH /auth/profile': [{ payload: { role: 'admin' } }, ACCOUNT],
  'POST /auth/email': [{ payload: { email: 'none' } }, ACCOUNT],
  'POST /auth/email/resend': [{}, ACCOUNT],
  'DELETE /auth/account': [{ payload: { password: 'not this one' } }, ACCOUNT],
  'GET /auth/account/export': [{}, ACCOUNT],
  'GET /auth/sessions': [{}, ACCOUNT],
  'DELETE /auth/sessions/:id': [{}, ACCOUNT],
  'GET /auth/factors': [{}, ACCOUNT],
  'POST /auth/factors/totp': [{}, ACCOUNT],
  'POST /auth/factors/totp/confirm': [{ payload: { enrolment: 'x', code: '123456' } }, ACCOUNT],
  'POST /auth/factors/passkeys/options': [{}, ACCOUNT],
  'POST /auth/factors/passkeys': [{ payload: { credential: {} } }, ACCOUNT],
  'GET /auth/passkey-challenge': [{}, ALL],
  'POST /auth/factors/recovery-codes': [{}, ACCOUNT],
  'POST /auth/factors/two-step': [{ payload: { on: true } }, ACCOUNT],
  'PATCH /auth/factors/:id': [{ payload: { name: 'x' } }, ACCOUNT],
  'DELETE /auth/factors/:id': [{}, ACCOUNT],
  'POST /auth/clients': [{ payload: { redirect_uris: ['https://agent.example/cb'] } }, ALL],
  'GET /auth/api-keys': [{}, ACCOUNT],
  'POST /auth/api-keys': [{ payload: { name: 'x' } }, ACCOUNT],
  'DELETE /auth/api-keys/:id': [{}, ACCOUNT],
  // No caller here has an administration scope. The tests of test/features/admin use such callers.
  ...Object.fromEntries(
    ADMIN_ROUTES.map(([method, path, , , payload]): [string, [Partial<Sent>, readonly Caller[]]] => [
      `${method} /auth/admin${path}`,
      [payload === undefined ? {} : { payload }, []]
    ])
  ),
  // A page asks for a sign-in, or is an unknown path.
  ...Object.fromEntries(
    ADMIN_PAGES.map(({ method, path }): [string, [Partial<Sent>, readonly Caller[]]] => [
      `${method} /auth/admin${path}`,
      [{ headers: FORM, payload: '' }, ALL]
    ])
  ),
  'POST /auth/device': [{ payload: {} }, ['client']],
  'GET /device': [{}, ALL],
  'POST /device': [{ headers: FORM, payload: '' }, OWN_PAGE],
  'GET /auth/userinfo': [{}, ['own token', 'first-party token', 'third-party token', 'token with act']],
  'POST /auth/userinfo': [{}, ['own token', 'first-party token', 'third-party token', 'token with act']],
  'GET /.well-known/jwks.json': [{}, ALL],
  'GET /.well-known/oauth-authorization-server': [{}, ALL],
  'GET /.well-known/openid-configuration': [{}, ALL],
  'GET /.well-known/change-password': [{}, ALL],
  'GET /auth/session': [{}, ['browser']],
  'POST /auth/session': [{}, ['browser']],
  'DELETE /auth/session': [{}, OWN_PAGE],
  'GET /auth/authorize': [{}, ALL],
  'POST /auth/authorize': [{ headers: FORM, payload: 'client_id=spa' }, ALL],
  'GET /auth/consent': [{}, ALL],
  'POST /auth/consent': [{ headers: FORM, payload: '' }, OWN_PAGE],
  'GET /auth/login': [{}, ALL],
  'POST /auth/login': [{ headers: FORM, payload: 'username=ann&password=' }, OWN_PAGE],
  'GET /auth/email-code': [{}, ALL],
  'POST /auth/email-code': [{ headers: FORM, payload: 'username=ann' }, OWN_PAGE],
  'GET /auth/email-link': [{}, ALL],
  'POST /auth/email-link': [{ headers: FORM, payload: 'token=x' }, OWN_PAGE],
  'GET /auth/second-factor': [{}, ALL],
  'GET /auth/reauthenticate': [{}, ALL],
  'POST /auth/reauthenticate': [{ headers: FORM, payload: 'current_password=x' }, OWN_PAGE],
  'POST /auth/second-factor': [{ headers: FORM, payload: 'code=123456' }, OWN_PAGE],
  'GET /auth/second-factor/link': [{}, ALL],
  'POST /auth/second-factor/link': [{ headers: FORM, payload: 'token=x' }, OWN_PAGE],
  'GET /auth/second-factor/set-up': [{}, ALL],
  'POST /auth/second-factor/set-up': [{ headers: FORM, payload: 'code=123456' }, OWN_PAGE],
  'GET /auth/security': [{}, ALL],
  'POST /auth/security': [{ headers: FORM, payload: '' }, OWN_PAGE],
  'GET /auth/passkey-prompt': [{}, ALL],
  'POST /auth/passkey-prompt': [{ headers: FORM, payload: '' }, OWN_PAGE],
  'GET /auth/security/passkeys': [{}, ALL],
  'POST /auth/security/passkeys': [{ headers: FORM, payload: '' }, OWN_PAGE],
  'GET /auth/security/totp': [{}, ALL],
  'POST /auth/security/totp': [{ headers: FORM, payload: '' }, OWN_PAGE],
  'GET /auth/signup': [{}, ALL],
  'POST /auth/signup': [{ headers: FORM, payload: 'username=&password=' }, OWN_PAGE],
  'GET /auth/account': [{}, ALL],
  ...Object.fromEntries(
    ['profile', 'email', 'password', 'sessions', 'access', 'api-keys', 'remove'].flatMap(
      (page): Array<[string, [Partial<Sent>, readonly Caller[]]]> => [
        // A caller without a session is led to the sign-in.
        [`GET /auth/account/${page}`, [{}, ALL]],
        [`POST /auth/account/${page}`, [{ headers: FORM, payload: '' }, OWN_PAGE]]
      ]
    )
  ),
  'GET /auth/check-email': [{}, ALL],
  'POST /auth/check-email': [{ headers: FORM, payload: 'decision=resend' }, OWN_PAGE],
  'GET /auth/forgot-password': [{}, ALL],
  'POST /auth/forgot-password': [{ headers: FORM, payload: 'username=' }, OWN_PAGE],
  'GET /auth/reset-password': [{}, ALL],
  'POST /auth/reset-password': [{ headers: FORM, payload: 'token=x' }, OWN_PAGE],
  'GET /auth/verify-email': [{}, ALL],
  'POST /auth/verify-email': [{ headers: FORM, payload: 'token=x' }, OWN_PAGE],
  'GET /auth/accept-invitation': [{}, ALL],
  'POST /auth/accept-invitation': [{ headers: FORM, payload: 'token=x' }, OWN_PAGE],
  'GET /auth/undo': [{}, ALL],
  'POST /auth/undo': [{ headers: FORM, payload: 'token=x' }, OWN_PAGE],
  'GET /auth/logout': [{}, ALL],
  // A form without a decision comes from a client. A form with a decision comes from the sign-out page.
  'POST /auth/logout': [{ headers: FORM, payload: 'client_id=spa' }, ALL],
  'GET /auth/pages.css': [{}, ALL],
  'GET /auth/pages.js': [{}, ALL],
  'GET /auth/passkeys.js': [{}, ALL]
}

/** The methods at the paths of the protocol endpoints. All others answer 405 to every caller. */
const METHODS_OF: Record<string, readonly string[]> = {
  '/auth/token': ['POST'],
  '/auth/refresh': ['POST'],
  '/auth/revoke': ['POST'],
  '/auth/par': ['POST'],
  '/auth/introspect': ['POST'],
  '/auth/device': ['POST'],
  '/auth/clients': ['POST'],
  '/auth/userinfo': ['GET', 'POST'],
  '/.well-known/jwks.json': ['GET'],
  '/.well-known/oauth-authorization-server': ['GET'],
  '/.well-known/openid-configuration': ['GET']
}
for (const [path, methods] of Object.entries(METHODS_OF))
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => !methods.includes(method)))
    TABLE[`${method} ${path}`] = [{}, ALL]

const clients = [
  ...CLIENTS.map((client) =>
    client.clientId === 'third' ? { ...client, scopes: ['openid', 'profile', 'offline_access'] } : client
  ),
  { clientId: 'machine', clientSecret: SECRET, grantTypes: ['client_credentials' as const] }
]
const CONFIGURATIONS: Array<[what: string, options: Partial<AuthorityOptions>, without: RegExp | null]> = [
  ['all features', {}, null],
  [
    'clients in a store',
    { clients: { findById: async (id) => clients.find(({ clientId }) => clientId === id) ?? null } },
    null
  ],
  [
    'no clients',
    { clients: [], clientRegistration: false },
    /auth.(?:par|clients)$|authorize|consent|openid-configuration|account.access/
  ],
  [
    'no pages',
    { pages: false, emailSignIn: false, par: false, deviceGrant: false },
    /auth.par$|auth.admin$|admin.(?:people|invite|log)|authorize|change-password|consent|device|openid-configuration|login|email-|second-factor|reauthenticate|passkey-prompt|passkeys.js|auth.security|signup|check-email|forgot|reset-password|verify-email|accept-invitation|undo|logout|pages|auth\/session$|(?:GET|POST) .auth.account(?!.export)/
  ],
  [
    'tokens signed with a shared secret',
    { keys: { secret: SECRET } },
    /auth.par$|authorize|consent|openid-configuration|account.access|jwks|userinfo/
  ],
  ['no second factors', { factors: undefined }, /auth.(?!admin).*factor|auth.security|passkey/],
  [
    'no registration, no messages',
    { registration: false, sendMessage: undefined, emailSignIn: false },
    /register|signup|password-reset|forgot|reset-p|accept-|admin.invite|undo|email|(?:PATCH .auth|account).profile/
  ],
  [
    'custom paths and decorators',
    {
      paths: { revoke: '/my/revoke', userinfo: '/my/info' },
      decorators: { auth: 'who', authenticate: 'guard' }
    },
    null
  ]
]

/** The same token with a claim that says that an administrator acts by it. */
function withActor(token: string): string {
  const { header, claims } = decodeJwt(token)
  const input = `${encodePart(header)}.${encodePart({ ...claims, act: { sub: claims.sub } })}`
  const key = createPrivateKey({ key: KEYS[0] as JsonWebKey, format: 'jwk' })
  return `${input}.${sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

interface Route {
  method: string
  url: string
}

async function walked(options: Partial<AuthorityOptions>): Promise<
  TestApp & {
    routes: Route[]
    send(
      caller: Caller,
      route: Route,
      sent: Partial<Sent>
    ): Promise<{ statusCode: number; body: string; headers: Record<string, unknown> } | null>
  }
> {
  const routes: Route[] = []
  const users = memoryUserStore()
  const subject = await testApp(
    {
      keys: KEYS,
      clients,
      users,
      // Signs in once more for each request that changes something.
      state: memoryState({ maxSessionsPerUser: 1000 }),
      factors: memoryFactorStore(),
      par: true,
      apiKeys: memoryApiKeyStore(),
      audit: memoryAudit(),
      admin: { allow: () => [] },
      deviceGrant: true,
      clientRegistration: true,
      secret: 'a secret of this test, long enough for it',
      emailSignIn: {},
      scopes: ['openid', 'profile', 'offline_access', 'api'],
      ...options,
      ...(options.registration === undefined
        ? { registration: { fields: Type.Object({ city: Type.Optional(Type.String()) }) } }
        : {})
    },
    {},
    (app) => {
      app.addHook('onRoute', ({ method, url, config }) => {
        if (config !== undefined && 'fastifyAuthority' in config)
          for (const one of [method].flat()) routes.push({ method: one, url: plainUrl(url) })
      })
      // `testApp`'s routes use the hook under its own name.
      if (options.decorators !== undefined) app.decorate('authenticate', (() => {}) as never)
      app.post('/host/sign-in', async (request, reply) => {
        await app.authority.signIn(request, reply, (await users.findByUsername('ann'))?.id ?? '')
        return {}
      })
    }
  )
  const { app } = subject
  if (options.registration === false)
    await users.create({ username: 'ann', passwordHash: await app.authority.hashPassword(PASSWORD) })
  else await signUp(app)
  const { id } = (await users.findByUsername('ann')) ?? { id: '' }
  const own = await signIn(app)
  const known = options.clients === undefined || !Array.isArray(options.clients)
  const of = async (clientId: string): Promise<string> =>
    known ? (await app.authority.issueTokens(id, { clientId })).access_token : own.access_token
  const machine = known
    ? ((
        await app.inject({
          method: 'POST',
          url: '/auth/token',
          headers: basic('machine', SECRET),
          payload: { grant_type: 'client_credentials' }
        })
      ).json().access_token as string)
    : null
  const hasCodes = known && options.pages !== false && options.keys === undefined
  const idToken = hasCodes ? ((await tokensOf({ app, browser: testBrowser(app) })).id_token ?? null) : null
  const [first, third] = [await of('spa'), await of('third')]

  async function signedIn(): Promise<Record<string, string>> {
    const browser = testBrowser(app)
    if (options.pages === false) {
      const reply = await app.inject({ method: 'POST', url: '/host/sign-in' })
      for (const { name, value } of reply.cookies) browser.cookies.set(name, value)
    } else await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
    return { cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ') }
  }
  // A request that changes something may end the sign-in.
  let lasting: Promise<Record<string, string>> | undefined
  const cookies = async (method: string): Promise<Record<string, string>> =>
    await (['GET', 'HEAD', 'OPTIONS'].includes(method) ? (lasting ??= signedIn()) : signedIn())

  async function headersOf(caller: Caller, method: string): Promise<Record<string, string> | null> {
    switch (caller) {
      case 'nobody':
        return {}
      case 'own page':
        return { 'sec-fetch-site': 'same-origin', origin: ISSUER }
      case 'own token':
        return bearer(own.access_token)
      case 'first-party token':
        return known ? bearer(first) : null
      case 'third-party token':
        return known ? bearer(third) : null
      case 'token with act':
        return options.keys === undefined ? bearer(withActor(own.access_token)) : null
      case "client's own token":
        return machine === null ? null : bearer(machine)
      case 'ID token':
        return idToken === null ? null : bearer(idToken)
      case 'refresh token':
        return bearer(own.refresh_token)
      case 'client':
        return known ? basic('web', SECRET) : null
      case 'browser':
        return { ...(await cookies(method)), 'sec-fetch-site': 'same-origin', origin: ISSUER }
      case 'browser from elsewhere':
        return { ...(await cookies(method)), 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    }
  }
  return {
    ...subject,
    routes,
    async send(caller, { method, url }, { headers = {}, payload }) {
      // A refused method changes nothing, and a user has a bounded number of sessions.
      const isRefused = METHODS_OF[url]?.includes(method) === false
      const who = await headersOf(caller, isRefused ? 'GET' : method)
      if (who === null) return null
      const json = typeof payload === 'object' ? { 'content-type': 'application/json' } : {}
      const body =
        payload === undefined ? {} : { payload: typeof payload === 'object' ? JSON.stringify(payload) : payload }
      const {
        statusCode,
        body: text,
        headers: answered
      } = await app.inject({
        method: method as 'GET',
        url: url.replace(':id', 'nobodys').replace('/auth/authorize', authorizePath()),
        headers: { ...json, ...headers, ...who },
        ...(method === 'HEAD' || method === 'GET' ? {} : body)
      })
      return { statusCode, body: text, headers: answered }
    }
  }
}

for (const [what, options, without] of CONFIGURATIONS) {
  // covers A2 H8 ASVS-8.2.1 ASVS-8.3.1
  t.test(`accepts only the declared callers at each route: ${what}`, async (t) => {
    const subject = await walked(options)
    t.teardown(subject.close)
    const moved = Object.entries(options.paths ?? {}).map(([name, path = '']) => [path, `/auth/${name}`] as const)
    const nameOf = ({ method, url }: Route): string => {
      const [path, usual] = moved.find(([path]) => url.startsWith(path)) ?? ['', '']
      return `${method === 'HEAD' ? 'GET' : method} ${path === '' ? url : url.replace(path, usual)}`
    }
    const seen = new Set<string>()
    /** Preflights without status 204 and an empty body, and responses with a 5xx status. */
    const wrong: string[] = []
    for (const route of subject.routes) {
      const name = nameOf(route)
      if (route.method === 'OPTIONS') {
        for (const caller of ALL) {
          const reply = await subject.send(caller, route, {})
          if (reply !== null && (reply.statusCode !== 204 || reply.body !== ''))
            wrong.push(`${name}, ${caller}: ${reply.statusCode} ${reply.body.slice(0, 100)}`)
        }
        continue
      }
      const row = TABLE[name]
      if (row === undefined) {
        t.fail(`${name} is in no table: say who may call it`)
        continue
      }
      seen.add(name)
      const [sent, letIn] = row
      const there: Caller[] = []
      const entered: Caller[] = []
      for (const caller of ALL) {
        const reply = await subject.send(caller, route, sent)
        if (reply === null) continue
        there.push(caller)
        if (reply.statusCode !== 401 && reply.statusCode !== 403) entered.push(caller)
        if (reply.statusCode >= 500)
          wrong.push(`${route.method} ${route.url}, ${caller}: ${reply.statusCode} ${reply.body.slice(0, 100)}`)
        if (letIn === ACCOUNT && (caller === 'third-party token' || caller === 'token with act'))
          t.match(
            reply,
            {
              statusCode: 403,
              headers: { 'www-authenticate': /^Bearer error="insufficient_scope"/ },
              ...(route.method === 'HEAD' ? {} : { body: /"insufficient_scope"/ })
            },
            name
          )
      }
      t.strictSame(
        entered,
        letIn.filter((caller) => there.includes(caller)),
        `${route.method} ${route.url}`
      )
    }
    t.strictSame(wrong, [], 'every preflight is answered, and nothing fails')
    t.strictSame(
      [...seen].toSorted(),
      Object.keys(TABLE)
        .filter((name) => without?.test(name) !== true)
        .toSorted(),
      'no route is missing'
    )
  })
}

// covers A2
t.test('does not start with a route that declares no callers', async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  void app.register(async (child) => {
    useCallers(child, () => ({}))
    child.get('/forgotten', async () => 'open to all')
  })
  await t.rejects(
    async () => {
      await app.ready()
    },
    { message: /GET \/forgotten does not say who may call it/ }
  )
})

// covers A2
t.test('refuses account access to tokens of a client that was deleted or made third-party', async (t) => {
  const list = new Map(clients.map((client) => [client.clientId, client]))
  const subject = await testApp({ keys: KEYS, clients: { findById: async (id) => list.get(id) ?? null } })
  t.teardown(subject.close)
  const { app } = subject
  const { sub } = await signUp(app)
  const { access_token: token } = await app.authority.issueTokens(sub, { clientId: 'spa' })
  const status = async (url: string): Promise<number> => (await app.inject({ url, headers: bearer(token) })).statusCode
  t.equal(await status('/auth/sessions'), 200)
  list.set('spa', { clientId: 'spa', redirectUris: [CALLBACK], firstParty: false })
  t.equal(await status('/auth/sessions'), 403)
  list.delete('spa')
  t.equal(await status('/auth/sessions'), 403)
  t.equal(await status('/auth/userinfo'), 401)
})
