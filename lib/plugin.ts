import cluster from 'node:cluster'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import type { Authority } from './composition/authority.ts'
import { accountUrl, cookiesOf, messageUrls, pageDeps, undoUrl } from './composition/pages.ts'
import { slotOf } from './accounts/slots.ts'
import { createAuthority } from './composition/create-authority.ts'
import { tokenGuards, type TokenGuards } from './composition/guards.ts'
import { settingsOf } from './composition/compose.ts'
import { withCheckedHooks } from './composition/hooks.ts'
import { cookieJar } from './http/edge/cookie-jar.ts'
import { createServices, SERVICES, type Services } from './composition/services.ts'
import type { Hook } from './http/edge/hook.ts'
import { tokenCheck } from './http/edge/possession.ts'
import { requestBrowser } from './http/edge/request-browser.ts'
import { createCors, oncePerRequest } from './http/edge/cors.ts'
import { registeredOrigins } from './http/edge/origin-guard.ts'
import { checkRequest } from './authorize/authorize.ts'
import { stepTowards } from './authorize/requested-context.ts'
import type { SignedInPerson } from './sessions/browser-sessions.ts'
import { ownProfileFields } from './accounts/register.ts'
import { registrationWith } from './http/edge/registration.ts'
import { connectButtons } from './http/pages/parts.ts'
import { sendErrorPage } from './http/pages/errors.ts'
import { registerRoutes } from './http/routes.ts'
import { type AuthSession, sessionHooks } from './http/edge/session-hook.ts'
import { LOCALES } from './pages/texts.ts'
import { decorateAll, refuseTakenNames, refuseTakenRoutes, refuseUncalledHooks } from './composition/names.ts'
import { type ProtectedResource, protectedResources } from './composition/protected-resources.ts'
import { placesOf } from './settings/places.ts'
import { redisClientOf } from './composition/redis-client.ts'
import type { User } from './ports/user-store.ts'
import type { AccessTokenClaims } from './protocol/access-token.ts'
import { ANY_SIGN_IN, stepUpOf } from './settings/auth-requirements.ts'
import type { AuthorityOptions } from './settings/options.ts'
import { PATHS, type PathName, USUAL_PATHS } from './settings/paths.ts'
import type { ProtectedResourceOptions } from './settings/sections/resources.ts'
import { warnOfUnsafeSettings } from './settings/warnings.ts'
import { logLine } from './ports/log.ts'

/** The decorators of the instance, under these names or those of the option `decorators`. */
export interface AuthorityDecorators extends TokenGuards {
  /**
   * An `onRequest` hook for the routes of the host's own front end, which sets `request.auth`. It accepts the access
   * token of a user, if the token has no client or a first-party client. In requests from pages of this origin it also
   * accepts the browser session. Otherwise 401; 403 for tokens of third-party clients and of machines.
   */
  requireUser: Hook
  /**
   * Makes the guard of an API of this app, and serves the metadata of the API. The guard accepts only tokens and API
   * keys for this API. Adds the API to `resources` if it is missing there. Call it before the app is ready.
   * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS`
   * @see RFC 8707, RFC 9728
   */
  protectedResource: (options: ProtectedResourceOptions) => ProtectedResource
  authority: Authority
}

declare module 'fastify' {
  interface FastifyInstance extends AuthorityDecorators {}
  interface FastifyRequest {
    /**
     * The frozen claims of the verified access token, API key or browser session. `null` before a guard ran, and after
     * `authenticateOptional` without a token and without a key.
     */
    auth: AccessTokenClaims
    /**
     * The user signed in in this browser. `null` if no user is signed in, or before `readSession` or a hook of
     * `requireSession` of `app.authority` ran.
     */
    authSession: AuthSession | null
  }
}

const SWEEP_EVERY_MS = 60_000

