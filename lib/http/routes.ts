import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { accountPages } from './account-pages.ts'
import { accountRoutes } from './accounts.ts'
import { authorizeRoutes } from './authorize.ts'
import { useStrictValidation } from './body.ts'
import { browserSessionRoutes } from './browser-session.ts'
import { consentPage } from './consent-page.ts'
import type { Cors, CorsPolicy } from './cors.ts'
import type { HttpDeps } from './deps.ts'
import { useErrorReply, usePlainJson } from './error-reply.ts'
import { introspectRoute } from './introspect.ts'
import { jwksRoute } from './jwks.ts'
import { redactLoggedUrls } from './log-redaction.ts'
import { loginPage } from './login-page.ts'
import { logoutRoutes } from './logout.ts'
import { metadataRoute } from './metadata.ts'
import { pageAssetRoutes } from './page-assets.ts'
import type { PageDeps } from './page-deps.ts'
import { usePageErrors } from './page-errors.ts'
import { registerFormParser } from './page-forms.ts'
import { isPageReply } from './page-reply.ts'
import { refreshRoute } from './refresh.ts'
import { revokeRoute } from './revoke.ts'
import { sessionRoutes } from './sessions.ts'
import { tokenRoute } from './token.ts'
import { userinfoRoute } from './userinfo.ts'

export interface Placement {
  /** `null`: there is no key set. */
  jwksConstraints: { host?: string } | null
  metadataConstraints: { host?: string }
  openidConstraints: { host?: string }
  watch: onRequestHookHandler | null
}

export interface RouteDeps extends HttpDeps {
  cors: Cors
  /** `null`: no hosted pages. */
  pages: PageDeps | null
}

interface Group {
  /** What other origins may read; `undefined`: whatever the host says. */
  cors?: CorsPolicy
  /** Errors are pages. */
  pages?: PageDeps
  register(child: FastifyInstance): void
}

/**
 * Every route of the plugin, each group in a child of its own: our parsers, validator and error handler end at its walls, and
 * the host's hooks, logger and request ids come in.
 */
export async function registerRoutes (host: FastifyInstance, deps: RouteDeps, placement: Placement): Promise<void> {
  for (const { cors: policy, pages, register } of groupsOf(deps, placement)) {
    await host.register(async (child) => {
      useStrictValidation(child)
      redactLoggedUrls(child)
      if (pages === undefined) {
        useErrorReply(child, host)
        usePlainJson(child)
      } else {
        registerFormParser(child)
        usePageErrors(child, pages, host)
      }
      if (placement.watch !== null) child.addHook('onRequest', placement.watch)
      policy?.(child)
      child.addHook('onSend', (_request, reply, payload, done) => {
        if (!isPageReply(reply)) {
          reply.header('x-content-type-options', 'nosniff')
          reply.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
          reply.header('referrer-policy', 'no-referrer')
        }
        done(null, payload)
      })
      register(child)
    })
  }
}

function groupsOf (deps: RouteDeps, { jwksConstraints, metadataConstraints, openidConstraints }: Placement): Group[] {
  const { cors, pages, openid } = deps
  const hasKeySet = jwksConstraints !== null
  const wellKnown = (child: FastifyInstance): void => {
    if (jwksConstraints !== null) jwksRoute(child, deps, jwksConstraints)
    metadataRoute(child, deps, { constraints: metadataConstraints, openidConstraints, hasKeySet })
  }
  return [
    { cors: cors.ofClients, register: (child) => { tokenRoute(child, deps) } },
    { register: (child) => { refreshRoute(child, deps) } },
    { cors: cors.ofClients, register: (child) => { revokeRoute(child, deps) } },
    { cors: cors.noOrigin, register: (child) => { introspectRoute(child, deps) } },
    { register: (child) => { accountRoutes(child, deps) } },
    { register: (child) => { sessionRoutes(child, deps) } },
    { cors: cors.anyOrigin, register: wellKnown },
    ...(hasKeySet ? [{ cors: cors.ofAccessTokens, register: (child: FastifyInstance) => { userinfoRoute(child, deps) } }] : []),
    ...(pages === null ? [] : pageGroups(pages, { cors, redirectLogin: openid !== null }))
  ]
}

function pageGroups (pages: PageDeps, { cors, redirectLogin }: { cors: Cors, redirectLogin: boolean }): Group[] {
  const group = (...parts: Array<(child: FastifyInstance, deps: PageDeps) => void>): Group => ({
    cors: cors.noOrigin,
    pages,
    register: (child) => { for (const part of parts) part(child, pages) }
  })
  return [
    group(loginPage, accountPages, logoutRoutes),
    { cors: cors.noOrigin, register: (child) => { browserSessionRoutes(child, pages) } },
    { register: (child) => { pageAssetRoutes(child, pages.pages.assets, { prefix: pages.prefix }) } },
    ...(redirectLogin ? [group(authorizeRoutes, consentPage)] : [])
  ]
}
