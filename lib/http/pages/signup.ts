import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { register } from '../../accounts/register.ts'
import type { OAuthError } from '../../errors.ts'
import { originOf } from '../edge/deps.ts'
import type { Journey } from './journey.ts'
import type { AccountPageDeps } from './deps.ts'
import { attempt, formError } from './errors.ts'
import { type Form, formOf, formPost, pageGet } from './forms.ts'
import { profileForm } from './profile-fields.ts'
import { aboutUsername, type Registration } from '../edge/registration.ts'
import { logLine } from '../../ports/log.ts'

/**
 * Makes an account as `POST /auth/register` does, under one limit with it, and signs the new user in; where an e-mail must be
 * confirmed first, one answer for all who ask.
 */
export function signupPage (child: FastifyInstance, { grants: { accounts }, limiter, journey: journeys, link, signIn, pages, path, minLength }: AccountPageDeps, registration: Registration): void {
  const profile = profileForm(registration)

  async function show (request: FastifyRequest, reply: FastifyReply, journey: Journey, { form = null, refused, sent = false }: { form?: Form | null, refused?: OAuthError, sent?: boolean }): Promise<FastifyReply> {
    return await pages.send(request, reply, 'signup', {
      action: `${link('signup')}${journey.query}`,
      error: refused === undefined ? null : formError(refused, request, reply, { pages, fields: profile.names, uiLocales: journey.uiLocales, minLength }),
      username: form === null ? journey.loginHint ?? '' : form.username ?? '',
      fields: profile.show(form),
      minLength,
      loginUrl: `${link('login')}${journey.query}`,
      sent
    }, { statusCode: refused?.statusCode ?? (sent ? 202 : 200), clientName: journey.clientName, uiLocales: journey.uiLocales, formActions: journey.formActions })
  }

  child.get(path('signup'), pageGet({ summary: 'Sign-up page' }), async (request, reply) => await show(request, reply, await journeys.read(request), {}))

  child.post(path('signup'), formPost({ summary: 'Sign up by a form', body: registration.body }), async (request, reply) => {
    const journey = await journeys.read(request)
    const form = formOf(request)
    const outcome = await attempt(async () => {
      const input = profile.read(form)
      return await limiter.reserve(request, reply, { rule: 'register' }, async () => await register({ ...input, origin: originOf(request) }, accounts))
    })
    if ('refused' in outcome) return await show(request, reply, journey, { form, refused: aboutUsername(outcome.refused, profile.names) })
    if (outcome.done === 'pending') return await show(request, reply, journey, { form, sent: true })
    const { user } = outcome.done
    try {
      await signIn(request, reply, user.id)
    } catch (error) {
      // The account is there: to sign up once more would only find the name taken.
      request.log.error(...logLine('FST_AUTHORITY_WORK_FAILED', 'a new user could not be signed in', { err: error }))
      return reply.redirect(`${link('login')}${journey.query}`, 303)
    }
    return reply.redirect(journey.next, 303)
  })
}
