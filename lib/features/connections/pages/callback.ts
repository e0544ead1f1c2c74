import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { completeProfile } from '../../../accounts/register.ts'
import { personOf } from '../person.ts'
import { federatedSignIn, linkToAccount, tellHost } from '../sign-in.ts'
import { OAuthError, UpstreamError } from '../../../errors.ts'
import type { Connection, UpstreamResult } from '../../../ports/upstream.ts'
import { serializeParams } from '../../../protocol/request-params.ts'
import { localeOf, originOf } from '../../../http/edge/request-origin.ts'
import { goOn } from '../../../http/pages/form-page.ts'
import type { Leave } from '../../../http/pages/deps.ts'
import { formOf, pageGet, postFromAnyPage } from '../../../http/pages/page-routes.ts'
import { leadOn, signInBrowser } from '../../../http/pages/lead-on.ts'
import { type ConnectPageDeps, enabledConnection, sendAway } from './begin.ts'
import type { ConnectFlow } from './cookies.ts'
import { failConnect, StaleSignInError } from './failure.ts'

/** The parameters of a provider's answer. Any others are the provider's own. */
const ANSWER = Type.Object({
  code: Type.Optional(Type.String()),
  state: Type.Optional(Type.String()),
  iss: Type.Optional(Type.String()),
  error: Type.Optional(Type.String())
})
/** A second one of these is an attempt to have one part of us read the one, and another part the other. */
const ONCE = ['code', 'state', 'iss', 'error', 'id_token']
/** The parameters that are read of a posted answer. The rest would only fill the cookie. */
const READ = ['code', 'state', 'iss', 'error', 'user']
const STATE = /^[A-Za-z0-9_-]{43}$/

/**
 * `GET` and `POST /auth/connect/:id/callback`: where the provider sends the browser back. It comes from another site,
 * so no guard of ours is on it: the flow's cookie is.
 */
