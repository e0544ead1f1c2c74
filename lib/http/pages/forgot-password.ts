import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { requestPasswordReset } from '../../accounts/reset-password.ts'
import { OAuthError } from '../../errors.ts'
import { originOf } from '../edge/deps.ts'
import type { Journey } from './journey.ts'
import type { AccountPageDeps } from './deps.ts'
import { attempt, formError } from './errors.ts'
import { formOf, formPost, pageGet } from './forms.ts'
import { Username } from '../edge/schemas.ts'

/** Asks for a reset message as `POST /auth/password-reset` does, under one limit with it. One answer for all who ask. */
export function forgotPasswordPage (child: FastifyInstance, { grants: { accounts }, limiter, journey: journeys, link, pages, path }: AccountPageDeps): void {
  async function show (request: FastifyRequest, reply: FastifyReply, journey: Journey, { username, refused, sent = false }: { username: string, refused?: OAuthError, sent?: boolean }): Promise<FastifyReply> {
    return await pages.send(request, reply, 'forgot_password', {
      action: `${link('forgotPassword')}${journey.query}`,
      error: refused === undefined ? null : formError(refused, request, reply, { pages, fields: ['username'], uiLocales: journey.uiLocales }),
      username,
      loginUrl: `${link('login')}${journey.query}`,
      sent
    }, { statusCode: refused?.statusCode ?? (sent ? 202 : 200), clientName: journey.clientName, uiLocales: journey.uiLocales })
  }

  child.get(path('forgotPassword'), pageGet({ summary: 'Forgotten password page' }), async (request, reply) => {
    const journey = await journeys.read(request)
    return await show(request, reply, journey, { username: journey.loginHint ?? '' })
  })

  child.post(path('forgotPassword'), formPost({ summary: 'Ask for a password reset by a form', body: Type.Object({ username: Username }) }), async (request, reply) => {
    const journey = await journeys.read(request)
    const { username = '' } = formOf(request)
    const outcome = await attempt(async () => {
      if (username === '') throw new OAuthError('invalid_request', 'username: it is required.', { field: 'username', reason: 'required' })
      await limiter.reserve(request, reply, { rule: 'passwordReset' }, async () => { await requestPasswordReset({ username, origin: originOf(request) }, accounts) })
    })
    return await show(request, reply, journey, { username, ...('refused' in outcome ? outcome : { sent: true }) })
  })
}
