import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError } from '../../../errors.ts'
import type { Connection } from '../../../ports/upstream.ts'
import { type AuthorizationParams, wordsOf } from '../../../protocol/authorization-params.ts'
import type { Journey, PageDeps } from '../../../http/pages/deps.ts'
import { formPost, pageGet, queryParam, queryParams } from '../../../http/pages/page-routes.ts'
import type { ConnectDeps, ConnectFlow } from './cookies.ts'
import { Type } from '@sinclair/typebox'
import { JourneySchema } from '../../../http/edge/schemas.ts'
import { failConnect, startUrl } from './failure.ts'
import { freshnessIn, mayChange } from '../../../accounts/fresh-sign-in.ts'
import { originOf } from '../../../http/edge/request-origin.ts'
import { goOn, withQuery } from '../../../http/pages/form-page.ts'

/** The dependencies of the routes of connections, which exist only if there is one. */
export interface ConnectPageDeps extends PageDeps {
  connect: ConnectDeps
}

/** How far the clock of the provider may be behind ours. */
const LEEWAY_MS = 60_000

/**
 * The connection of this id, if it is on.
 * @throws OAuthError `not_found`
 */
export async function enabledConnection(id: unknown, { connections }: ConnectDeps): Promise<Connection> {
  const connection = connections.get(String(id))
  if (connection === undefined || !(await connection.enabled()))
    throw new OAuthError('not_found', 'There is no such connection, or it is turned off.', { withoutStack: true })
  return connection
}

interface Begin {
  connection: Connection
  journey: Pick<Journey, 'query' | 'loginHint' | 'uiLocales'>
  /** The parameters of the page's address, with the requirements for the sign-in. */
  asked: AuthorizationParams
  /** The user who links the identity. `null`: a sign-in. */
  linkTo: ConnectFlow['linkTo']
  /** The user who proves their identity again. `null`: any user. */
  onlyAs: ConnectFlow['onlyAs']
  /** The invitation that the person accepts. Absent: none. */
  invitation?: ConnectFlow['invitation']
}

/**
 * Begins a sign-in at another provider: sets its cookie, and returns the address for the browser.
 * @throws OAuthError `invalid_request` where the journey is too long; UpstreamError `outage`
 */
export async function beginConnect(
  { connection, journey, asked, linkTo, onlyAs, invitation = null }: Begin,
  request: FastifyRequest,
  reply: FastifyReply,
  {
    authorize: {
      accounts: { clock, random },
      issuer
    },
    browser,
    connect: { cookies }
  }: ConnectPageDeps
): Promise<string> {
  const startedAt = clock.now()
  const { prompt, maxAge } = wishesOf(asked)
  // If the client requires re-authentication, neither our session nor the provider's is enough.
  const fresh = prompt.includes('login') || (maxAge !== null && (await browser.signedIn(request)) !== null)
  const { provesFreshness } = connection
  const since = fresh ? startedAt : maxAge === null ? null : startedAt - maxAge * 1000
  const flow: ConnectFlow = {
    connection: connection.id,
    linkTo,
    onlyAs,
    invitation,
    ours: isFromOurPage(request, issuer),
    query: journey.query,
    fresh,
    authenticatedSince: since !== null && provesFreshness ? since - LEEWAY_MS : null,
    state: random.secret(),
    nonce: random.secret(),
    codeVerifier: random.secret(),
    startedAt,
    redirectUri: connection.callbackUrl
  }
  const url = await connection.upstream.authorizationUrl(flow, {
    loginHint: journey.loginHint,
    uiLocales: journey.uiLocales.length === 0 ? undefined : journey.uiLocales.join(' '),
    prompt: fresh ? 'login' : prompt.includes('select_account') ? 'select_account' : undefined,
    maxAge: since === null || !provesFreshness ? undefined : (maxAge ?? 0)
  })
  cookies.set(reply, 'flow', flow.state, flow)
  return url
}

/**
 * The other parameters (`consent`, `acr_values`, `claims`) are not sent on, because only this service can answer them.
 */
function wishesOf({ prompt, max_age: maxAge = '' }: AuthorizationParams): { prompt: string[]; maxAge: number | null } {
  return { prompt: wordsOf(prompt), maxAge: /^\d{1,12}$/.test(maxAge) ? Number(maxAge) : null }
}

/**
 * True if a page of ours led here. Browsers without `Sec-Fetch-Site` name the page, as our pages ask them to. @see W3C
 * Fetch Metadata Request Headers §2.4
 */
export function isFromOurPage(
  { headers: { 'sec-fetch-site': site, referer } }: FastifyRequest,
  issuer: string
): boolean {
  if (site !== undefined) return site === 'same-origin'
  return referer !== undefined && URL.canParse(referer) && new URL(referer).origin === new URL(issuer).origin
}

/**
 * True if the browser only prepares for a click that may never come. @see W3C Fetch Metadata Request Headers §2.6
 * `Sec-Purpose`
 */
export function isLookingAhead({ headers: { 'sec-purpose': purpose, purpose: former } }: FastifyRequest): boolean {
  return /prefetch|prerender/i.test(String(purpose ?? former ?? ''))
}

