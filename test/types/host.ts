/**
 * A host that types @fastify/jwt for itself, as its README tells it to, and uses this plugin as well. Compiled
 * against the built package, as a consumer's compiler sees it. Each `@ts-expect-error` fails the check where there is
 * no error.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import jwt from '@fastify/jwt'
import authPlugin, {
  authPlugin as named,
  memoryState,
  memoryUserStore,
  OAuthError,
  UsernameTakenError
} from 'fastify-authority'
import type {
  AuthorityOptions,
  AuthSession,
  Client,
  ClientStore,
  CommonModel,
  LinkMessage,
  Message,
  NewUser,
  PageModels,
  PageName,
  RenderPage,
  Session,
  User,
  UserStore
} from 'fastify-authority'

declare module '@fastify/jwt' {
  interface FastifyJWT {
    payload: { id: number }
    user: { id: number; name: string }
  }
}

const issuer = 'http://localhost:3000'
const users = memoryUserStore()

export async function quickStart(): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(jwt, { secret: 'the host has its own' })
  await app.register(authPlugin, { issuer, users })
  await app.register(named, { issuer, users, prefix: '/two', state: memoryState() })
  app.get('/me', { onRequest: [app.authenticate] }, async (request) => request.auth)
  app.get('/orders', { onRequest: [app.authenticate, app.requireScope('orders:read', 'orders:write')] }, async () => [])
  app.get('/admin', { onRequest: app.authenticate, preHandler: app.requireScope('admin') }, async () => [])
  await app.listen({ port: 3000 })
  return app
}

export async function hostsOfEveryKind(): Promise<void> {
  await Fastify({ logger: true }).register(authPlugin, { issuer, users })
  await Fastify({ http2: true }).register(authPlugin, { issuer, users })
}

export async function wrongOptions(app: FastifyInstance): Promise<void> {
  // @ts-expect-error -- the issuer is required
  await app.register(authPlugin, { users })
  // @ts-expect-error -- the user store is required
  await app.register(authPlugin, { issuer })
  // @ts-expect-error -- there is no such option
  await app.register(authPlugin, { issuer, users, isuer: issuer })
  // @ts-expect-error -- seconds are a number
  await app.register(authPlugin, { issuer, users, accessToken: { expiresIn: '15m' } })
  // @ts-expect-error -- there is no such rule for the password grant
  await app.register(authPlugin, { issuer, users, passwordGrant: true })
  // @ts-expect-error -- a store without findById is none
  await app.register(authPlugin, { issuer, users: { findByUsername: async () => null } })
}

const secret = process.env['CLIENT_SECRET'] ?? ''
/** Every field of a client, and none but its name. */
export const clients: Client[] = [
  { clientId: 'spa' },
  {
    clientId: 'web',
    clientSecret: secret,
    redirectUris: ['https://app.example/cb'],
    postLogoutRedirectUris: ['https://app.example/'],
    origins: ['https://app.example'],
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: ['openid'],
    requirePkce: true,
    firstParty: false,
    name: 'The Site',
    idTokenSignedResponseAlg: 'ES256',
    backchannelLogoutUri: 'https://app.example/signed-out'
  }
]
export const clientStore: ClientStore = {
  findById: async (clientId) => clients.find((client) => client.clientId === clientId) ?? null
}

