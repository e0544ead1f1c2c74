import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { requestPasswordReset } from '../../accounts/reset-password.ts'
import { JourneySchema, Username } from '../edge/schemas.ts'
import type { PageDeps } from './deps.ts'
import { formPage } from './form-page.ts'
import { required } from './forms.ts'

/**
 * Asks for a reset message as `POST /auth/password-reset` does, under one limit with it. One answer for all who ask.
 */
export function forgotPasswordPage(child: FastifyInstance, deps: PageDeps): void {
  const {
    authorize: { accounts },
    link
  } = deps
  formPage<'forgot_password', { username: string; sent: boolean }>(
    child,
    {
      name: 'forgot_password',
      path: 'forgotPassword',
      summaries: { page: 'Forgotten password page', form: 'Ask for a password reset by a form' },
      querystring: JourneySchema,
      body: Type.Object({ username: Username }),
      fields: ['username'],
      open: async ({ journey }) => ({ username: journey.loginHint ?? '', sent: false }),
      submit(form, { origin, locale }) {
        const { username } = required(form, ['username'])
        return {
          limit: { rule: 'passwordReset' },
          async work() {
            await requestPasswordReset({ username, locale, origin }, accounts)
            return { username, sent: true }
          }
        }
      },
      again: ({ username = '' }) => ({ username, sent: false }),
      content: ({ username, sent }, { journey }) => ({ username, loginUrl: `${link('login')}${journey.query}`, sent }),
      statusCode: ({ sent }) => (sent ? 202 : 200)
    },
    deps
  )
}
