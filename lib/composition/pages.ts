import type { FastifyInstance } from 'fastify'
import type { AccountsDeps } from '../accounts/deps.ts'
import { canResetPasswords } from '../accounts/reset-password.ts'
import { canVerifyEmails } from '../accounts/verify-email.ts'
import type { CookieOwner } from '../http/edge/cookie-jar.ts'
import {
  type PlainCookies,
  SEALED,
  sealedCookies,
  type SealedName,
  type PlainCookie,
  plainCookie
} from '../http/edge/sealed-cookies.ts'
import { createJourneys } from '../http/pages/journeys.ts'
import { createWaiting } from '../http/pages/waiting.ts'
import type { PageDeps, PagePart, PageSlots } from '../http/pages/deps.ts'
import { createPageReply } from '../http/pages/reply.ts'
import { ownTextMistake, scopeTextMistake } from '../pages/own-texts.ts'
import { badOption } from '../settings/option-error.ts'
import type { PathName } from '../settings/paths.ts'
import type { PagesSettings } from '../settings/sections/pages.ts'
import type { Settings } from '../settings/settings.ts'
import type { Random, Sealer } from '../ports/cryptography.ts'
import { anySecrets, cookieKey, sealerOf } from './keys.ts'

const PAGES = {
  password_reset: 'resetPassword',
  verify_email: 'verifyEmail',
  email_change: 'verifyEmail',
  invitation: 'acceptInvitation',
  sign_in_code: 'emailLink'
} as const satisfies Record<Parameters<AccountsDeps['messageUrl']>[0], PathName>

/**
 * Makes the links in messages. The token of a hosted page is in the query, because the page works without scripts. The
 * plugin keeps the query out of logs and referrers. A page of the host's own gets the token in the fragment, which
 * browsers send to no server.
 */
export function messageUrls(
  host: FastifyInstance,
  { issuer, pages }: Settings,
  path: (name: PathName) => string
): AccountsDeps['messageUrl'] {
  const { origin } = new URL(issuer)
  return (kind, token) => {
    const page = `${origin}${host.prefix}${path(PAGES[kind])}`
    return `${page}${pages === false ? '#' : '?'}token=${token}`
  }
}

/**
 * The link in a message for a user who did not make the reported change: the account page, or the security page if
 * second factors are on. `null` if there is no account page.
 */
export function accountUrl(
  host: FastifyInstance,
  { issuer, pages, shared }: Settings,
  path: (name: PathName) => string
): AccountsDeps['accountUrl'] {
  return pages === false || !pages.account
    ? null
    : `${new URL(issuer).origin}${host.prefix}${path(shared.factors === undefined ? 'account' : 'security')}`
}

/** Makes the link that undoes the change which a message reports. `null` without hosted pages. */
export function undoUrl(
  host: FastifyInstance,
  { issuer, pages }: Settings,
  path: (name: PathName) => string
): AccountsDeps['undoUrl'] {
  const page = `${new URL(issuer).origin}${host.prefix}${path('undo')}`
  return pages === false ? null : (token) => `${page}?token=${token}`
}

/** The dependencies of the hosted pages. */
export function pageDeps(
  host: FastifyInstance,
  { issuer, prefix, password: { minLength }, scopeTexts, apis, secrets }: Settings,
  pages: PagesSettings,
  {
    redirectLogin,
    owner,
    slots,
    ...parts
  }: Pick<PageDeps, 'authorize' | 'browser' | 'cookies' | 'limiter' | 'registration' | 'path'> & {
    redirectLogin: boolean
    owner: CookieOwner
    slots: readonly PageSlots[]
  }
): PageDeps {
  const { accounts } = parts.authorize
  const { homeUrl, loginUrl } = pages
  refuse('pages.texts', ownTextMistake(pages.texts))
  refuse('scopes', scopeTextMistake(scopeTexts))
  refuse('resources', scopeTextMistake(apis.texts))
  const link = (name: PathName): string => `${host.prefix}${parts.path(name)}`
  const sealed = sealedCookies(owner, cookieSealers({ secrets }, owner, accounts.random))
  const journeys = createJourneys(parts.authorize, {
    authorizeUrl: link('authorize'),
    homeUrl,
    limiter: parts.limiter
  })
  const added: PagePart[] = []
  const deps: PageDeps = {
    ...parts,
    parts: added,
    pages: createPageReply({
      issuer,
      prefix: `${host.prefix}${prefix}`,
      usernames: accounts.usernames,
      pages,
      passkeys: slots.some(({ passkeys }) => passkeys === true),
      renderers: Object.fromEntries(slots.flatMap(({ renderers = {} }) => Object.entries(renderers)))
    }),
    journeys,
    waiting: createWaiting(sealed, accounts),
    scopeTexts: apis.texts,
    prefix,
    link,
    homeUrl,
    newLinkFor(route) {
      if (route === link('resetPassword')) return { url: link('forgotPassword'), by: 'request' }
      if (route === link('emailLink')) return { url: link('emailCode'), by: 'request' }
      return route === link('verifyEmail') ? { url: link('login'), by: 'sign_in' } : null
    },
    loginUrl,
    sealed,
    minLength,
    offers: {
      signup: loginUrl === null && parts.authorize.canSignUp,
      reset: canResetPasswords(accounts),
      emailVerification: canVerifyEmails(accounts),
      account: pages.account,
      consents: redirectLogin
    }
  }
  added.push(...slots.flatMap(({ part }) => part?.(deps) ?? []))
  return deps
}

/**
 * Refuses an option with a mistake in a text.
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` with the path of the text
 */
function refuse(option: string, mistake: ReturnType<typeof ownTextMistake>): void {
  if (mistake !== null) throw badOption(`${option}.${mistake.path}`, mistake.problem)
}

export function cookiesOf({ session, shared: { factors } }: Settings, owner: CookieOwner): PlainCookies {
  const lasting = (of: keyof PlainCookies, ms = 0): PlainCookie => plainCookie({ ...owner, seconds: ms / 1000, of })
  const rememberDeviceMs = factors?.rememberDeviceMs ?? null
  return {
    session: lasting('session', session.expiresInMs),
    step: lasting('step'),
    trusted: rememberDeviceMs === null ? null : lasting('trusted', rememberDeviceMs),
    device: lasting('device'),
    prompted: lasting('prompted'),
    enrolment: factors === undefined ? null : lasting('enrolment')
  }
}

function cookieSealers(
  { secrets }: Pick<Settings, 'secrets'>,
  owner: CookieOwner,
  random: Random
): Record<SealedName, Sealer> {
  const all = anySecrets(secrets, random)
  const sealers = SEALED.map((kind) => [kind, sealerOf(all, (secret) => cookieKey(secret, kind, owner))])
  return Object.fromEntries(sealers) as Record<SealedName, Sealer>
}
