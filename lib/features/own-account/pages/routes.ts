import type { FastifyInstance } from 'fastify'
import type { PathName } from '../../../settings/paths.ts'
import type { AccountPart, PageDeps, PagePart } from '../../../http/pages/deps.ts'
import { accessPage, sessionsPage } from './sessions.ts'
import { emailPage, profilePage, removePage } from './profile.ts'
import { passwordPage } from './password.ts'
import type { AccountsDeps } from '../../../accounts/deps.ts'
import { addressOf } from '../../../accounts/outbox.ts'
import { consentsOf } from '../../../authorize/consent.ts'
import type { AccountStates } from '../../../pages/account-models.ts'
import { passwordChangedAt } from '../../../sessions/active-user.ts'
import { listSessions, type SignedInPerson } from '../../../sessions/browser-sessions.ts'
import { localeOf, originOf } from '../../../http/edge/request-origin.ts'
import { pageGet, queryParam } from '../../../http/pages/page-routes.ts'
import { accountWays, FOR_THE_PERSON, signInFirst } from '../../../http/pages/account-page.ts'
import { endpoint } from '../../../http/edge/endpoint.ts'
import { Empty } from '../../../http/edge/schemas.ts'
import type { Parts } from '../../../feature.ts'
import { ownAccount } from '../endpoints.ts'

/** The parts of the account page that belong to no other feature. The options and the stores decide which exist. */
function ownParts(deps: PageDeps): NonNullable<PagePart['account']> {
  const { authorize, offers, registration } = deps
  const { users } = authorize.accounts
  const fields = registration?.profile ?? null
  const part = (
    path: PathName,
    isThere: boolean,
    add: (child: FastifyInstance, deps: PageDeps) => void,
    states?: AccountPart['states']
  ): AccountPart => ({
    path,
    ...(states === undefined ? {} : { states }),
    add: isThere
      ? (child) => {
          add(child, deps)
        }
      : null
  })
  return {
    profile: part('accountProfile', users.update !== undefined && fields !== null, (child) => {
      if (registration !== null && fields !== null) profilePage(child, deps, registration, fields.changeable)
    }),
    email: part('accountEmail', offers.emailVerification, emailPage),
    password: part('accountPassword', users.setPasswordHash !== undefined, passwordPage, async ({ user }) => ({
      passwordChangedAt: user.passwordHash === null ? null : passwordChangedAt(user)
    })),
    sessions: part('accountSessions', true, sessionsPage, async ({ user }) => ({
      sessions: (await listSessions(user.id, authorize.sessions)).length
    })),
    access: part('accountAccess', offers.consents, accessPage, async ({ user }) => ({
      access: (await consentsOf(user, authorize)).length
    })),
    remove: part('accountRemove', users.remove !== undefined, removePage)
  }
}

const UNKNOWN: AccountStates = {
  passkeys: null,
  twoStep: null,
  passwordChangedAt: null,
  connections: null,
  sessions: null,
  access: null,
  apiKeys: null
}

/** Reads the states of all parts in parallel. A failed read leaves a state unknown: the page works without it. */
async function statesOf(
  person: SignedInPerson,
  parts: readonly AccountPart[],
  { onError }: Pick<AccountsDeps, 'onError'>
): Promise<AccountStates> {
  const read = async ({ add, states }: AccountPart): Promise<Partial<AccountStates>> => {
    try {
      return add === null ? {} : ((await states?.(person)) ?? {})
    } catch (error) {
      onError(error, 'a state on the account page could not be read')
      return {}
    }
  }
  return Object.assign({ ...UNKNOWN }, ...(await Promise.all(parts.map(read)))) as AccountStates
}

const allParts = ({ parts }: PageDeps): AccountPart[] => parts.flatMap(({ account = {} }) => Object.values(account))

/** Registers the pages below `/auth/account`. */
export function ownAccountPages(child: FastifyInstance, deps: PageDeps): void {
  for (const { add } of allParts(deps)) add?.(child)
}

const WHAT =
  "The page of a person's own account, with the ways to the pages below. `return_to`, a path of the issuer's origin, " +
  `is its way back. ${FOR_THE_PERSON} Exists unless \`pages.account\` is \`false\`.`

/** `GET /auth/account`: the signed-in user, and links to the account pages. `DELETE /auth/account` is an endpoint. */
export function accountOverview(child: FastifyInstance, deps: PageDeps): void {
  const { authorize, browser, homeUrl, journeys, pages, path } = deps
  child.get(path('account'), pageGet({ summary: 'Account page' }, { what: WHAT }), async (request, reply) => {
    const journey = await journeys.read(request)
    const person = await browser.signedIn(request)
    if (person === null)
      return await signInFirst(
        'account',
        { request, reply, journey, origin: originOf(request), locale: localeOf(request) },
        deps
      )(reply)
    const {
      user: { username, emailVerified }
    } = person
    const { accountUrl, accountLinks, logoutUrl } = accountWays(journey, deps)
    const address = addressOf(person.user) || null
    return await pages.send(
      request,
      reply,
      'account',
      {
        username,
        email: address === username ? null : address,
        emailVerified: address === null ? null : emailVerified === true,
        states: await statesOf(person, allParts(deps), authorize.accounts),
        links: accountLinks,
        accountUrl,
        logoutUrl,
        // During an authorization request, `journey.next` would lead to the client, so the link leads home instead.
        backUrl: queryParam(request, 'client_id') === '' ? journey.next : homeUrl
      },
      { uiLocales: journey.uiLocales }
    )
  })
}

/** Redirects to the password page. @see W3C A Well-Known URL for Changing Passwords */
const changePassword = endpoint({
  method: 'GET',
  path: 'changePassword',
  callers: 'anyone',
  yields: true,
  summary: 'The way to the password page',
  what:
    'Leads to `/auth/account/password`, for browsers and password managers that know no address of a site but this ' +
    '(W3C A Well-Known URL for Changing Passwords). Exists if that page does. Your own route of this path replaces it.',
  answers: { 302: Empty },
  handle({ server }, reply, { path }) {
    reply.header('location', `${server.prefix}${path('accountPassword')}`)
  }
})

export function create(): Parts {
  return {
    endpoints: [...ownAccount, changePassword],
    pages: {
      part: (deps) => ({ account: ownParts(deps) }),
      groups: (deps) =>
        deps.offers.account
          ? [
              {
                cors: 'noOrigin',
                register(child) {
                  ownAccountPages(child, deps)
                }
              },
              {
                cors: 'noOriginBesides',
                register(child) {
                  accountOverview(child, deps)
                }
              }
            ]
          : []
    }
  }
}
