import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { checkResetToken, confirmPasswordReset } from '../../accounts/reset-password.ts'
import type { OAuthError } from '../../errors.ts'
import { originOf } from '../edge/deps.ts'
import type { Journey } from './journey.ts'
import type { AccountPageDeps } from './deps.ts'
import { attempt, formError } from './errors.ts'
import { formOf, formPost, pageGet, queryParam } from './forms.ts'
import { OneTimeTokenValue, Password } from '../edge/schemas.ts'

/**
 * Where the link of a reset message leads. To open it uses nothing up, for mail programs do that too; its form sets the password as
 * `POST /auth/password-reset/confirm` does, under one limit with it, and signs nobody in.
 */
export function resetPasswordPage (child: FastifyInstance, { grants: { accounts }, limiter, journey: journeys, link, pages, path, minLength }: AccountPageDeps): void {
  async function show (request: FastifyRequest, reply: FastifyReply, journey: Journey, { token, refused, done = false }: { token: string, refused?: OAuthError, done?: boolean }): Promise<FastifyReply> {
    return await pages.send(request, reply, 'reset_password', {
      action: `${link('resetPassword')}${journey.query}`,
      error: refused === undefined ? null : formError(refused, request, reply, { pages, fields: ['password'], uiLocales: journey.uiLocales, minLength }),
      token: done ? '' : token,
      minLength,
      loginUrl: `${link('login')}${journey.query}`,
      done
    }, { statusCode: refused?.statusCode ?? 200, clientName: journey.clientName, uiLocales: journey.uiLocales, noReferrer: true })
  }

  // With HEAD, which mail programs ask first: a request for no route of ours would be in the host's log with its token.
  child.get(path('resetPassword'), { ...pageGet({ summary: 'New password page', querystring: Type.Object({ token: OneTimeTokenValue }) }), exposeHeadRoute: true }, async (request, reply) => {
    const journey = await journeys.read(request)
    const token = queryParam(request, 'token')
    // Counted nowhere: any page can make a browser ask for this.
    await checkResetToken(token, accounts)
    return await show(request, reply, journey, { token })
  })

  child.post(path('resetPassword'), formPost({ summary: 'Set a new password by a form', body: Type.Object({ token: OneTimeTokenValue, password: Password }) }), async (request, reply) => {
    const journey = await journeys.read(request)
    const { token = '', password = '' } = formOf(request)
    const outcome = await attempt(async () => {
      await limiter.countFailure(request, reply, async () => { await confirmPasswordReset({ token, password, origin: originOf(request) }, accounts) })
    })
    // No password would help: there is nothing to fill in once more.
    if ('refused' in outcome && outcome.refused.error === 'invalid_token') throw outcome.refused
    return await show(request, reply, journey, { token, ...('refused' in outcome ? outcome : { done: true }) })
  })
}
