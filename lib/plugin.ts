import cluster from 'node:cluster'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import { createAuthority, type Authority } from './authority.ts'
import { createServices, type Services } from './services.ts'
import { StartError } from './errors.ts'
import { authenticateHook, type Hook, type ReadAuth, requireScopeHook } from './http/guard.ts'
import { browserSignIn } from './http/browser-sign-in.ts'
import { createCors } from './http/cors.ts'
import { registerRoutes } from './http/routes.ts'
import { sessionCookie } from './http/session-cookie.ts'
import { type AuthSession, readSessionHook } from './http/session-hook.ts'
import { LOCALES } from './pages/messages.ts'
import { messageUrls, pageDeps } from './plugin-pages.ts'
import { placesOf } from './plugin-places.ts'
import { redisClientOf } from './plugin-redis.ts'
import type { AccessTokenClaims } from './protocol/access-token.ts'
import { checkOptions } from './options-check.ts'
import { type AuthorityOptions, DEFAULTS, type PathName } from './options.ts'
import { warnOfUnsafeSettings } from './warnings.ts'

/** What the plugin adds to the instance, under these names or those of the option `decorators`. */
export interface AuthorityDecorators {
  /** An `onRequest` hook: verifies the Bearer access token and sets `request.auth`. 401 otherwise. @see RFC 6750 */
  authenticate: Hook
  /** A hook for after `authenticate`: 403 unless all these scopes were granted. */
  requireScope: (...scopes: string[]) => Hook
  authority: Authority
}

declare module 'fastify' {
  interface FastifyInstance extends AuthorityDecorators {}
  interface FastifyRequest {
    /** The claims of the verified access token, frozen; `null` before `authenticate` ran. */
    auth: AccessTokenClaims | null
    /** Who is signed in in this browser; `null` where nobody is, or before `app.authority.readSession` ran. */
    authSession: AuthSession | null
  }
}

const PATHS: Record<Exclude<PathName, 'metadata' | 'openidConfiguration'>, string> = {
  token: '/token',
  refresh: '/refresh',
  revoke: '/revoke',
  introspect: '/introspect',
  userinfo: '/userinfo',
  register: '/register',
  password: '/password',
  passwordReset: '/password-reset',
  passwordResetConfirm: '/password-reset/confirm',
  emailVerify: '/email/verify',
  sessions: '/sessions',
  session: '/session',
  authorize: '/authorize',
  login: '/login',
  signup: '/signup',
  forgotPassword: '/forgot-password',
  resetPassword: '/reset-password',
  verifyEmail: '/verify-email',
  consent: '/consent',
  logout: '/logout',
  jwks: '/.well-known/jwks.json'
}

const SWEEP_EVERY_MS = 60_000

const plugin: FastifyPluginAsync<AuthorityOptions> = async (host, given) => {
  const options = checkOptions(given)
  const names = { ...DEFAULTS.decorators, ...options.decorators }
  refuseTakenNames(host, names)
  const places = placesOf(host, options)
  const path = (name: PathName): string => places.wellKnown[name]?.path ?? options.paths?.[name] ?? `${places.prefix}${PATHS[name as keyof typeof PATHS]}`
  const services = await createServices(options, { log: host.log, redis: redisClientOf(host, options), redirectLogin: places.redirectLogin, messageUrl: messageUrls(host, options, path) })
  const { grants, accessTokens, authorize, clock, events, limiter, ring } = services

  const readAuth: ReadAuth = (request) => (request as unknown as Record<string, AccessTokenClaims | null>)[names.auth] ?? null
  const authenticate = authenticateHook(accessTokens, names.auth)
  const cookie = sessionCookie({ issuer: options.issuer, prefix: `${host.prefix}${places.prefix}`, maxAgeSeconds: options.session?.expiresIn ?? DEFAULTS.session.expiresIn })
  const browser = browserSignIn({ cookie, browserSessions: authorize.browserSessions })
  const readSession = readSessionHook({ cookie, browserSessions: authorize.browserSessions, users: grants.accounts.users, clock }, names.authSession)
  host.decorateRequest(names.auth, null)
  decorateAuthSession(host, names.authSession)
  host.decorate(names.authenticate, authenticate)
  host.decorate(names.requireScope, (...scopes: string[]) => requireScopeHook(scopes, readAuth))
  host.decorate(names.authority, createAuthority({ grants, accessTokens, events, consents: authorize.consents, browser, readSession }))

  const registration = options.registration === false ? null : { fields: options.registration?.fields ?? null }
  const shared = { grants, limiter, registration, path }
  await registerRoutes(host, {
    ...shared,
    ring,
    authenticate,
    readAuth,
    cors: createCors(Array.isArray(options.clients) || options.clients === undefined ? options.clients ?? [] : grants.clients),
    openid: places.redirectLogin ? { uiLocales: LOCALES, algs: () => ring.algs() } : null,
    pages: options.pages === false ? null : pageDeps(host, options, { ...shared, authorize, browser, cookie })
  }, {
    jwksConstraints: places.wellKnown.jwks?.constraints ?? null,
    metadataConstraints: places.wellKnown.metadata?.constraints ?? {},
    openidConstraints: places.wellKnown.openidConfiguration?.constraints ?? {},
    watch: warnOfUnsafeSettings(host, options, { memoryState: !services.state.shared, ownCounters: options.redis === undefined && options.rateLimit !== false && services.state.time !== undefined, severalProcesses: cluster.isWorker })
  })
  sweepRegularly(services, host)
  host.addHook('onClose', async () => { await services.close() })
}

/** The whole authentication service: `app.register(authPlugin, { issuer, users })`. */
export const authPlugin = fp(plugin, { fastify: '5.x', name: 'fastify-authority' })

/** A name that is taken would be a crash deep inside Fastify: say it here, with the mend. */
function refuseTakenNames (host: FastifyInstance, names: Record<keyof typeof DEFAULTS.decorators, string>): void {
  for (const [what, name] of Object.entries(names)) {
    const isOfRequests = what === 'auth' || what === 'authSession'
    const taken = isOfRequests ? host.hasRequestDecorator(name) : host.hasDecorator(name)
    const shared = what === 'authSession' && authSessionNames.get(host.server)?.has(name) === true
    if (taken && !shared) throw new StartError('FST_AUTHORITY_NAME_TAKEN', `The ${isOfRequests ? 'request' : 'instance'} already has "${name}". Set the option decorators: { ${what}: 'anotherName' } of fastify-authority.`)
  }
}

/** The names under which our plugins have decorated requests for `readSession`, by server. */
const authSessionNames = new WeakMap<object, Set<string>>()

/** Another of our plugins may have done it: the value is that of the hook that ran, so two can share the name. */
function decorateAuthSession (host: FastifyInstance, name: string): void {
  if (host.hasRequestDecorator(name)) return
  host.decorateRequest(name, null)
  authSessionNames.set(host.server, (authSessionNames.get(host.server) ?? new Set()).add(name))
}

function sweepRegularly ({ clock, sweep }: Services, host: FastifyInstance): void {
  let undo = (): void => {}
  let closed = false
  const next = (): void => {
    if (closed) return
    undo = clock.after(SWEEP_EVERY_MS, () => {
      Promise.resolve().then(async () => { await sweep() }).catch((error: unknown) => { if (!closed) host.log.warn({ err: error }, 'fastify-authority: expired records could not be removed') }).finally(next)
    })
  }
  next()
  host.addHook('onClose', async () => {
    closed = true
    undo()
  })
}