export async function redirectLogin(app: FastifyInstance): Promise<void> {
  await app.register(authPlugin, {
    issuer,
    users,
    clients,
    idToken: { expiresIn: 600 },
    authorizationCode: { expiresIn: 30 },
    session: { expiresIn: 3600, idleTimeout: 600 },
    paths: { authorize: '/oauth/authorize' },
    pages: { title: 'Acme', logo: { url: '/logo.svg' }, accentColor: '#1f5fbf', home: '/', loginUrl: '/sign-in' },
    decorators: { authSession: 'visitor' },
    claims: (user, { scopes, client, use }) =>
      use === 'userinfo' && client?.firstParty !== false && scopes.includes('profile') ? { name: user.username } : {}
  })
  await app.register(authPlugin, { issuer, users, clients: clientStore, pages: false })
  // @ts-expect-error -- a client has a name
  await app.register(authPlugin, { issuer, users, clients: [{ redirectUris: [] }] })
  // @ts-expect-error -- there is no such grant
  await app.register(authPlugin, { issuer, users, clients: [{ clientId: 'a', grantTypes: ['implicit'] }] })
  // @ts-expect-error -- names as in the options, not as on the wire
  await app.register(authPlugin, { issuer, users, clients: [{ clientId: 'a', redirect_uris: [] }] })
  await app.register(authPlugin, {
    issuer,
    users,
    // @ts-expect-error -- a list
    clients: [{ clientId: 'a', redirectUris: 'https://app.example/cb' }]
  })
  // A6: undefined is "not given", at every depth, under exactOptionalPropertyTypes too.
  await app.register(authPlugin, {
    issuer,
    users,
    secret: process.env['AUTH_SECRET'],
    clients: [{ clientId: 'a', clientSecret: process.env['CLIENT_SECRET'], applicationType: undefined }],
    accessToken: { expiresIn: undefined, typ: undefined, alg: undefined },
    password: { memoryCost: undefined, isBreached: undefined },
    registration: { fields: undefined, verifyEmail: undefined },
    pages: { title: process.env['TITLE'], render: undefined },
    rateLimit: {
      login: { max: undefined },
      account: undefined,
      apiKey: { header: undefined, verify: () => true },
      key: undefined
    },
    decorators: { authenticate: undefined },
    state: memoryState({ maxFamiliesPerUser: undefined })
  })
  // @ts-expect-error -- there is no such endpoint
  await app.register(authPlugin, { issuer, users, paths: { signin: '/sign-in' } })
  // @ts-expect-error -- pages are false or an object
  await app.register(authPlugin, { issuer, users, pages: true })
  await app.register(authPlugin, {
    issuer,
    users,
    // @ts-expect-error -- a store resolves to null, not to undefined
    clients: { findById: async (id: string) => clients.find(({ clientId }) => clientId === id) }
  })
}

/** The page's name determines the type of its model. */
export const pages: AuthorityOptions['pages'] = {
  async render(page, model) {
    const shared: [string, string | null, string] = [model.title, model.clientName, model.messages.loginTitle]
    if (page === 'login') {
      const forgot: string | null = model.forgotUrl
      // @ts-expect-error -- only the consent page names scopes
      model.scopes
      return `${shared.join()} ${model.action} ${model.username} ${forgot} ${model.error?.text}`
    }
    if (page === 'consent')
      return (
        `${model.client.redirectHost} ${model.scopes.map(({ name }) => name).join()} ` +
        `${model.lifetimeSeconds satisfies number}`
      )
    if (page === 'signup') return model.fields.map(({ label, required }) => `${label} ${required}`).join()
    if (page === 'error') return `${model.error.error} ${model.homeUrl}`
    if (page === 'form_post') return Object.keys(model.params).join()
    // @ts-expect-error -- there is no such page
    if (page === 'sign_in') return ''
    return undefined
  }
}

/** For hosts that write theirs apart. */
function ownHtml<Name extends PageName>(page: Name, model: PageModels[Name]): string {
  return `${page} ${model.title}`
}
export const apart: RenderPage[] = [
  ownHtml,
  (page: string, { lang }: CommonModel) => `${page} ${lang}`,
  () => undefined
]
// @ts-expect-error -- HTML is a string
export const noHtml: RenderPage = () => 1

export function visitor(request: FastifyRequest): string {
  const session = request.authSession
  if (session === null) return 'nobody'
  session satisfies AuthSession
  const since: Date = session.authenticatedAt
  // @ts-expect-error -- frozen
  session.sub = 'somebody else'
  // @ts-expect-error -- a name of the session, never its cookie
  session.cookie
  return `${session.sub} ${session.sid} ${since.toISOString()}`
}

export function hostPages(app: FastifyInstance): void {
  app.get('/', { onRequest: [app.authority.readSession] }, async (request) => visitor(request))
  app.get(
    '/home',
    { onRequest: app.authority.readSession, preHandler: [] },
    async (request) => request.authSession?.sub ?? null
  )
  app.post('/sign-in', async (request: FastifyRequest, reply: FastifyReply) => {
    await app.authority.signIn(request, reply, 'user', { amr: ['pwd'] })
    return reply.redirect('/', 303)
  })
  app.post('/sign-out', async (request, reply) => {
    await app.authority.signOut(request, reply)
    // @ts-expect-error -- who is signed in is the cookie's to say
    await app.authority.signOut('user')
    // @ts-expect-error -- a user signs in
    await app.authority.signIn(request, reply)
    return null
  })
}

export async function consents(app: FastifyInstance): Promise<boolean> {
  for (const { clientId, scopes, grantedAt, expiresAt } of await app.authority.consents('user'))
    [clientId, scopes, grantedAt, expiresAt] satisfies [string, string[], Date, Date]
  const list: Session[] = await app.authority.sessions('user')
  const kinds: Array<'browser' | 'token'> = list.map(({ kind }) => kind)
  const client: string | null | undefined = list[0]?.clientId
  return kinds.length > 0 && client !== null && (await app.authority.revokeConsent('user', 'third'))
}

