import type { FastifyInstance, FastifyPluginAsync, onRequestHookHandler } from 'fastify'
import { accounts } from './api/accounts.ts'
import { publicDocuments } from './api/metadata.ts'
import { tokenEndpoints } from './api/token.ts'
import { presentedTokens } from './api/presented-tokens.ts'
import { type Endpoint, groupsOf, type HttpDeps } from './edge/endpoint.ts'
import { authorizeRoutes } from './pages/authorize.ts'
import { useStrictValidation } from './edge/body.ts'
import { browserSession } from './api/browser-session.ts'
import { createGuards, type GuardDeps } from './edge/caller-guards.ts'
import { useCallers } from './edge/callers.ts'
import { consentPage } from './pages/consent.ts'
import type { Cors, CorsPolicy } from './edge/cors.ts'
import { guardOrigins, type OriginGuardDeps } from './edge/origin-guard.ts'
import { namesOf, tellOfLateDocuments, useDocuments } from './edge/documents.ts'
import { useErrorReply, usePlainJson } from './edge/error-reply.ts'
import { routeChallenges } from './edge/possession.ts'
import { redactLoggedUrls } from './edge/log-redaction.ts'
import { loginPage } from './pages/login.ts'
import { logoutRoutes } from './pages/logout.ts'
import { pageAssetRoutes } from './pages/assets.ts'
import type { PageDeps, PageSlots } from './pages/deps.ts'
import { usePageErrors } from './pages/errors.ts'
import { leadToIssuer, registerFormParser } from './pages/page-routes.ts'
import { isPageReply } from './pages/reply.ts'
import { reauthenticatePage } from './pages/reauthenticate.ts'
import { securitySchemes } from './edge/operations.ts'
import type { PathName } from '../settings/paths.ts'
import { checkEmailPage, forgotPasswordPage } from './pages/check-email.ts'
import { resetPasswordPage, undoPage, verifyEmailPage } from './pages/message-links.ts'
import { signupPage } from './pages/signup.ts'

interface RouteDeps extends HttpDeps, GuardDeps {
  cors: Cors
  /** The name of the session cookie. */
  cookieName: string
  /** The path of each named route if no option moves it. */
  usualPaths: Readonly<Record<PathName, string>>
  /** Request headers that no log may show, besides those that are always hidden. In lower case. */
  secretHeaders: readonly string[]
  origins: Omit<OriginGuardDeps, 'hostAnswersPreflights'>
  /** `null`: no hosted pages. */
  pages: PageDeps | null
  /** The page additions of the features that are on. */
  pageSlots: readonly PageSlots[]
  /** The endpoints of the features that are on. */
  endpoints: readonly Endpoint[]
  watch: onRequestHookHandler | null
}

interface Group {
  /** The policy for other origins. `undefined`: the host decides. */
  cors?: CorsPolicy
  /** Set if the routes are pages. Their errors are pages too. */
  pages?: PageDeps
  register(child: FastifyInstance): void | Promise<void>
}

/**
 * Registers every route of the plugin. Each group has a child instance of its own, so that our parsers, validator and
 * error handler apply only there. The host's hooks, logger and request ids apply there too.
 */
