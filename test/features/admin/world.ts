/** An app in which `root` administrates and `ann` does not. */
import { type AuthorityOptions, memoryApiKeyStore, memoryAudit, memoryFactorStore } from '../../../lib/index.ts'
import { steppedClock } from '../../../lib/testing/index.ts'
import { ADMIN_SCOPES } from '../../../lib/protocol/scope.ts'
import { bearer, PASSWORD, signUp } from '../../support/app.ts'
import { decodeJwt } from '../../support/jwt.ts'
import { logLines } from '../../support/log-lines.ts'
import { basic, CLIENTS, openidApp, SECRET } from '../../support/openid.ts'
import { giveSecondFactor } from '../../support/second-factor.ts'
import type { Test } from '../../support/tap.ts'

export const ROBOT = 'robot'
export const SERVICE_SECRET = 'a secret of this service, long enough for it'

export async function world(
  t: Test,
  options: Partial<AuthorityOptions> = {},
  before?: Parameters<typeof openidApp>[2]
) {
  /** The admins by their username, and by the id of a machine client. */
  const admins = new Map<string, readonly string[]>([
    ['root', ADMIN_SCOPES],
    [ROBOT, ['authority:users:read']]
  ])
  const log = memoryAudit()
  const { lines, stream } = logLines()
  const test = await openidApp(
    {
      audit: log,
      secret: SERVICE_SECRET,
      scopes: ['openid', 'profile', 'offline_access'],
      clients: [
        ...CLIENTS,
        { clientId: ROBOT, clientSecret: SECRET, grantTypes: ['client_credentials'] },
        { clientId: 'narrow', redirectUris: ['https://app.example/cb'], scopes: ['openid', 'authority:users:read'] }
      ],
      admin: {
        allow: ({ user, client, scopes }) => {
          const own = admins.get(user === null ? (client?.clientId ?? '') : user.username) ?? []
          return scopes.filter((scope) => own.includes(scope))
        }
      },
      ...options
    },
    { logger: { level: 'info', stream } },
    before
  )
  t.teardown(test.close)
  const root = await signUp(test.app, 'root')
  const token = async (params: Record<string, string>) =>
    await test.app.inject({ method: 'POST', url: '/auth/token', payload: params })
  const byPassword = async (username: string, scope?: string) =>
    await token({ grant_type: 'password', username, password: PASSWORD, ...(scope === undefined ? {} : { scope }) })
  return { ...test, root, admins, lines, log, token, byPassword }
}

export type World = Awaited<ReturnType<typeof world>>

type Route = [
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  scope: string,
  status: number,
  payload?: object
]

/** Each route, its scope, and its answer to a caller who is let in. */
export const ROUTES: Route[] = [
  ['GET', '/users', 'authority:users:read', 200],
  ['POST', '/users', 'authority:users:write', 201, { username: 'new' }],
  ['GET', '/users/:id', 'authority:users:read', 200],
  ['PATCH', '/users/:id', 'authority:users:write', 200, { fields: {} }],
  ['POST', '/users/:id/disable', 'authority:users:write', 204],
  ['POST', '/users/:id/enable', 'authority:users:write', 204],
  ['POST', '/users/:id/reset', 'authority:users:write', 204],
  ['POST', '/users/:id/invite', 'authority:users:write', 204],
  ['GET', '/users/:id/export', 'authority:users:read', 200],
  ['GET', '/users/:id/sessions', 'authority:users:read', 200],
  ['DELETE', '/users/:id/sessions', 'authority:sessions:write', 204],
  ['DELETE', '/users/:id/sessions/:sid', 'authority:sessions:write', 204],
  ...(['connections', 'factors', 'api-keys'] as const).flatMap((kind): Route[] => [
    ['GET', `/users/:id/${kind}`, 'authority:users:read', 200],
    ['DELETE', `/users/:id/${kind}/:one`, 'authority:users:write', 204]
  ]),
  ['POST', '/users/:id/impersonate', 'authority:impersonate', 200, { reason: 'looks into case 17' }],
  ['DELETE', '/users/:id', 'authority:users:delete', 204],
  ['GET', '/audit', 'authority:audit:read', 200]
]

interface PageRow {
  method: 'GET' | 'POST'
  /** Below `/auth/admin`. */
  path: string
  scope: string
}

