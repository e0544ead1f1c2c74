import cluster from 'node:cluster'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import type { Authority } from './composition/authority.ts'
import { cookiesOf } from './composition/cookies.ts'
import { createAuthority } from './composition/create-authority.ts'
import { withCheckedHooks } from './composition/hooks.ts'
import { createServices, type Services } from './composition/services.ts'
import {
  authenticateHook,
  authenticateOptionalHook,
  type Hook,
  type ReadAuth,
  requireAuthHook,
  requireFirstPartyHook,
  requireScopeHook
} from './http/edge/guard.ts'
import { requestBrowser } from './http/edge/request-browser.ts'
import { oncePerRequest, registeredOrigins } from './http/edge/client-origins.ts'
import { createCors } from './http/edge/cors.ts'
import { stepTowards } from './authorize/reachable.ts'
import type { SignedInPerson } from './sessions/browser-sessions.ts'
import { ownProfileFields } from './accounts/profile.ts'
import { registrationWith } from './http/edge/registration.ts'
import { connectButtons } from './http/pages/connect/buttons.ts'
import { sendErrorPage } from './http/pages/errors.ts'
import { registerRoutes } from './http/routes.ts'
import { type AuthSession, sessionHooks } from './http/edge/session-hook.ts'
import { LOCALES } from './pages/texts.ts'
import { decorateShared, refuseTakenNames } from './composition/names.ts'
import { accountUrl, connectionCallbacks, messageUrls, pageDeps } from './composition/pages.ts'
import { refuseTakenRoutes } from './composition/taken-routes.ts'
import { placesOf } from './settings/places.ts'
import { redisClientOf } from './settings/redis-client.ts'
import type { User } from './ports/user-store.ts'
import type { AccessTokenClaims } from './protocol/access-token.ts'
import { type AuthRequirements, stepUpOf } from './settings/auth-requirements.ts'
import { settingsOf } from './settings/check.ts'
import type { AuthorityOptions } from './settings/options.ts'
import { PATHS, type PathName } from './settings/paths.ts'
import { warnOfUnsafeSettings } from './settings/warnings.ts'
import { logLine } from './ports/log.ts'