const plugin: FastifyPluginAsync<AuthorityOptions> = async (host, given) => {
  const settings = withCheckedHooks(settingsOf(given), host.log)
  const names = settings.decorators
  refuseTakenNames(host, names)
  const places = placesOf(host, settings)
  const moved: Readonly<Partial<Record<PathName, string>>> = { ...settings.paths, ...settings.shared.paths }
  const path = (name: PathName): string =>
    places.wellKnown[name]?.path ?? moved[name] ?? `${places.prefix}${PATHS[name] ?? ''}`
  refuseTakenRoutes(host, path)
  const owner = {
    issuer: settings.issuer,
    prefix: `${host.prefix}${places.prefix}`,
    takesAnswers: settings.takesAnswers
  }
  const services = await createServices(settings, {
    owner,
    log: host.log,
    redis: redisClientOf(host, settings),
    redirectLogin: places.redirectLogin,
    messageUrl: messageUrls(host, settings, path),
    accountUrl: accountUrl(host, settings, path),
    undoUrl: undoUrl(host, settings, path),
    url: (name) => `${new URL(settings.issuer).origin}${host.prefix}${path(name)}`
  })
  const { grants, accessTokens, authorize, clock, events, limiter, ring } = services

  const token = tokenCheck(grants)
  const cookies = cookiesOf(settings, owner)
  const browser = requestBrowser({
    cookies,
    jar: cookieJar(owner),
    browserSessions: authorize.browserSessions,
    sessions: grants.sessions,
    users: grants.accounts.users,
    known: services.known
  })
  const steps = {
    second_factor: 'secondFactor',
    enrolment: 'secondFactorSetUp',
    reauthenticate: 'reauthenticate',
    passkey: 'securityPasskeys'
  } as const
  const stepPath = async (person: SignedInPerson, acr: string): Promise<{ path: string } | 'never' | null> => {
    if (settings.pages === false) return null
    const step = await stepTowards(
      acr,
      person,
      { hostedSignIn: settings.pages.loginUrl === null, accountPages: settings.pages.account },
      authorize
    )
    return step === null || step === 'never' ? step : { path: `${host.prefix}${path(steps[step])}` }
  }
  const registration =
    settings.registration === false ? null : await registrationWith(settings.registration.fields, ownProfileFields)
  const shared = { limiter, registration, path }
  const pages =
    settings.pages === false
      ? null
      : pageDeps(host, settings, settings.pages, {
          ...shared,
          authorize,
          browser,
          cookies,
          owner,
          slots: services.pageSlots,
          redirectLogin: places.redirectLogin
        })
  const { readSession, requireSession, requireUser } = sessionHooks(
    {
      browser,
      browserSessions: authorize.browserSessions,
      clients: grants.clients,
      token,
      dpopAlgs: grants.possession?.algs ?? [],
      clock,
      issuer: settings.issuer,
      stepPath,
      loginPath: `${host.prefix}${path('login')}`,
      reauthenticatePath:
        settings.pages !== false && settings.pages.loginUrl === null ? `${host.prefix}${path('reauthenticate')}` : null,
      sendErrorPage:
        pages === null ? null : async (error, request, reply) => await sendErrorPage(error, request, reply, pages)
    },
    names
  )
  const keys = slotOf(grants.accounts, 'apiKeys')
  const guards = tokenGuards(token, settings, {
    keys,
    dpopAlgs: grants.possession?.algs ?? [],
    clients: grants.clients,
    clock,
    log: host.log
  })
  const authority = createAuthority({
    health: services.health,
    grants,
    accessTokens,
    events,
    consents: authorize.consents,
    browser,
    readSession,
    limiter,
    requireSession:
      pages === null
        ? null
        : (...given) =>
            requireSession(given.length === 0 ? ANY_SIGN_IN : stepUpOf(given[0], 'requireSession', settings.acrValues)),
    methods: services.methods,
    url: pages === null ? null : (name) => `${new URL(settings.issuer).origin}${pages.link(name)}`,
    connections: async (request) =>
      pages === null
        ? []
        : (await connectButtons(request, await pages.journeys.read(request), pages)).map(({ id, name, url }) => ({
            id,
            name,
            url
          }))
  })
  SERVICES.set(authority, services)
  const protectedResource = protectedResources(host, settings, { ...grants, keys, clock })
  decorateAll(host, names, { ...guards, requireUser, protectedResource, authority })
  refuseUncalledHooks(host, {
    [names.requireScope]: guards.requireScope,
    [names.requireRole]: guards.requireRole,
    [names.requireAuth]: guards.requireAuth,
    [names.protectedResource]: protectedResource,
    [`${names.authority}.requireSession`]: authority.requireSession
  })
  const listed = Array.isArray(settings.clients) ? settings.clients : []
  const areListed = Array.isArray(settings.clients) && settings.shared.unknownClients !== true
  const clientsOf = areListed ? () => grants.clients : oncePerRequest(grants.clients, limiter)
  const others = areListed ? null : clientsOf
  await registerRoutes(host, {
    ...shared,

    grants,
    clientsOf,
    ring,
    token,
    browser,
    cookieName: cookies.session.name,
    usualPaths: USUAL_PATHS,
    prefix: places.prefix,
    wellKnown: {
      jwks: places.wellKnown.jwks?.constraints ?? null,
      metadata: places.wellKnown.metadata?.constraints ?? {},
      webauthn: places.wellKnown.webauthn?.constraints ?? null,
      changePassword: places.wellKnown.changePassword?.constraints ?? null,
      openidConfiguration: places.wellKnown.openidConfiguration?.constraints ?? {}
    },
    cors: createCors(listed, others),
    secretHeaders: [
      ...(settings.rateLimit === false || settings.rateLimit.apiKey === null ? [] : [settings.rateLimit.apiKey.header]),
      'x-api-key'
    ],
    origins: { issuer: settings.issuer, ...registeredOrigins(listed, others) },
    acrValues: settings.acrValues,
    openid: places.redirectLogin
      ? {
          uiLocales: LOCALES,
          canSignUp: authorize.canSignUp,
          algs: () => ring.algs(),
          pushed: authorize.pushed,
          checkRequest: async (params) => {
            await checkRequest(params, authorize)
          }
        }
      : null,
    pages,
    pageSlots: services.pageSlots,
    endpoints: services.endpoints,
    metadata: services.metadata,
    watch: warnOfUnsafeSettings(host, settings, {
      misplaced: places.misplaced,
      memoryState: !services.state.shared,
      ownCounters: settings.redis === null && settings.rateLimit !== false && services.state.time !== undefined,
      severalProcesses: cluster.isWorker
    })
  })
  sweepRegularly(services, host)
  // Warm up after the start, because loading the first key and the hasher would make the start a tenth longer.
  host.addHook('onReady', (done) => {
    services.warmUp()
    done()
  })
  host.addHook('onClose', async () => {
    await services.close()
  })
}

