import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { listLinks } from '../../../accounts/identities.ts'
import { normalizeUsername } from '../../../accounts/username.ts'
import { domainOf } from '../../../accounts/ways-in.ts'
import type { Journey, PageDeps, PageSlots, Submission, Visit } from '../../../http/pages/deps.ts'
import { withQuery } from '../../../http/pages/form-page.ts'
import type { Form } from '../../../http/pages/page-routes.ts'
import { freshness } from '../../../http/pages/parts.ts'
import type { ConnectButton } from '../../../pages/common-model.ts'
import type { AssertionStore } from '../../../ports/state.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Connection } from '../../../ports/upstream.ts'
import { type AuthorizationParams, carried } from '../../../protocol/authorization-params.ts'
import type { FederatedArrival } from '../user.ts'
import { connectionsPage } from '../endpoints.ts'
import {
  beginConnect,
  type ConnectPageDeps,
  connectLink,
  connectStart,
  isFromOurPage,
  isLookingAhead,
  sendAway
} from './begin.ts'
import { connectCallback } from './callback.ts'
import { connectConfirm } from './confirm.ts'
import { connectCookies } from './cookies.ts'
import { failConnect } from './failure.ts'
import { RENDERERS } from './renderers.ts'

interface Pages {
  service: string
  assertions: AssertionStore
  clock: Clock
  /** True if the user store can list and remove links. */
  keepsLinks: boolean
  complete: FederatedArrival['complete']
}

/** The pages of connections, and their additions to the pages of the kernel. */
export function connectPages(
  connections: ReadonlyMap<string, Connection>,
  { service, assertions, clock, keepsLinks, complete }: Pages
): PageSlots {
  const withConnections = (deps: PageDeps): ConnectPageDeps => ({
    ...deps,
    connect: { connections, complete, cookies: connectCookies(service, { sealed: deps.sealed, assertions, clock }) }
  })
  const all = [...connections.values()]
  return {
    renderers: RENDERERS,
    routes(child, given) {
      const deps = withConnections(given)
      for (const routes of [connectStart, connectCallback, connectConfirm, connectLink]) routes(child, deps)
    },
    part(given) {
      const deps = withConnections(given)
      const addLinks = (child: FastifyInstance): void => {
        connectionsPage(child, deps)
      }
      return {
        buttons: async (request, journey) => await buttonsOf(request, journey, deps),
        images: all.flatMap(({ button: { logoUrl } }) => logoUrl ?? []),
        takesNames: all.some(({ domains }) => domains.length > 0),
        elsewhere: async (form, visit) => await elsewhere(form, visit, deps),
        straightOn: async (params, request, reply) => await straightOn(deps, params, request, reply),
        leadOn: (userId, { request, journey }) => confirmUrl(request, userId, journey, deps),
        account: {
          connections: {
            path: 'accountConnections',
            add: keepsLinks ? addLinks : null,
            states: async ({ user }) => ({
              connections: (await listLinks(user.id, deps.authorize.accounts)).map(
                ({ connection }) => connections.get(connection)?.name ?? connection
              )
            })
          }
        }
      }
    }
  }
}

async function buttonsOf(
  request: FastifyRequest,
  { query }: Pick<Journey, 'query'>,
  { connect, link }: ConnectPageDeps
): Promise<ConnectButton[]> {
  const all = [...connect.connections.values()]
  const enabled = await Promise.all(all.map(async (connection) => await connection.shown()))
  return all
    .filter((_connection, index) => enabled[index] === true)
    .map(({ id, name, button }) => ({
      id,
      name,
      ...button,
      url: withQuery(`${link('connect')}/${id}${query}`, freshness(request))
    }))
}

/**
 * Returns the URL of the confirm page if the user who has just signed in has a pending link there. `null`: there is
 * none, another site began its flow, or the sign-in belongs to another journey. A sign-in without a query belongs to
 * every journey.
 */
