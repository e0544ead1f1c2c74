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

/** The dependencies of the connection routes. These routes exist only if a connection is configured. */
export interface ConnectPageDeps extends PageDeps {
  connect: ConnectDeps
}

/** Milliseconds by which the clock of the provider may be behind ours. */
const LEEWAY_MS = 60_000

/**
 * Finds the connection with this id, if it is on.
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
  /** The authorization parameters in the page's URL. `prompt` and `max_age` also apply at the provider. */
  asked: AuthorizationParams
  /** The user who links the identity. `null`: a sign-in. */
  linkTo: ConnectFlow['linkTo']
  /** The user who proves their identity again. `null`: any user. */
  onlyAs: ConnectFlow['onlyAs']
  /** The invitation that the person accepts. Absent: none. */
  invitation?: ConnectFlow['invitation']
}

/**
 * Begins a sign-in at another provider: sets a cookie for it, and returns the provider's URL for the browser.
 * @throws OAuthError `invalid_request` if `journey.query` is too long for the cookie; UpstreamError `outage`
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
 * Reads the requirements that the provider can meet too. The others (`prompt=consent`, `acr_values`, `claims`) are not
 * sent to the provider, because only this service can meet them.
 */
function wishesOf({ prompt, max_age: maxAge = '' }: AuthorizationParams): { prompt: string[]; maxAge: number | null } {
  return { prompt: wordsOf(prompt), maxAge: /^\d{1,12}$/.test(maxAge) ? Number(maxAge) : null }
}

/**
 * True if the request comes from a page of this service. Without `Sec-Fetch-Site`, checks the `Referer`, which our
 * pages allow browsers to send. @see W3C Fetch Metadata Request Headers §2.4
 */
export function isFromOurPage(
  { headers: { 'sec-fetch-site': site, referer } }: FastifyRequest,
  issuer: string
): boolean {
  if (site !== undefined) return site === 'same-origin'
  return referer !== undefined && URL.canParse(referer) && new URL(referer).origin === new URL(issuer).origin
}

/**
 * True if the browser prefetches or prerenders the page, before the user has clicked. @see W3C Fetch Metadata Request
 * Headers §2.6 `Sec-Purpose`
 */
export function isLookingAhead({ headers: { 'sec-purpose': purpose, purpose: former } }: FastifyRequest): boolean {
  return /prefetch|prerender/i.test(String(purpose ?? former ?? ''))
}

/**
 * Sends a page that opens `url` by itself, with a link in case the browser does not. The answer to a form must be such
 * a page and not a redirect: `form-action` restricts redirects too, and it can't list every address to which a provider
 * or a client redirects.
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
 * `GET /auth/connect/:id`: redirects to the provider. Pages use a link to this route and not a form, because
 * `form-action` would have to list the targets of the provider's redirects. A request that no page of this service sent
 * is redirected to the sign-in page, or with an invitation to its page, so that no other site can begin a sign-in.
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
      // A browser that prefetches links must not get a cookie for each of them.
      if (isLookingAhead(request)) return await reply.code(503).send()
      const token = queryParam(request, 'invitation')
      const invitation = token === '' ? null : token
      if (!isFromOurPage(request, issuer))
        return await reply.redirect(startUrl({ query: journey.query, invitation }, deps), 303)
      // Only the re-authentication page sends `session`. The user of that session may have signed out since, or another
      // user may have signed in.
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
 * `POST /auth/connect/:id/link`: a user who has signed in within the last five minutes, with the second factor if they
 * have one, adds another way to sign in to their account. The route takes only a form, so that no link on another site
 * can start it. The answer is a page that opens the provider, because `form-action` forbids a redirect to another
 * origin.
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
