import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import {
  checkVerificationToken,
  disownAccount,
  type PendingVerification,
  verifyEmail
} from '../../accounts/verify-email.ts'
import { OneTimeTokenValue } from '../edge/schemas.ts'
import type { PageDeps } from './deps.ts'
import { formPage } from './form-page.ts'
import { queryParam } from './forms.ts'

/** `token` is `''` once it is used up. */
interface Shown {
  token: string
  pending: PendingVerification
  outcome: 'asked' | 'confirmed' | 'disowned'
}

/**
 * The page behind the link of a confirmation message, with a button. Opening it uses nothing up, because mail programs
 * open links too. The button confirms as `POST /auth/email/verify` does, under one limit with it. A stranger may have
 * signed up with the reader's address: the page says under which name and when, and a second button ends the stranger's
 * password, or stops the change.
 */
export function verifyEmailPage(child: FastifyInstance, deps: PageDeps): void {
  const {
    authorize: { accounts },
    browser,
    link
  } = deps
  const asked = async (token: string): Promise<Shown> => ({
    token,
    pending: await checkVerificationToken(token, accounts),
    outcome: 'asked'
  })

  formPage<'verify_email', Shown>(
    child,
    {
      name: 'verify_email',
      path: 'verifyEmail',
      summaries: { page: 'E-mail confirmation page', form: 'Confirm an e-mail address by a form' },
      querystring: Type.Object({ token: OneTimeTokenValue }),
      body: Type.Object({ token: OneTimeTokenValue, decision: Type.Optional(Type.Literal('not_me')) }),
      fields: [],
      tokenInAddress: true,
      open: async ({ request }) => await asked(queryParam(request, 'token')),
      submit: ({ token = '', decision }, { request, reply, origin, locale }) => ({
        limit: 'failures',
        async work() {
          const { pending } = await asked(token)
          const isDisowned = decision === 'not_me'
          await (isDisowned
            ? disownAccount({ token, origin }, accounts)
            : verifyEmail({ token, stay: (sid) => browser.stay(request, reply, sid), locale, origin }, accounts))
          return { token: '', pending, outcome: isDisowned ? 'disowned' : 'confirmed' }
        }
      }),
      async again({ token = '' }, refused) {
        // If the token is not good or can't be read, there is no content for the page.
        return await asked(token).catch(() => {
          throw refused
        })
      },
      content: ({ token, pending: { username, sentAt, canDisown, newAddress }, outcome }, { journey }) => ({
        token,
        username,
        sentAt,
        canDisown,
        newAddress,
        loginUrl: `${link('login')}${journey.query}`,
        done: outcome === 'confirmed',
        disowned: outcome === 'disowned'
      })
    },
    deps
  )
}
