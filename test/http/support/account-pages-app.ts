import { NO_REQUEST } from '../../../lib/events.ts'
import Fastify, { type FastifyInstance, type FastifyRequest, type LightMyRequestResponse } from 'fastify'
import type { TObject } from '@sinclair/typebox'
import { memoryAttemptStore } from '../../../lib/adapters/memory/attempt-store.ts'
import { systemRandom } from '../../../lib/adapters/node/system.ts'
import { createAttemptLimiter } from '../../../lib/adapters/rate-limit/limiter.ts'
import { canResetPasswords, requestPasswordReset } from '../../../lib/accounts/reset-password.ts'
import { canVerifyEmails, requestEmailVerification } from '../../../lib/accounts/verify-email.ts'
import { OAuthError } from '../../../lib/errors.ts'
import type { AuthorizeDeps } from '../../../lib/authorize/deps.ts'
import { accountPages } from '../../../lib/http/routes.ts'
import { accounts } from '../../../lib/http/api/accounts.ts'
import { useStrictValidation } from '../../../lib/http/edge/body.ts'
import { createGuards, type GuardDeps } from '../../../lib/http/edge/caller-guards.ts'
import { useCallers } from '../../../lib/http/edge/callers.ts'
import { missingToken } from '../../../lib/protocol/bearer.ts'
import { groupsOf, type HttpDeps } from '../../../lib/http/edge/endpoint.ts'
import { useErrorReply } from '../../../lib/http/edge/error-reply.ts'
import type { Journey, PageDeps } from '../../../lib/http/pages/deps.ts'
import { createRequestLimiter } from '../../../lib/http/edge/limit.ts'
import { SEALED, sealedCookies, plainCookie, type PlainCookie } from '../../../lib/http/edge/sealed-cookies.ts'
import { createWaiting } from '../../../lib/http/pages/waiting.ts'
import type { Sealer } from '../../../lib/ports/cryptography.ts'
import { usePageErrors } from '../../../lib/http/pages/errors.ts'
import type { PageReply } from '../../../lib/http/pages/reply.ts'
import { registerFormParser } from '../../../lib/http/pages/page-routes.ts'
import { messagesOf } from '../../../lib/pages/texts.ts'
import type { RateLimitOptions } from '../../../lib/settings/sections/rate-limit.ts'
import { resolveRateLimits } from '../../../lib/settings/sections/rate-limit.ts'
import { registrationWith } from '../../../lib/http/edge/registration.ts'
import { origin, world, type World, type WorldOptions } from '../../unit/accounts/world.ts'

export const ORIGIN = 'https://auth.example.com'
const OWNER = { issuer: ORIGIN, prefix: '/auth' }
type Sealers = Parameters<typeof sealedCookies>[1]
const noCookie = (name: string): PlainCookie => ({
  name,
  read: () => undefined,
  set() {},
  clear() {},
  fits: () => true,
  pending: () => undefined
})
/** The browser's headers on a form that it posts from one of our pages. */
export const OWN = { 'sec-fetch-site': 'same-origin', origin: ORIGIN }

/** A page that a route sent. */
export interface Sent {
  page: string
  content: Record<string, unknown>
  settings: Record<string, unknown>
}

