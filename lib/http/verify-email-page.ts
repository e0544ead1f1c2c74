import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { checkVerificationToken, verifyEmail } from '../accounts/verify-email.ts'
import type { OAuthError } from '../errors.ts'
import { originOf } from './deps.ts'
import type { Journey } from './journey.ts'
import type { AccountPageDeps } from './page-deps.ts'
import { attempt, formError } from './page-errors.ts'
import { formOf, formPost, pageGet, queryParam } from './page-forms.ts'
import { OneTimeTokenValue } from './schemas.ts'

/**
 * Where the link of a confirmation message leads: a page with one button. To open it uses nothing up, for mail programs do that
 * too; the button confirms as `POST /auth/email/verify` does, under one limit with it.
 */
export function verifyEmailPage (child: FastifyInstance, { grants: { accounts }, limiter, journey: journeys, link, pages, path }: AccountPageDeps): void {
  async function show (request: FastifyRequest, reply: FastifyReply, journey: Journey, { token, refused, done = false }: { token: string, refused?: OAuthError, done?: boolean }): Promise<FastifyReply> {
    return await pages.send(request, reply, 'verify_email', {
      action: `${link('verifyEmail')}${journey.query}`,
      error: refused === undefined ? null : formError(refused, request, reply, { pages, uiLocales: journey.uiLocales }),
      token: done ? '' : token,
      loginUrl: `${link('login')}${journey.query}`,
      done
    }, { statusCode: refused?.statusCode ?? 200, clientName: journey.clientName, uiLocales: journey.uiLocales, noReferrer: true })
  }

  // With HEAD, which mail programs ask first: a request for no route of ours would be in the host's log with its token.
  child.get(path('verifyEmail'), { ...pageGet({ summary: 'E-mail confirmation page', querystring: Type.Object({ token: OneTimeTokenValue }) }), exposeHeadRoute: true }, async (request, reply) => {
    const journey = await journeys.read(request)
    const token = queryParam(request, 'token')
    await limiter.run(request, reply, { rule: 'refresh' }, async () => { await checkVerificationToken(token, accounts) })
    return await show(request, reply, journey, { token })
  })

  child.post(path('verifyEmail'), formPost(accounts.issuer, { summary: 'Confirm an e-mail address by a form', body: Type.Object({ token: OneTimeTokenValue }) }), async (request, reply) => {
    const journey = await journeys.read(request)
    const { token = '' } = formOf(request)
    const outcome = await attempt(async () => {
      await limiter.run(request, reply, { rule: 'refresh' }, async () => { await verifyEmail({ token, origin: originOf(request) }, accounts) })
    })
    // The button would not help.
    if ('refused' in outcome && outcome.refused.error === 'invalid_token') throw outcome.refused
    return await show(request, reply, journey, { token, ...('refused' in outcome ? outcome : { done: true }) })
  })
}
