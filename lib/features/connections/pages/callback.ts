import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { OAuthError, UpstreamError } from '../../../errors.ts'
import { serializeParams } from '../../../protocol/request-params.ts'
import { formOf, pageGet, postFromAnyPage, queryOf } from '../../../http/pages/page-routes.ts'
import { type ConnectPageDeps, enabledConnection } from './begin.ts'
import { failConnect, StaleSignInError } from './failure.ts'
import { acceptInvitation, linkIdentity, signInByAnswer } from './outcomes.ts'

/** The parameters of a provider's answer. Any others are the provider's own. */
const ANSWER = Type.Object({
  code: Type.Optional(Type.String()),
  state: Type.Optional(Type.String()),
  iss: Type.Optional(Type.String()),
  error: Type.Optional(Type.String())
})
/**
 * The parameters that an answer may contain only once. Otherwise one part of the code could read the first value and
 * another part the second.
 */
const ONCE = ['code', 'state', 'iss', 'error', 'id_token']
/** The parameters of a posted answer that the cookie keeps. No code reads the others. */
const READ = ['code', 'state', 'iss', 'error', 'user']
const STATE = /^[A-Za-z0-9_-]{43}$/

/**
 * `GET` and `POST /auth/connect/:id/callback`: the provider sends the browser back here. The request comes from another
 * site, so no same-origin check applies. The flow's cookie protects the request instead.
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
      const sent = new URLSearchParams(queryOf(request))
      const state = stateOf(sent)
      const flow = state === null ? null : cookies.read(request, 'flow', state)
      const posted = state === null ? null : cookies.read(request, 'answer', state)
      // The flow is over, whatever its outcome.
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
          if (flow.invitation !== null)
            return await acceptInvitation({ connection, result, flow, invitation: flow.invitation }, request, deps)
          return flow.linkTo === null
            ? await signInByAnswer({ connection, result, flow }, request, reply, deps)
            : await linkIdentity({ connection, result, flow, linkTo: flow.linkTo }, request, reply, deps)
        })
        return await leave(reply)
      } catch (error) {
        return await failConnect(
          error,
          {
            connection: connection.id,
            query: flow?.query ?? '',
            counted,
            onlyAs: flow?.onlyAs ?? null,
            invitation: flow?.invitation ?? null
          },
          request,
          reply,
          deps
        )
      }
    }
  )

  // A browser sends no `Lax` cookie with a form from another site, but sends it with the GET after a redirect. So this
  // route only stores the answer, and the GET checks it.
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

/**
 * Returns the `state` of an answer. `null`: it does not have the form of our states, or a parameter of `ONCE` occurs
 * twice.
 */
function stateOf(answer: URLSearchParams): string | null {
  const state = answer.get('state')
  return state !== null && STATE.test(state) && ONCE.every((name) => answer.getAll(name).length < 2) ? state : null
}