function confirmUrl(
  request: FastifyRequest,
  userId: string,
  { query }: Pick<Journey, 'query'>,
  { connect: { cookies }, link }: ConnectPageDeps
): string | null {
  const pending = cookies.read(request, 'link', '')
  return pending?.offered === true && pending.userId === userId && (query === '' || query === pending.query)
    ? `${link('connect')}/confirm`
    : null
}

/**
 * True if this browser has a pending link of the connection to the account of this name. Without `enforce`, the page
 * then asks for the password instead of leading to the connection.
 */
function linksNext(
  name: string,
  { id }: Connection,
  request: FastifyRequest,
  { connect: { cookies } }: ConnectPageDeps
): boolean {
  const pending = cookies.read(request, 'link', '')
  return pending !== null && pending.userId !== null && pending.connection === id && pending.person.email === name
}

/**
 * Leads a user whose typed address is in the `domains` of a connection to that connection. Neither checks the password
 * nor looks up the user, so the answer is the same whether there is such a user or not. `null`: the sign-in page itself
 * signs the user in, because the name is invalid or no enabled connection has its domain. Without `enforce`, also
 * because the browser has a pending link to that account, or because `linking` is `never` and the form has a password.
 */
async function elsewhere(
  { username = '', password = '' }: Form,
  { request, journey }: Visit,
  deps: ConnectPageDeps
): Promise<Submission<never> | null> {
  const name = normalizeUsername(username)
  if (name === null) return null
  const connection = [...deps.connect.connections.values()].find(({ domains }) => domains.includes(domainOf(name)))
  if (connection === undefined || !(await connection.enabled())) return null
  if (
    !connection.enforce &&
    (linksNext(name, connection, request, deps) || (connection.linking === 'never' && password !== ''))
  )
    return null
  const asked = new URLSearchParams(journey.query.slice(1))
  asked.set('login_hint', name)
  const url = withQuery(`${deps.link('connect')}/${connection.id}?${asked.toString()}`, freshness(request))
  return {
    limit: null,
    work: async () => async (reply) => await sendAway(url, connection, journey, request, reply, deps)
  }
}

/**
 * Redirects an authorization request that names a connection straight to the provider. `null`: show the sign-in page.
 * - The request must be a GET, because `form-action` forbids redirecting a form to the provider.
 * - If a user is signed in, a page of ours must have sent the request, so that no other site replaces their session.
 *   The request must also ask for another sign-in. Otherwise the browser would loop if the session lacks something that
 *   a new sign-in does not add.
 * - If the person has begun a second step, a code or a link, a page of ours must have sent the request, because a new
 *   sign-in ends these steps.
 */
async function straightOn(
  deps: ConnectPageDeps,
  params: AuthorizationParams,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply | null> {
  const {
    authorize: { issuer },
    browser,
    connect: { connections, cookies },
    journeys
  } = deps
  const connection = connections.get(params.connection ?? '')
  if (connection === undefined || request.method !== 'GET' || isLookingAhead(request) || !(await connection.enabled()))
    return null
  const isBusy =
    deps.cookies.step.read(request) !== undefined ||
    deps.waiting.find(request, ({ kind }) => kind === 'code' || kind === 'proved') !== null ||
    cookies.read(request, 'link', '') !== null
  if (isBusy && !isFromOurPage(request, issuer)) return null
  const asksAgain = params.prompt !== undefined || params.max_age !== undefined
  if (!(asksAgain && isFromOurPage(request, issuer)) && (await browser.signedIn(request)) !== null) return null
  const journey = await journeys.from(`?${carried(params)}`)
  try {
    return await reply.redirect(
      await beginConnect({ connection, journey, asked: params, linkTo: null, onlyAs: null }, request, reply, deps),
      303
    )
  } catch (error) {
    return await failConnect(
      error,
      { connection: connection.id, query: journey.query, counted: false },
      request,
      reply,
      deps
    )
  }
}