/** The plugin, for `app.register`. */
export interface AuthPlugin {
  /** With `app.register(authPlugin<Account>, …)`, the function `claims` gets users of the type `Account`. */
  <Account extends User>(app: FastifyInstance, options: AuthorityOptions<Account>): Promise<void>
  /**
   * TypeScript checks the options of `app.register(authPlugin, …)` by the last signature, so the general signature is
   * last.
   */
  (app: FastifyInstance, options: AuthorityOptions): Promise<void>
}

/** The whole authentication service: `app.register(authPlugin, { issuer, users })`. */
export const authPlugin: AuthPlugin = fp(plugin, { fastify: '5.x', name: 'fastify-authority' })

function sweepRegularly({ clock, sweep }: Services, host: FastifyInstance): void {
  let undo = (): void => {}
  let closed = false
  const next = (): void => {
    if (closed) return
    undo = clock.after(SWEEP_EVERY_MS, () => {
      Promise.resolve()
        .then(async () => {
          await sweep()
        })
        .catch((error: unknown) => {
          if (!closed)
            host.log.warn(
              ...logLine('FST_AUTHORITY_SWEEP_FAILED', 'expired records could not be removed', { err: error })
            )
        })
        .finally(next)
    })
  }
  next()
  host.addHook('onClose', async () => {
    closed = true
    undo()
  })
}