export async function registerRoutes(host: FastifyInstance, deps: RouteDeps): Promise<void> {
  const guardOf = createGuards(deps)
  tellOfLateDocuments(host)
  const names = namesOf(Object.keys(deps.usualPaths) as PathName[], deps.path)
  const challenges = deps.grants.possession === null ? undefined : routeChallenges(deps.grants.possession)
  const schemes = securitySchemes({
    ...deps,
    hostPrefix: host.prefix,
    cookieName: deps.pages === null ? null : deps.cookieName
  })
  for (const { cors: policy, pages, register } of allGroups(deps)) {
    await host.register(
      named(async (child) => {
        useStrictValidation(child)
        redactLoggedUrls(child, deps.secretHeaders)
        if (pages === undefined) {
          useErrorReply(child, host, challenges)
          usePlainJson(child)
        } else {
          registerFormParser(child, pages.link('token'))
          usePageErrors(child, pages, host)
          leadToIssuer(child, deps.grants.accounts.issuer)
        }
        if (deps.watch !== null) child.addHook('onRequest', deps.watch)
        useCallers(child, guardOf)
        useDocuments(child, { pages: pages !== undefined, schemes, names, usualPaths: deps.usualPaths })
        policy?.(child)
        guardOrigins(child, { ...deps.origins, hostAnswersPreflights: policy === undefined })
        child.addHook('onSend', (_request, reply, payload, done) => {
          if (!isPageReply(reply)) {
            reply.header('x-content-type-options', 'nosniff')
            reply.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
            reply.header('referrer-policy', 'no-referrer')
          }
          done(null, payload)
        })
        await register(child)
      })
    )
  }
}

/**
 * Names the plugin in the host's `printPlugins()`. Without a name, Fastify searches all modules of the process for the
 * function.
 */
function named(plugin: FastifyPluginAsync): FastifyPluginAsync {
  return Object.assign(plugin, { [Symbol.for('fastify.display-name')]: 'fastify-authority: routes' })
}

function allGroups(deps: RouteDeps): Group[] {
  const json = (...endpoints: Endpoint[]): Group[] =>
    groupsOf(endpoints, deps).map(({ cors, register }) => ({
      register,
      ...(cors === undefined ? {} : { cors: deps.cors[cors] })
    }))
  return [
    ...json(
      ...tokenEndpoints(deps.grants.declaredGrants),
      ...presentedTokens,
      ...accounts,
      ...deps.endpoints,
      ...publicDocuments
    ),
    ...(deps.pages === null ? [] : pageGroups(deps.pages, deps, json))
  ]
}

function pageGroups(
  pages: PageDeps,
  { cors, openid, pageSlots }: Pick<RouteDeps, 'cors' | 'openid' | 'pageSlots'>,
  json: (...endpoints: Endpoint[]) => Group[]
): Group[] {
  const group = (...parts: Array<(child: FastifyInstance, deps: PageDeps) => void | Promise<void>>): Group => ({
    cors: cors.noOrigin,
    pages,
    async register(child) {
      for (const part of parts) await part(child, pages)
    }
  })
  return [
    group(
      loginPage,
      ...pageSlots.flatMap(({ routes }) => routes ?? []),
      (child) => {
        if (pages.loginUrl === null) reauthenticatePage(child, pages)
      },
      accountPages,
      logoutRoutes
    ),
    ...json(...browserSession(pages)),
    {
      register: (child) => {
        pageAssetRoutes(child, pages.pages.assets, { prefix: pages.prefix })
      }
    },
    ...pageSlots
      .flatMap(({ groups }) => groups?.(pages) ?? [])
      .map(({ cors: policy, register }) => ({ ...(policy === null ? {} : { cors: cors[policy] }), pages, register })),
    ...(openid !== null ? [group(authorizeRoutes, consentPage)] : [])
  ]
}

/**
 * The hosted pages for a user's own account. The pages for sign-up, password reset and email confirmation exist if the
 * JSON endpoints for these tasks do. The sign-up page also needs `pages.loginUrl` to be unset. The page `undo` exists
 * with the password reset, and the page `checkEmail` with `sendMessage`.
 */
export function accountPages(child: FastifyInstance, deps: PageDeps): void {
  if (deps.offers.signup && deps.registration !== null) signupPage(child, deps, deps.registration)
  if (deps.offers.reset) {
    forgotPasswordPage(child, deps)
    resetPasswordPage(child, deps)
    undoPage(child, deps)
  }
  if (deps.authorize.accounts.outbox !== null) checkEmailPage(child, deps)
  if (deps.offers.emailVerification) verifyEmailPage(child, deps)
}
