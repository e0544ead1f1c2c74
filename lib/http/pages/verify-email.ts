import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { checkVerificationToken, disownAccount, type PendingVerification, verifyEmail } from '../../accounts/verify-email.ts'
import type { OAuthError } from '../../errors.ts'
import { originOf } from '../edge/deps.ts'
import type { Journey } from './journey.ts'
import type { AccountPageDeps } from './deps.ts'
import { attempt, formError } from './errors.ts'
import { formOf, formPost, pageGet, queryParam } from './forms.ts'
import { OneTimeTokenValue } from '../edge/schemas.ts'

/**
 * Where the link of a confirmation message leads: a page with a button. To open it uses nothing up, for mail programs do that
 * too; the button confirms as `POST /auth/email/verify` does, under one limit with it. A stranger may have signed up with the address of
 * whoever reads this: the page says who it was and when, and a second button ends the stranger's password.
 */
export function verifyEmailPage (child: FastifyInstance, { grants: { accounts }, limiter, journey: journeys, link, pages, path }: AccountPageDeps): void {
  type Shown = { token: string, pending: PendingVerification } & ({ refused: OAuthError } | { outcome: 'asked' | 'confirmed' | 'disowned' })

  async function show (request: FastifyRequest, reply: FastifyReply, journey: Journey, shown: Shown): Promise<FastifyReply> {
    const { pending: { username, sentAt, canDisown } } = shown
    const refused = 'refused' in shown ? shown.refused : undefined
    const outcome = 'refused' in shown ? 'asked' : shown.outcome
    return await pages.send(request, reply, 'verify_email', {
      action: `${link('verifyEmail')}${journey.query}`,
      error: refused === undefined ? null : formError(refused, request, reply, { pages, uiLocales: journey.uiLocales }),
      token: outcome === 'asked' ? shown.token : '',
      username,
      sentAt,
      canDisown,
      loginUrl: `${link('login')}${journey.query}`,
      done: outcome === 'confirmed',
      disowned: outcome === 'disowned'
    }, { statusCode: refused?.statusCode ?? 200, clientName: journey.clientName, uiLocales: journey.uiLocales, noReferrer: true })
  }

  // With HEAD, which mail programs ask first: a request for no route of ours would be in the host's log with its token.
  child.get(path('verifyEmail'), { ...pageGet({ summary: 'E-mail confirmation page', querystring: Type.Object({ token: OneTimeTokenValue }) }), exposeHeadRoute: true }, async (request, reply) => {
    const journey = await journeys.read(request)
    const token = queryParam(request, 'token')
    // Counted nowhere: any page can make a browser ask for this.
    const pending = await checkVerificationToken(token, accounts)
    return await show(request, reply, journey, { token, pending, outcome: 'asked' })
  })

  const body = Type.Object({ token: OneTimeTokenValue, decision: Type.Optional(Type.Literal('not_me')) })
  child.post(path('verifyEmail'), formPost({ summary: 'Confirm an e-mail address by a form', body }), async (request, reply) => {
    const journey = await journeys.read(request)
    const { token = '', decision } = formOf(request)
    const origin = originOf(request)
    const disowned = decision === 'not_me'
    let pending: PendingVerification | null = null
    const outcome = await attempt(async () => await limiter.countFailure(request, reply, async () => {
      pending = await checkVerificationToken(token, accounts)
      await (disowned ? disownAccount({ token, origin }, accounts) : verifyEmail({ token, origin }, accounts))
      return pending
    }))
    if ('done' in outcome) return await show(request, reply, journey, { token, pending: outcome.done, outcome: disowned ? 'disowned' : 'confirmed' })
    // The button would not help, or nothing is known of what the page has to say.
    if (outcome.refused.error === 'invalid_token' || pending === null) throw outcome.refused
    return await show(request, reply, journey, { token, pending, refused: outcome.refused })
  })
}
