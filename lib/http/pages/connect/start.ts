import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { JourneySchema } from '../../edge/schemas.ts'
import { pageGet, queryParam, queryParams } from '../forms.ts'
import { beginConnect, type ConnectPageDeps, enabledConnection, isFromOurPage, isLookingAhead } from './begin.ts'
import { failConnect } from './failure.ts'

/**
 * `GET /auth/connect/:id`: leads to the provider. A link and no form, because `form-action` would have to list wherever
 * that redirects to. Only a page of ours leads here: what comes from elsewhere sees the sign-in page first, so that no
 * other site signs people in.
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
    { ...pageGet({ summary: 'Sign in through a connection', querystring: Type.Partial(JourneySchema) }) },
    async (request, reply) => {
      const connection = await enabledConnection(request.params.id, connect)
      const journey = await journeys.read(request)
      // A browser that only looks ahead must not get a cookie for each link that it sees.
      if (isLookingAhead(request)) return await reply.code(503).send()
      if (!isFromOurPage(request, issuer)) return await reply.redirect(`${link('login')}${journey.query}`, 303)
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
            { connection, journey, asked: queryParams(request), linkTo: null, onlyAs },
            request,
            reply,
            deps
          ),
          303
        )
      } catch (error) {
        return await failConnect(
          error,
          { connection: connection.id, query: journey.query, counted: false, onlyAs },
          request,
          reply,
          deps
        )
      }
    }
  )
}
