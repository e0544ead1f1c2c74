import type { FastifyInstance } from 'fastify'
import type { AccountsDeps } from './accounts/deps.ts'
import type { AuthorizeDeps } from './authorize/deps.ts'
import type { BrowserSignIn } from './http/browser-sign-in.ts'
import type { HttpDeps } from './http/deps.ts'
import { createJourneys } from './http/journeys.ts'
import type { PageDeps } from './http/page-deps.ts'
import { createPageReply } from './http/page-reply.ts'
import type { SessionCookie } from './http/session-cookie.ts'
import { type AuthorityOptions, DEFAULTS, type PagesOptions, type PathName } from './options.ts'

/**
 * The links that messages bear. A hosted page works without scripts, so its token is in the query, which is neither logged nor
 * sent as a referrer; a page of the host's own gets it in the fragment, which no server sees.
 */
export function messageUrls (host: FastifyInstance, { issuer, pages }: AuthorityOptions, path: (name: PathName) => string): AccountsDeps['messageUrl'] {
  const { origin } = new URL(issuer)
  return (kind, token) => {
    const page = `${origin}${host.prefix}${path(kind === 'password_reset' ? 'resetPassword' : 'verifyEmail')}`
    return `${page}${pages === false ? '#' : '?'}token=${token}`
  }
}

interface PageParts extends Pick<HttpDeps, 'grants' | 'limiter' | 'registration' | 'path'> {
  authorize: AuthorizeDeps
  browser: BrowserSignIn
  cookie: SessionCookie
}

/** What the hosted pages are built from. */
export function pageDeps (host: FastifyInstance, { issuer, prefix = DEFAULTS.prefix, pages: given, password }: AuthorityOptions, parts: PageParts): PageDeps {
  const pages: PagesOptions = given === false ? {} : given ?? {}
  const { users, outbox } = parts.grants.accounts
  const homeUrl = pages.home ?? new URL(issuer).pathname
  const link = (name: PathName): string => `${host.prefix}${parts.path(name)}`
  const loginUrl = pages.loginUrl ?? null
  const minLength = password?.minLength ?? DEFAULTS.password.minLength
  return {
    ...parts,
    pages: createPageReply({ issuer, prefix: `${host.prefix}${prefix}`, pages: { ...pages, accentColor: pages.accentColor ?? DEFAULTS.pages.accentColor } }),
    journey: createJourneys(parts.authorize, { authorizeUrl: link('authorize'), homeUrl }),
    signIn: parts.browser.signIn,
    prefix,
    link,
    homeUrl,
    loginUrl,
    minLength,
    offers: {
      signup: loginUrl === null && parts.registration !== null && users.create !== undefined,
      reset: users.setPasswordHash !== undefined && outbox !== null
    }
  }
}