/**
 * A page that leads on by itself, and by a link if it does not. A form must not be answered by a redirect:
 * `form-action` holds for redirects too, and it can't list every address to which a provider or a client redirects.
 */
export async function sendAway(
  url: string,
  { name }: Pick<Connection, 'name'>,
  { clientName, brand, uiLocales }: Pick<Journey, 'clientName' | 'brand' | 'uiLocales'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { pages }: Pick<PageDeps, 'pages'>
): Promise<FastifyReply> {
  reply.header('refresh', `0;url=${url}`)
  return await pages.send(request, reply, 'connect_leaving', { name, url }, { clientName, brand, uiLocales })
}

/**
 * `GET /auth/connect/:id`: leads to the provider. It is a link and not a form, because `form-action` would have to list
 * the targets of the provider's redirects. Only a page of ours leads here. A browser that another site sends sees the
 * sign-in page first, so that no other site signs people in.
 */
export function connectStart(child: FastifyInstance, deps: ConnectPageDeps): void {
  const {
    authorize: { issuer },
    browser,
    connect,
    journeys,
    link,
    path
  } = deps
  child.get<{ Params: { id: string } }>(
    `${path('connect')}/:id`,
    pageGet(
      { summary: 'Sign in through a connection', querystring: Type.Partial(JourneySchema) },
      {
        errors: {
          404: { not_found: 'unknown, or turned off' },
          503: { temporarily_unavailable: 'the provider cannot be reached' }
        },
        what:
          'Begins a sign-in at the provider of this connection. A page of this origin links here, with the ' +
          'authorization request or `return_to` in the address, as on the sign-in page. A request from ' +
          'elsewhere is led to the sign-in page. With `invitation`, the person accepts an invitation. A sealed ' +
          'cookie holds the begun sign-in for ten minutes, and a browser has two of them at most. A request that ' +
          'is too long to be carried is an `invalid_request`.'
      }
    ),
    async (request, reply) => {
      const connection = await enabledConnection(request.params.id, connect)
      const journey = await journeys.read(request)
      // A browser that only looks ahead must not get a cookie for each link that it sees.
      if (isLookingAhead(request)) return await reply.code(503).send()
      const token = queryParam(request, 'invitation')
      const invitation = token === '' ? null : token
      if (!isFromOurPage(request, issuer))
        return await reply.redirect(startUrl({ query: journey.query, invitation }, deps), 303)
      // A button of the page on which a user proves their identity again. They may have signed out since, or another
      // user in.
      const sid = queryParam(request, 'session')
      const person = sid === '' ? null : await browser.signedIn(request)
      if (sid !== '' && person?.session.sid !== sid)
        return await reply.redirect(`${link('reauthenticate')}${journey.query}`, 303)
      const onlyAs = person === null ? null : { userId: person.user.id, sid }
      try {
        return await reply.redirect(
          await beginConnect(
            {
              connection,
              journey,
              asked: deps.authorize.readRequest(queryParams(request)),
              linkTo: null,
              onlyAs,
              invitation
            },
            request,
            reply,
            deps
          ),
          303
        )
      } catch (error) {
        return await failConnect(
          error,
          { connection: connection.id, query: journey.query, counted: false, onlyAs, invitation },
          request,
          reply,
          deps
        )
      }
    }
  )
}

/**
 * `POST /auth/connect/:id/link`: a user who has signed in within the last five minutes adds another way to sign in to
 * their account. A form, so that no other site's link can do it. The answer is a page that leads on, because a form may
 * lead nowhere but to this origin.
 */
export function connectLink(child: FastifyInstance, deps: ConnectPageDeps): void {
  const {
    authorize: { accounts },
    browser,
    connect,
    journeys,
    link,
    path
  } = deps
  child.post<{ Params: { id: string } }>(
    `${path('connect')}/:id/link`,
    formPost(
      {
        summary: 'Link a connection to the own account',
        body: Type.Object({}),
        querystring: Type.Partial(JourneySchema)
      },
      {
        errors: { 404: 'not_found' },
        what:
          'Begins a sign-in that links the identity to the signed-in person. It needs a session of the last ' +
          'five minutes, or else leads to the sign-in page. The sign-in must come back to the same session. ' +
          'Only a form of this origin may begin it.'
      }
    ),
    async (request, reply) => {
      const connection = await enabledConnection(request.params.id, connect)
      const journey = await journeys.read(request)
      const person = await browser.signedIn(request)
      const fresh = person !== null && (await mayChange('link', freshnessIn(person, originOf(request)), accounts))
      if (person === null || !fresh)
        return await goOn(withQuery(link('login'), { return_to: journey.next, prompt: 'login' }))(reply)
      try {
        const url = await beginConnect(
          { connection, journey, asked: {}, linkTo: { userId: person.user.id, sid: person.session.sid }, onlyAs: null },
          request,
          reply,
          deps
        )
        return await sendAway(url, connection, journey, request, reply, deps)
      } catch (error) {
        return await failConnect(
          error,
          { connection: connection.id, query: journey.query, counted: true },
          request,
          reply,
          deps
        )
      }
    }
  )
}