/** What the plugin adds to the instance, under these names or those of the option `decorators`. */
export interface AuthorityDecorators {
  /** An `onRequest` hook: verifies the Bearer access token and sets `request.auth`. 401 otherwise. @see RFC 6750 */
  authenticate: Hook
  /** The same where a token was sent. Where none was, `request.auth` stays `null` and the request goes on. */
  authenticateOptional: Hook
  /**
   * A hook for after `authenticate`, which by itself takes the tokens of every client: 403 for those of clients with
   * `firstParty: false`.
   */
  requireFirstParty: Hook
  /** A hook for after `authenticate`: 403 unless all these scopes were granted. */
  requireScope: (...scopes: string[]) => Hook
  /**
   * A hook for after `authenticate`: the token's user must have signed in `maxAge` seconds ago at the most, and by what
   * is worth `acr` at the least. Else 401 `insufficient_user_authentication` with a challenge that names both, for a
   * new sign-in; a claim that a token lacks counts as not met. Tokens without a user (`client_credentials`) are 403
   * `access_denied`, since no sign-in would help.
   * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS`, where the hook is made, for what can't be met
   * @see RFC 9470 §3
   */
  requireAuth: (required: AuthRequirements) => Hook
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

const SWEEP_EVERY_MS = 60_000

const plugin: FastifyPluginAsync<AuthorityOptions> = async (host, given) => {
  const settings = withCheckedHooks(settingsOf(given))
  const names = settings.decorators
  refuseTakenNames(host, names)
  const places = placesOf(host, settings)
  const path = (name: PathName): string =>
    places.wellKnown[name]?.path ?? settings.paths[name] ?? `${places.prefix}${PATHS[name] ?? ''}`
  refuseTakenRoutes(host, path)
  const services = await createServices(settings, {
    log: host.log,
    redis: redisClientOf(host, settings),
    redirectLogin: places.redirectLogin,
    messageUrl: messageUrls(host, settings, path),
    accountUrl: accountUrl(host, settings, path),
    callbackUrl: connectionCallbacks(host, settings, path)
  })
  const { grants, accessTokens, authorize, clock, events, limiter, ring } = services

  const readAuth: ReadAuth = (request) =>
    (request as unknown as Record<string, AccessTokenClaims | null>)[names.auth] ?? null
  const authenticate = authenticateHook(accessTokens, names.auth)
  const cookies = cookiesOf(settings, `${host.prefix}${places.prefix}`)
  const browser = requestBrowser({
    cookies,
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
      grants.accounts
    )
    return step === null || step === 'never' ? step : { path: `${host.prefix}${path(steps[step])}` }
  }
  host.decorateRequest(names.auth, null)
  decorateShared(host, 'authSession', names.authSession, () => {
    host.decorateRequest(names.authSession, null)
  })
  host.decorate(names.authenticate, authenticate)
  decorateShared(host, 'authenticateOptional', names.authenticateOptional, () => {
    host.decorate(names.authenticateOptional, authenticateOptionalHook(authenticate))
  })
  decorateShared(host, 'requireFirstParty', names.requireFirstParty, () => {
    host.decorate(names.requireFirstParty, requireFirstPartyHook(grants.clients, readAuth))
  })
  host.decorate(names.requireScope, (...scopes: string[]) => requireScopeHook(scopes, readAuth))
  decorateShared(host, 'requireAuth', names.requireAuth, () => {
    host.decorate(names.requireAuth, (required: AuthRequirements) =>
      requireAuthHook(stepUpOf(required, names.requireAuth, settings.acrValues), settings.acrValues, readAuth, clock)
    )
  })
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
          redirectLogin: places.redirectLogin
        })
  const { readSession, requireSession } = sessionHooks(
    {
      browser,
      browserSessions: authorize.browserSessions,
      clock,
      issuer: settings.issuer,
      stepPath,
      loginPath: `${host.prefix}${path('login')}`,
      reauthenticatePath:
        settings.pages !== false && settings.pages.loginUrl === null ? `${host.prefix}${path('reauthenticate')}` : null,
      sendErrorPage:
        pages === null ? null : async (error, request, reply) => await sendErrorPage(error, request, reply, pages)
    },
    names.authSession
  )
  host.decorate(
    names.authority,
    createAuthority({
      health: services.health,
      grants,
      accessTokens,
      events,
      consents: authorize.consents,
      browser,
      readSession,
      limiter,
      requireSession:
        pages === null ? null : (required) => requireSession(stepUpOf(required, 'requireSession', settings.acrValues)),
      enrolmentUrl:
        pages === null
          ? null
          : (token) => `${new URL(settings.issuer).origin}${pages.link('secondFactorLink')}?token=${token}`,
      connections: async (request) =>
        pages === null
          ? []
          : (await connectButtons(request, await pages.journeys.read(request), pages)).map(({ id, name, url }) => ({
              id,
              name,
              url
            }))
    })
  )
  const listed = Array.isArray(settings.clients) ? settings.clients : null
  const clientsOf = listed === null ? oncePerRequest(grants.clients) : () => grants.clients
  await registerRoutes(
    host,
    {
      ...shared,
      connections: authorize.connections,
      grants,
      clientsOf,
      ring,
      authenticate,
      readAuth,
      browser,
      cookieName: cookies.session.name,
      usualPaths: PATHS,
      cors: createCors(listed ?? clientsOf),
      secretHeaders:
        settings.rateLimit === false || settings.rateLimit.apiKey === null ? [] : [settings.rateLimit.apiKey.header],
      senders: { issuer: settings.issuer, ...registeredOrigins(listed ?? clientsOf) },
      acrValues: settings.acrValues,
      openid: places.redirectLogin
        ? { uiLocales: LOCALES, canSignUp: authorize.canSignUp, algs: () => ring.algs() }
        : null,
      pages
    },
    {
      jwksConstraints: places.wellKnown.jwks?.constraints ?? null,
      metadataConstraints: places.wellKnown.metadata?.constraints ?? {},
      webauthnConstraints: places.wellKnown.webauthn?.constraints ?? null,
      openidConstraints: places.wellKnown.openidConfiguration?.constraints ?? {},
      watch: warnOfUnsafeSettings(host, settings, {
        misplaced: places.misplaced,
        memoryState: !services.state.shared,
        ownCounters: settings.redis === null && settings.rateLimit !== false && services.state.time !== undefined,
        severalProcesses: cluster.isWorker
      })
    }
  )
  sweepRegularly(services, host)
  host.addHook('onClose', async () => {
    await services.close()
  })
}

/** The plugin, as `app.register` takes it. */
export interface AuthPlugin {
  /** `app.register(authPlugin<Account>, …)`: `claims` gets users of the type of the user store's rows. */
  <Account extends User>(app: FastifyInstance, options: AuthorityOptions<Account>): Promise<void>
  /**
   * TypeScript checks the options of `app.register(authPlugin, …)` by the last signature, so the general one is last.
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