export function connectCallback(child: FastifyInstance, deps: ConnectPageDeps): void {
  const {
    connect: { connections, cookies },
    path
  } = deps
  const place = `${path('connect')}/:id/callback`

  child.get<{ Params: { id: string } }>(
    place,
    pageGet(
      { summary: 'Answer of another provider', querystring: ANSWER },
      {
        errors: {
          400: {
            connection_denied: 'the sign-in was not completed there',
            invalid_request: 'no sign-in has begun in this browser, it took too long, or the answer belongs to another'
          },
          403: {
            access_denied:
              'a disabled connection or account, closed registration, a refused address, or an identity of another user'
          },
          404: 'not_found',
          429: 'too_many_requests',
          502: 'connection_failed'
        },
        what:
          'The provider sends the browser back to this address. Register ' +
          '`<issuer><prefix>/connect/<id>/callback` there as the redirect URI. The answer is checked ' +
          'against the cookie of the flow, `state`, `iss`, the connection and the ID token before any user ' +
          'is looked up. It signs in the user of the identity, registers a new person if the connection ' +
          'may, and leads to the confirm page if an account has the address. The cookies are cleared in ' +
          'every case. The error pages lead back to the sign-in.'
      }
    ),
    async (request, reply) => {
      const connection = connections.get(request.params.id)
      if (connection === undefined)
        throw new OAuthError('not_found', 'There is no such connection.', { withoutStack: true })
      const [, query = ''] = /^[^?#]*\?([^#]*)/.exec(request.url) ?? []
      const sent = new URLSearchParams(query)
      const state = stateOf(sent)
      const flow = state === null ? null : cookies.read(request, 'flow', state)
      const posted = state === null ? null : cookies.read(request, 'answer', state)
      // Whatever becomes of it, it is over.
      for (const kind of ['flow', 'answer'] as const) if (state !== null) cookies.clear(reply, kind, state)
      let counted = false
      try {
        if (flow === null || flow.state !== state || flow.connection !== connection.id)
          throw new UpstreamError(
            'mismatch',
            'No sign-in through this connection has begun in this browser, or it took too long.'
          )
        const answer = connection.formPost ? new URLSearchParams(posted?.body) : sent
        if (stateOf(answer) !== state)
          throw new UpstreamError('mismatch', 'The answer is to another sign-in, or says something twice.')
        if (!(await connection.enabled()))
          throw new UpstreamError('disabled', 'The connection was turned off meanwhile.')
        const leave = await deps.limiter.reserve(request, reply, { rule: 'connect' }, async () => {
          counted = true
          if (!(await cookies.useUp('flow', state)))
            throw new UpstreamError('mismatch', 'The answer was used before, with a copy of the cookie of its sign-in.')
          const result = await connection.upstream.authenticate(answer, flow)
          if (flow.authenticatedSince !== null && !((result.assertion.authenticatedAt ?? 0) >= flow.authenticatedSince))
            throw new StaleSignInError()
          return flow.linkTo === null
            ? await signIn({ connection, result, flow }, request, reply, deps)
            : await link({ connection, result, flow, linkTo: flow.linkTo }, request, reply, deps)
        })
        return await leave(reply)
      } catch (error) {
        return await failConnect(
          error,
          { connection: connection.id, query: flow?.query ?? '', counted, onlyAs: flow?.onlyAs ?? null },
          request,
          reply,
          deps
        )
      }
    }
  )

  // The browser sends no `Lax` cookie with another site's form, and does with the GET that it is led to. Nothing is
  // looked at before that.
  child.post<{ Params: { id: string } }>(
    place,
    postFromAnyPage(
      {
        summary: 'Answer of another provider, by form_post',
        consumes: ['application/x-www-form-urlencoded'],
        body: ANSWER
      },
      {
        errors: { 404: 'not_found' },
        what:
          'Takes the same answer by `response_mode=form_post`, as Apple sends it. Browsers send no `Lax` ' +
          'cookie with the form of another site. So a cookie holds the sealed answer for a minute, and the ' +
          'answer is read after a redirect to the GET with `state` alone.'
      }
    ),
    async (request, reply) => {
      const connection = await enabledConnection(request.params.id, deps.connect)
      const form = formOf(request)
      const state = stateOf(new URLSearchParams(serializeParams(form)))
      const body = serializeParams(Object.fromEntries(READ.map((name) => [name, form[name]])))
      if (state === null || !connection.formPost)
        return await failConnect(
          new UpstreamError('mismatch', 'The answer is to no sign-in.'),
          { connection: connection.id, query: '', counted: false },
          request,
          reply,
          deps
        )
      cookies.set(reply, 'answer', state, { startedAt: deps.authorize.accounts.clock.now(), body })
      return await reply.redirect(`${new URL(connection.callbackUrl).pathname}?${serializeParams({ state })}`, 303)
    }
  )
}

/** The state that an answer is to; `null` where it has none of ours, or says something twice. */
function stateOf(answer: URLSearchParams): string | null {
  const state = answer.get('state')
  return state !== null && STATE.test(state) && ONCE.every((name) => answer.getAll(name).length < 2) ? state : null
}

interface Answered {
  connection: Connection
  result: UpstreamResult
  flow: ConnectFlow
}

async function signIn(
  { connection, result, flow }: Answered,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ConnectPageDeps
): Promise<Leave> {
  const {
    authorize: { accounts, browserSessions },
    connect: { cookies },
    journeys,
    link,
    registration
  } = deps
  const journey = await journeys.from(flow.query)
  if (flow.onlyAs !== null && (await deps.browser.signedIn(request))?.session.sid !== flow.onlyAs.sid)
    throw new UpstreamError('mismatch', 'Another user is signed in than the one who began this.')
  const person = personOf(result, connection, { now: accounts.clock.now(), askedFresh: flow.fresh })
  const outcome = await federatedSignIn(
    {
      connection,
      person,
      authoritative: result.assertion.emailAuthoritative,
      browser: await signInBrowser(request, { asksAll: flow.fresh || journey.asksAll }, deps),
      clientId: new URLSearchParams(flow.query.slice(1)).get('client_id'),
      locale: localeOf(request),
      only: flow.onlyAs?.userId,
      reserveSignUp: async (check) => {
        await deps.limiter.reserve(request, reply, check, async () => {})
      },
      complete: (profile) => completeProfile(profile, registration?.fields.required ?? [])
    },
    { accounts, browserSessions }
  )
  if (outcome.to === 'session') {
    const { begun, isNew } = outcome
    // With a second factor to come nobody is signed in yet, and what the provider gave is kept nowhere until then.
    if ('session' in begun)
      tellHost(connection, { user: begun.user, claims: result.claims, tokens: result.tokens, isNew }, accounts)
    // An app on a device gets its code as the answer to a page of ours. This is none. @see RFC 8252 §8.6
    // The second factor is asked for on a page of ours, so that needs none in between.
    if (journey.clientName === null || 'ticket' in begun)
      return leadOn(begun, { ...journey, nativeRequest: null }, request, deps)
    const { clientName } = journey
    // A page and no redirect: the browser may have come by a form of the provider, whose `form-action` holds for every
    // redirect after it and knows our origin at most, and not the client's.
    return async (reply) => {
      deps.browser.setCookie(reply, begun.cookie)
      await deps.browser.makeKnown(request, reply, begun.user)
      return await sendAway(journey.next, { name: clientName }, journey, request, reply, deps)
    }
  }
  return async (reply: FastifyReply) => {
    cookies.setProof(reply, {
      id: accounts.random.id(),
      startedAt: accounts.clock.now(),
      connection: connection.id,
      // The profile is for a new account alone, and the cookie leaves room for the second step of the old one.
      person: outcome.to === 'confirm' ? { ...person, profile: { name: person.profile['name'] } } : person,
      userId: outcome.to === 'confirm' ? outcome.userId : null,
      query: flow.query,
      offered: flow.ours
    })
    return await goOn(`${link('connect')}/confirm`)(reply)
  }
}

/** By who began it, and in the session that they began it in. */
async function link(
  { connection, result, flow, linkTo }: Answered & { linkTo: NonNullable<ConnectFlow['linkTo']> },
  request: FastifyRequest,
  reply: FastifyReply,
  { authorize: { accounts }, browser, journeys }: ConnectPageDeps
): Promise<Leave> {
  const signedIn = await browser.signedIn(request)
  if (signedIn === null || signedIn.user.id !== linkTo.userId || signedIn.session.sid !== linkTo.sid)
    throw new UpstreamError('mismatch', 'Another user is signed in than the one who began this.')
  await linkToAccount(
    {
      connection,
      person: personOf(result, connection, { now: accounts.clock.now(), askedFresh: flow.fresh }),
      user: signedIn.user,
      stays: browser.stay(request, reply, linkTo.sid),
      contested: null,
      origin: originOf(request),
      locale: localeOf(request)
    },
    accounts
  )
  return goOn((await journeys.from(flow.query)).next)
}
