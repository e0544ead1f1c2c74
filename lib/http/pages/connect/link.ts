import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { freshnessIn, mayChange } from '../../../accounts/fresh-sign-in.ts'
import { originOf } from '../../edge/deps.ts'
import { JourneySchema } from '../../edge/schemas.ts'
import { goOn, withQuery } from '../form-page.ts'
import { formPost } from '../forms.ts'
import { beginConnect, type ConnectPageDeps, enabledConnection } from './begin.ts'
import { failConnect } from './failure.ts'
import { sendAway } from './leaving.ts'

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
    formPost({
      summary: 'Link a connection to the own account',
      body: Type.Object({}),
      querystring: Type.Partial(JourneySchema)
    }),
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