export function claims(request: FastifyRequest): string | undefined {
  const auth = request.auth
  if (auth === null || auth === undefined) return undefined
  const sub: string = auth.sub
  const scope: string | undefined = auth.scope
  const expires: number | undefined = auth.exp
  // @ts-expect-error -- a subject is a string
  const wrong: number = auth.sub
  // @ts-expect-error -- claims are frozen
  auth.sub = 'somebody else'
  // The plugin leaves what belongs to @fastify/jwt as the host typed it.
  const name: string = request.user.name
  // @ts-expect-error -- the host's type has no such field, and the plugin adds none
  request.user.sub
  return `${sub} ${scope} ${expires} ${wrong} ${name}`
}

export function decorators(app: FastifyInstance): void {
  // @ts-expect-error -- scopes are strings
  app.requireScope(1)
  // @ts-expect-error -- there is no such decorator
  app.authenticated
}

export async function authority(app: FastifyInstance): Promise<void> {
  const verified = await app.authority.verify('token')
  const subject: string = verified.sub
  await app.authority.issueTokens(subject, { scope: 'profile' })
  await app.authority.issueTokens(subject, { scope: 'profile', clientId: 'app' })
  await app.authority.revokeUser(subject)
  for (const session of await app.authority.sessions(subject)) await app.authority.revokeSession(subject, session.id)
  const hash: string = await app.authority.hashPassword('seven green boats at dawn')
  await app.authority.startPasswordReset(subject)
  // @ts-expect-error -- verifying is asynchronous
  app.authority.verify('token').sub
  // @ts-expect-error -- a token is a string
  await app.authority.verify(null)
  await users.setPasswordHash?.(subject, hash)
}

export function events(app: FastifyInstance): void {
  app.authority.on('authenticated', ({ userId, clientId }) => {
    ;[userId, clientId] satisfies [string, string | null]
  })
  app.authority.on('login_failed', ({ reason }) => {
    reason satisfies string
  })
  app.authority.on('rate_limited', async ({ rule, retryAfter }) => {
    ;[rule, retryAfter] satisfies [string, number]
  })
  const handler = (payload: { userId: string }): void => {
    payload.userId satisfies string
  }
  app.authority.on('registered', handler)
  app.authority.off('registered', handler)
  // @ts-expect-error -- there is no such event
  app.authority.on('signed_in', () => {})
  // @ts-expect-error -- no payload carries a password
  app.authority.on('registered', ({ password }) => password)
  // @ts-expect-error -- a limit has no user
  app.authority.on('rate_limited', ({ userId }) => userId)
}

/** A host's own store, with its own fields in the row. */
interface Person extends User {
  department: string
}

export const ownStore: UserStore = {
  findById: async (id): Promise<Person | null> =>
    id === '1' ? { id, username: 'ann', passwordHash: null, department: 'sales' } : null,
  findByUsername: async () => null,
  create: async (user: NewUser): Promise<Person> => {
    if (user.username === 'ann') throw new UsernameTakenError()
    return { ...user, id: '2', department: 'sales' }
  },
  // @ts-expect-error -- the outcome of the compare-and-set is part of the contract
  setPasswordHash: async () => {}
}

export function errors(error: unknown): number {
  if (!(error instanceof OAuthError)) return 500
  // @ts-expect-error -- the list of codes is closed
  if (error.error === 'no_such_code') return 0
  return error.error === 'invalid_grant' ? error.statusCode : 401
}

/** The kind of a message determines its fields, which can be destructured first. */
export const sendMessage: AuthorityOptions['sendMessage'] = async ({ kind, user, locale, url, token, expiresAt }) => {
  const [to, language]: [string | undefined, string] = [user.email, locale]
  if (kind === 'verify_email') return mail(to, language, url, token, expiresAt)
  // @ts-expect-error -- a notice has no link
  if (kind === 'password_changed') mail(to, language, url, token, expiresAt)
  // @ts-expect-error -- no message has the hash
  user.passwordHash satisfies string
}
function mail(to: string | undefined, language: string, url: string, token: string, expiresAt: Date): void {
  void [to, language, url, token, expiresAt]
}
export function linkOf(message: Message): string | undefined {
  if (message.kind === 'password_reset') message satisfies LinkMessage<'password_reset'>
  // @ts-expect-error -- there is no such kind
  if (message.kind === 'birthday') return
  return message.url
}