export interface PagesApp {
  app: FastifyInstance
  w: World
  /** Every page so far. */
  sent: Sent[]
  last(): Sent
  /** The users who were signed in, in order. */
  signedIn: string[]
  logged: Array<Record<string, unknown>>
  get(url: string, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  /** Posts a form as our own page would. */
  post(
    url: string,
    form: Record<string, string> | string,
    headers?: Record<string, string>
  ): Promise<LightMyRequestResponse>
  follow(reply: LightMyRequestResponse): Promise<LightMyRequestResponse>
  /** The token in the message. */
  resetToken(username?: string): Promise<string>
  verifyToken(userId: string): Promise<string>
}

export interface PagesAppOptions extends WorldOptions {
  fields?: TObject
  registration?: false
  limits?: RateLimitOptions
  prefix?: string
  /** Called before our routes are added. */
  host?: (app: FastifyInstance) => void
  /** Changes what the routes are built from. */
  deps?: (deps: PageDeps) => Partial<PageDeps>
  /** Other pages, instead of the account pages. */
  pages?: typeof accountPages
}

const PATHS: Record<string, string> = {
  signup: '/signup',
  forgotPassword: '/forgot-password',
  checkEmail: '/check-email',
  resetPassword: '/reset-password',
  verifyEmail: '/verify-email',
  login: '/login',
  logout: '/logout',
  register: '/register',
  password: '/password',
  passwordReset: '/password-reset',
  passwordResetConfirm: '/password-reset/confirm',
  emailVerify: '/email/verify'
}

/** A journey that is read only from the page's own query string. */
export async function readJourney(request: FastifyRequest): Promise<Journey> {
  const query = new URLSearchParams(request.url.split('?')[1])
  if (query.get('client_id') === 'nobody') throw new OAuthError('invalid_request', 'There is no such client.')
  const kept = String(
    new URLSearchParams([...query].filter(([name]) => ['client_id', 'state', 'return_to'].includes(name)))
  )
  const client = query.get('client_id')
  return {
    query: kept === '' ? '' : `?${kept}`,
    clientName: client,
    uiLocales: client === null ? [] : ['fr'],
    formActions: client === null ? [] : ['https://app.example'],
    loginHint: query.get('login_hint') ?? undefined,
    asksAll: false,
    wantsSignUp: false,
    next: client === null ? (query.get('return_to') ?? '/') : `/auth/authorize?${kept}`,
    nativeRequest: null
  }
}

/**
 * The routes of the account pages and of their JSON siblings, over real use cases and limits; pages are only recorded.
 */
export async function pagesApp(
  t: { teardown(task: () => Promise<void>): void },
  options: PagesAppOptions = {}
): Promise<PagesApp> {
  const w = await world(options)
  const sent: Sent[] = []
  const signedIn: string[] = []
  const logged: PagesApp['logged'] = []
  const app = Fastify({
    logger: {
      level: 'info',
      stream: {
        write(line: string) {
          logged.push(JSON.parse(line) as Record<string, unknown>)
        }
      }
    }
  }) as unknown as FastifyInstance
  const store = memoryAttemptStore({ clock: w.clock })
  const attempts = createAttemptLimiter(store)
  const limiter = createRequestLimiter(options.limits === undefined ? false : resolveRateLimits(options.limits), {
    attempts: {
      ...attempts,
      refund: (id, given) => {
        store.refund(id, given)
      }
    },
    random: systemRandom(),
    events: w.deps.events,
    log: { info() {}, warn() {}, error() {} },
    clock: w.clock,
    deviceKey: Buffer.alloc(32, 7),
    userOf: async (account) => await w.store.findByUsername(account),
    onceRehashed: async (user) => user,
    deviceCookie: plainCookie({ ...OWNER, of: 'device' })
  })
  const journeys: PageDeps['journeys'] = {
    read: readJourney,
    from: async (query) => await readJourney({ url: query } as FastifyRequest),
    kept: async (query) => await readJourney({ url: query ?? '' } as FastifyRequest)
  }
  const plain: Sealer = {
    seal: (text) => Buffer.from(text).toString('base64url'),
    open: (text) => (text === '' ? null : Buffer.from(text, 'base64url').toString())
  }
  const sealed = sealedCookies(OWNER, Object.fromEntries(SEALED.map((kind) => [kind, plain])) as Sealers)
  const deps: PageDeps = {
    authorize: {
      accounts: w.deps,
      browserSessions: {
        async start(userId) {
          signedIn.push(userId)
          return {
            cookie: '__Host-session=fresh',
            session: {
              sid: 'sid-fresh',
              userId,
              authenticatedAt: 0,
              methods: [],
              createdAt: 0,
              lastUsedAt: 0,
              expiresAt: 1,
              idleExpiresAt: 1,
              userAgent: null,
              clientIds: [],
              secretDigest: ''
            }
          }
        }
      } as Partial<AuthorizeDeps['browserSessions']>
    } as AuthorizeDeps,
    limiter,
    registration:
      options.registration === false ? null : await registrationWith(options.fields ?? null, (names) => names),
    path: (name) => `/auth${PATHS[name]}`,
    journeys,
    cookies: {
      session: noCookie('session'),
      step: noCookie('step'),
      trusted: null,
      device: noCookie('device'),
      prompted: noCookie('prompted'),
      enrolment: null
    },
    sealed,
    waiting: createWaiting(sealed, w.deps),
    browser: {
      hasCookie: () => false,
      signedIn: async () => null,
      async makeKnown() {},
      read: async () => ({ cookie: undefined, session: null, isKnown: () => true, origin: NO_REQUEST }),
      setCookie: (reply, value) => {
        reply.header('set-cookie', value)
      }
    } as Partial<PageDeps['browser']> as PageDeps['browser'],
    pages: {
      messagesFor: (_request, { uiLocales } = {}) => messagesOf(uiLocales?.[0] === 'fr' ? 'fr' : 'en'),
      assets: {} as PageReply['assets'],
      document: async (_, reply) => reply,
      async send(_request, reply, page, content, settings = {}) {
        sent.push({ page, content: { ...content }, settings: { ...settings } })
        reply.code(settings.statusCode ?? 200).type('text/html')
        return reply.send(`<title>${page}</title>`)
      }
    },
    minLength: 8,
    homeUrl: ORIGIN,
    newLinkFor: () => null,
    scopeTexts: {},
    prefix: '/auth',
    loginUrl: null,
    parts: [],
    link: (name) => `${options.prefix ?? ''}/auth${PATHS[name]}`,
    offers: {
      signup: options.registration !== false && w.deps.users.create !== undefined,
      reset: canResetPasswords(w.deps),
      emailVerification: canVerifyEmails(w.deps),
      account: false,
      consents: false
    }
  }
  const grants = { accounts: w.deps } as GuardDeps['grants']
  const guardOf = createGuards({
    ...deps,
    grants,
    token: () => missingToken()
  } as unknown as GuardDeps)
  options.host?.(app)
  await app.register(
    async (scope) => {
      await scope.register(async (child) => {
        const changed = { ...deps, ...options.deps?.(deps) }
        useStrictValidation(child)
        registerFormParser(child, '/auth/token')
        usePageErrors(child, changed, app)
        useCallers(child, guardOf)
        ;(options.pages ?? accountPages)(child, changed)
      })
      await scope.register(async (child) => {
        useStrictValidation(child)
        useErrorReply(child, app)
        useCallers(child, guardOf)
        for (const { register } of groupsOf(accounts, { ...deps, grants, wellKnown: {} } as unknown as HttpDeps))
          register(child)
      })
    },
    options.prefix === undefined ? {} : { prefix: options.prefix }
  )
  await app.ready()
  t.teardown(async () => {
    await app.close()
  })
  return {
    app,
    w,
    sent,
    signedIn,
    logged,
    last() {
      const last = sent.at(-1)
      if (last === undefined) throw new Error('No page was sent.')
      return last
    },
    get: async (url, headers = {}) => await app.inject({ url, headers }),
    post: async (url, form, headers = OWN) =>
      await app.inject({
        method: 'POST',
        url,
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        payload: typeof form === 'string' ? form : String(new URLSearchParams(form))
      }),
    follow: async ({ headers: { location = '' }, cookies }) =>
      await app.inject({
        url: location,
        headers: { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') }
      }),
    async resetToken(username = 'ada@example.com') {
      await requestPasswordReset({ username, origin }, w.deps)
      await w.idle()
      return w.messages.findLast(({ kind }) => kind === 'password_reset')?.token ?? ''
    },
    async verifyToken(userId) {
      const user = await w.store.findById(userId)
      if (user === null) throw new Error('There is no such user.')
      await requestEmailVerification(user, { locale: undefined, origin }, w.deps)
      await w.idle()
      return w.messages.findLast(({ kind }) => kind === 'verify_email')?.token ?? ''
    }
  }
}

/** Everything that a stranger sees: the response, and the model of the page. */
export function visible(
  { statusCode, headers, body }: LightMyRequestResponse,
  { page, content, settings }: Sent
): unknown {
  const { date: _date, ...rest } = headers
  return { statusCode, headers: rest, body, page, content, settings }
}