const PATHS_OF_PAGES: Array<[path: string, scope: string, methods: Array<PageRow['method']>]> = [
  ['', 'authority:users:read', ['GET']],
  ['/people/:id', 'authority:users:read', ['GET']],
  ...['edit', 'invite', 'reset', 'disable', 'enable', 'connections/:one', 'factors/:one', 'api-keys/:one'].map(
    (act): [string, string, Array<PageRow['method']>] => [
      `/people/:id/${act}`,
      'authority:users:write',
      ['GET', 'POST']
    ]
  ),
  ['/people/:id/sessions', 'authority:sessions:write', ['GET', 'POST']],
  ['/people/:id/sessions/:one', 'authority:sessions:write', ['GET', 'POST']],
  ['/people/:id/delete', 'authority:users:delete', ['GET', 'POST']],
  ['/invite', 'authority:users:write', ['GET', 'POST']],
  ['/log', 'authority:audit:read', ['GET']]
]

/** Each page, with the scope that it needs. */
export const PAGES: PageRow[] = PATHS_OF_PAGES.flatMap(([path, scope, methods]) =>
  methods.map((method) => ({ method, path, scope }))
)

export const ALL = ADMIN_SCOPES.join(' ')

export async function routed(
  t: Test,
  options: Partial<AuthorityOptions> = {},
  before?: Parameters<typeof openidApp>[2]
) {
  const test = await world(
    t,
    {
      apiKeys: memoryApiKeyStore(),
      factors: memoryFactorStore(),
      resources: [{ resource: '/orders', scopes: ['orders:read'] }],
      ...options
    },
    before
  )
  const { app, byPassword } = test
  const bob = await signUp(app, 'bob@example.com')
  const tokenOf = async (username: string, scope: string): Promise<string> =>
    (await byPassword(username, scope)).json().access_token
  const send = async (method: Route[0], path: string, headers: Record<string, string>, payload?: object) =>
    await app.inject({
      method,
      url: `/auth/admin${path}`,
      headers: method === 'PATCH' ? { 'if-match': '*', ...headers } : headers,
      ...(payload === undefined ? {} : { payload })
    })
  return { ...test, bob, tokenOf, send }
}

/** A user made for one call, with one session. */
export async function victim({ app }: World, path: string): Promise<string> {
  // A passkey needs a confirmed address, or none.
  const username = `v${Math.random().toString(36).slice(2)}${path.includes('/factors') ? '' : '@example.com'}`
  const { sub } = path.includes('invite')
    ? { sub: (await app.authority.users.create({ username })).id }
    : await signUp(app, username)
  if (path.includes(':one')) return path.replace(':one', await thingOf(app, path, sub)).replace(':id', sub)
  if (!path.includes(':sid')) return path.replace(':id', sub)
  await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'password', username, password: PASSWORD }
  })
  const [session] = await app.authority.sessions(sub)
  return path.replace(':id', sub).replace(':sid', session?.id ?? '')
}

/** Makes a connection, an app or an API key of a user, and returns its id. */
export async function thingOf(app: World['app'], path: string, sub: string): Promise<string> {
  if (path.includes('/connections')) {
    await app.authority.linkIdentity(sub, { issuer: 'https://sso.example', subject: sub, connection: 'sso' })
    return (await app.authority.identities(sub))[0]?.id ?? ''
  }
  if (path.includes('/api-keys')) return (await app.authority.apiKeys.create({ userId: sub, name: 'x' })).id
  await giveSecondFactor({ app, clock: steppedClock() }, sub, SECRET_OF_APP)
  return (await app.authority.factors(sub)).factors[0]?.id ?? ''
}

export const SECRET_OF_APP = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'

export const REASON = 'looks into case 17'

export const claimsIn = (token: string) => decodeJwt(token).claims

/** An administrator who asks for tokens to act as Bob. */
export async function impersonation(
  t: Test,
  options: Parameters<typeof routed>[1] = {},
  before?: Parameters<typeof routed>[2]
) {
  const test = await routed(t, options, before)
  const { send, tokenOf, bob } = test
  const own = bearer(await tokenOf('root', ALL))
  const ask = async (payload: object = { reason: REASON }, id = bob.sub, headers = own) =>
    await send('POST', `/users/${id}/impersonate`, headers, payload)
  const introspected = async (token: string) =>
    (
      await test.app.inject({
        method: 'POST',
        url: '/auth/introspect',
        headers: basic('web', SECRET),
        payload: { token }
      })
    ).json()
  return { ...test, own, ask, introspected }
}
