import Fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify'
import { memoryUserStore } from '../../../lib/adapters/memory/user-store.ts'
import type { Authority } from '../../../lib/composition/authority.ts'
import { createAuthority } from '../../../lib/composition/create-authority.ts'
import type { AuthorizeDeps } from '../../../lib/authorize/deps.ts'
import type { GrantDeps } from '../../../lib/oauth/deps.ts'
import { cookieJar } from '../../../lib/http/edge/cookie-jar.ts'
import { requestBrowser } from '../../../lib/http/edge/request-browser.ts'
import { useStrictValidation } from '../../../lib/http/edge/body.ts'
import { createGuards, type GuardDeps } from '../../../lib/http/edge/caller-guards.ts'
import { useCallers } from '../../../lib/http/edge/callers.ts'
import { groupsOf, type HttpDeps } from '../../../lib/http/edge/endpoint.ts'
import { useErrorReply } from '../../../lib/http/edge/error-reply.ts'
import { logoutRoutes } from '../../../lib/http/pages/logout.ts'
import type { PageDeps } from '../../../lib/http/pages/deps.ts'
import { usePageErrors } from '../../../lib/http/pages/errors.ts'
import { registerFormParser } from '../../../lib/http/pages/page-routes.ts'
import type { PageReply } from '../../../lib/http/pages/reply.ts'
import { plainCookie } from '../../../lib/http/edge/sealed-cookies.ts'
import { sessionHooks } from '../../../lib/http/edge/session-hook.ts'
import { missingToken } from '../../../lib/protocol/bearer.ts'
import { sessions } from '../../../lib/features/own-account/endpoints.ts'
import { messagesOf } from '../../../lib/pages/texts.ts'
import type { Client } from '../../../lib/ports/client-store.ts'
import type { User } from '../../../lib/ports/user-store.ts'
import type { IdTokenHint } from '../../../lib/tokens/id-tokens.ts'
import { EXPIRES_IN, sessionWorld } from '../../unit/sessions/session-world.ts'

export const ISSUER = 'https://auth.example.com'
export const OWN = { 'sec-fetch-site': 'same-origin', origin: ISSUER }
export const BACK = 'https://app.example/signed-out'

const CLIENTS: Client[] = [{ clientId: 'app', name: 'The App', postLogoutRedirectUris: [BACK] }, { clientId: 'bare' }]
const USERS: User[] = [
  { id: 'ann', username: 'ann@example.com', passwordHash: null },
  { id: 'bob', username: 'bob@example.com', passwordHash: null },
  { id: 'gone', username: 'gone@example.com', passwordHash: null, disabled: true }
]

export interface AppOptions {
  issuer?: string
  prefix?: string
  host?: (app: FastifyInstance) => unknown
  /** The users of the store. A test may change them later. */
  users?: User[]
}

/**
 * Sign-out, the session endpoints and the methods for a host, over real sessions in memory. Pages are only recorded. An
 * ID token hint is a key of `hints`.
 */
