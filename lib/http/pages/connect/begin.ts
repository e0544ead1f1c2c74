import type { FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError } from '../../../errors.ts'
import type { Connection } from '../../../ports/upstream.ts'
import { readAuthorizationParams, wordsOf } from '../../../protocol/authorization-params.ts'
import type { Journey, PageDeps } from '../deps.ts'
import type { SentParams } from '../../edge/body.ts'
import { queryParam } from '../forms.ts'
import type { ConnectDeps, ConnectFlow } from './cookies.ts'

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
  /** The parameters of the page's address, with what was asked of the sign-in. */
  asked: SentParams
  /** The user who links the identity. `null`: a sign-in. */
  linkTo: ConnectFlow['linkTo']
  /** The user who proves their identity again. `null`: any user. */
  onlyAs: ConnectFlow['onlyAs']
}

/**
 * Begins a sign-in at another provider: sets the cookie that it is bound to, and says where the browser goes.
 * @throws OAuthError `invalid_request` where the journey is too long; UpstreamError `outage`
 */
export async function beginConnect(
  { connection, journey, asked, linkTo, onlyAs }: Begin,
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

/** Only this service can answer the rest, which is not sent on: `consent`, `acr_values`, `claims`. */
function wishesOf(asked: SentParams): { prompt: string[]; maxAge: number | null } {
  const { prompt, max_age: maxAge = '' } = readAuthorizationParams(asked)
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
 * Parameters of the buttons' addresses besides the journey: whether a fresh sign-in is asked for, which a journey
 * without a client does not carry.
 */
export function freshness(request: FastifyRequest): Record<string, string> {
  const prompt = queryParam(request, 'prompt')
  return queryParam(request, 'client_id') === '' && prompt === 'login' ? { prompt } : {}
}
