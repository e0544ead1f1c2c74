import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { checkResetToken, confirmPasswordReset } from '../../accounts/reset-password.ts'
import { OneTimeTokenValue, Password } from '../edge/schemas.ts'
import type { PageDeps } from './deps.ts'
import { formPage } from './form-page.ts'
import { queryParam } from './forms.ts'

/**
 * The page behind the link of a reset message. Opening it uses nothing up, because mail programs open links too. Its
 * form sets the password as `POST /auth/password-reset/confirm` does, under one limit with it, and signs nobody in.
 */
export function resetPasswordPage(child: FastifyInstance, deps: PageDeps): void {
  const {
    authorize: { accounts },
    link,
    minLength
  } = deps
  formPage<'reset_password', { token: string; done: boolean }>(
    child,
    {
      name: 'reset_password',
      path: 'resetPassword',
      summaries: { page: 'New password page', form: 'Set a new password by a form' },
      querystring: Type.Object({ token: OneTimeTokenValue }),
      body: Type.Object({ token: OneTimeTokenValue, password: Password }),
      fields: ['password'],
      tokenInAddress: true,
      async open({ request }) {
        const token = queryParam(request, 'token')
        await checkResetToken(token, accounts)
        return { token, done: false }
      },
      submit: ({ token = '', password = '' }, { origin, locale }) => ({
        limit: 'failures',
        async work() {
          await confirmPasswordReset({ token, password, locale, origin }, accounts)
          return { token: '', done: true }
        }
      }),
      again({ token = '' }, refused) {
        // No other password would help.
        if (refused.error === 'invalid_token') throw refused
        return { token, done: false }
      },
      content: ({ token, done }, { journey }) => ({
        token,
        minLength,
        loginUrl: `${link('login')}${journey.query}`,
        done
      })
    },
    deps
  )
}