export async function logoutApp(
  t: { teardown(task: () => Promise<void>): void },
  { issuer = ISSUER, prefix = '/auth', host, users = structuredClone(USERS) }: AppOptions = {}
) {
  const world = sessionWorld()
  const app = Fastify()
  const sent: Array<{ page: string; content: Record<string, unknown>; settings: Record<string, unknown> }> = []
  const hints: Record<string, IdTokenHint> = {}
  const store = memoryUserStore()
  const findById = async (id: string): Promise<User | null> => users.find((user) => user.id === id) ?? null
  const accounts = {
    issuer,
    users: { ...store, findById },
    clock: world.clock,
    events: world.events,
    advise() {}
  }
  const grants = {
    accounts,
    clients: { findById: async (id: string) => CLIENTS.find(({ clientId }) => clientId === id) ?? null },
    tokens: world.state.tokens,
    sessions: world.sessions,
    scopes: ['openid']
  } as unknown as GrantDeps
  const authorize = {
    ...grants,
    issuer,
    browserSessions: world.browser,
    idTokens: { readHint: async (token: string) => hints[token] ?? null }
  } as unknown as AuthorizeDeps
  const cookie = plainCookie({ issuer, prefix, seconds: EXPIRES_IN / 1000 })
  const browser = requestBrowser({
    cookies: { session: cookie, enrolment: null },
    jar: cookieJar({ issuer, prefix }),
    browserSessions: world.browser,
    sessions: world.sessions,
    users: accounts.users,
    known: { idOf: () => 'device', mayKnow: () => true, async add() {} }
  })
  const { readSession } = sessionHooks(
    {
      browser,
      browserSessions: world.browser,
      clients: grants.clients,
      token: () => missingToken(),
      dpopAlgs: [],
      clock: world.clock,
      issuer,
      loginPath: `${prefix}/login`,
      reauthenticatePath: null,
      sendErrorPage: null,
      stepPath: async () => null
    },
    { auth: 'auth', authSession: 'authSession' }
  )
  const authority: Authority = createAuthority({
    health: undefined as never,
    grants,
    accessTokens: null as never,
    events: world.events,
    consents: world.state.consents,
    browser,
    readSession,
    requireSession: null,
    limiter: null as never,
    methods: [],
    url: null,
    connections: async () => []
  })
  const pages: PageReply = {
    async send(_request, reply, page, content, settings = {}) {
      sent.push({ page, content: { ...content }, settings: { ...settings } })
      return reply
        .code(settings.statusCode ?? 200)
        .type('text/html; charset=utf-8')
        .send(`<title>${page}</title>`)
    },
    messagesFor: () => messagesOf('en'),
    document: async (_request, reply) => reply,
    assets: null as never
  }
  const path = (name: string): string => `${prefix}/${name}`
  const deps = { authorize, browser, pages, path, link: path, homeUrl: issuer, loginUrl: null } as unknown as PageDeps

  await host?.(app as unknown as FastifyInstance)
  app.decorateRequest('authSession', null)
  app.post('/host/sign-in/:id', async (request, reply) => {
    await authority.signIn(request, reply, (request.params as { id: string }).id)
    return { ok: true }
  })
  app.post('/host/sign-out', async (request, reply) => {
    await authority.signOut(request, reply)
    return { ok: true }
  })
  app.get('/host/me', { onRequest: [readSession] }, async (request) => ({
    session: (request as unknown as { authSession: unknown }).authSession
  }))
  await app.register(async (child) => {
    registerFormParser(child as unknown as FastifyInstance, '/auth/token')
    usePageErrors(child as unknown as FastifyInstance, deps, app as unknown as FastifyInstance)
    logoutRoutes(child as unknown as FastifyInstance, deps)
  })
  await app.register(async (child) => {
    useStrictValidation(child as unknown as FastifyInstance)
    useErrorReply(child as unknown as FastifyInstance, app as unknown as FastifyInstance)
    // The access token is the name of its user and its family.
    const readAuth = (request: { headers: Record<string, unknown> }): unknown => {
      const [sub, sid] = String(request.headers.authorization).replace('Bearer ', '').split(':')
      return { sub, sid }
    }
    useCallers(
      child as unknown as FastifyInstance,
      createGuards({
        grants,
        token: readAuth,
        browser
      } as unknown as GuardDeps)
    )
    for (const { register } of groupsOf(sessions, { grants, path, prefix, wellKnown: {} } as unknown as HttpDeps))
      register(child as unknown as FastifyInstance)
  })
  await app.ready()
  t.teardown(async () => {
    await app.close()
  })

  return {
    ...world,
    app,
    sent,
    hints,
    users,
    authority,
    cookieName: cookie.name,
    /** Signs in by the host's own route, and returns the browser's cookies. */
    async signIn(
      userId = 'ann',
      headers: Record<string, string> = {}
    ): Promise<{ cookie: string; header: string; sid: string }> {
      const reply = await app.inject({ method: 'POST', url: `/host/sign-in/${userId}`, headers })
      if (reply.statusCode !== 200) throw new Error(reply.body)
      const header = setCookies(reply).find((one) => one.startsWith(cookie.name)) ?? ''
      const pair = header.split(';')[0] ?? ''
      return { cookie: pair, header, sid: world.sidOf(pair.slice(cookie.name.length + 1)) ?? '' }
    },
    me: async (cookieHeader?: string): Promise<{ sub: string; sid: string; authenticatedAt: string } | null> =>
      (
        await app.inject({ url: '/host/me', headers: cookieHeader === undefined ? {} : { cookie: cookieHeader } })
      ).json<{ session: { sub: string; sid: string; authenticatedAt: string } | null }>().session,
    get: async (url: string, headers: Record<string, string> = {}) => await app.inject({ url, headers }),
    post: async (url: string, form: Record<string, string> | string, headers: Record<string, string> = OWN) =>
      await app.inject({
        method: 'POST',
        url,
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        payload: typeof form === 'string' ? form : String(new URLSearchParams(form))
      })
  }
}

export function setCookies(reply: LightMyRequestResponse): string[] {
  return [reply.headers['set-cookie'] ?? []].flat()
}
