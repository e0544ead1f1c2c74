import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { requestEmailChange } from '../../../accounts/change-email.ts'
import { addressOf } from '../../../accounts/outbox.ts'
import { sendVerificationAgain } from '../../../accounts/verify-email.ts'
import { ownerConnection } from '../../../accounts/ways-in.ts'
import type { AccountModel } from '../../../pages/account-models.ts'
import type { PageModels } from '../../../pages/model.ts'
import { EmailAddress, PasswordAgain } from '../../edge/schemas.ts'
import type { PageDeps } from '../deps.ts'
import { required } from '../forms.ts'
import { accountPage } from './account-page.ts'
import { proofOf, proven } from './fresh.ts'

type Shown = Omit<PageModels['account_email'], keyof AccountModel>

/**
 * The person's address: another one, as by `POST /auth/email`, or the confirmation again, as by `POST
 * /auth/email/resend`.
 */
export function emailPage(child: FastifyInstance, deps: PageDeps): void {
  const {
    authorize: { accounts }
  } = deps
  const canChange = accounts.users.update !== undefined
  const path = 'accountEmail'
  accountPage<'account_email', Shown>(
    child,
    {
      name: 'account_email',
      path,
      summaries: { page: 'E-mail page', form: 'Change the e-mail address by a form' },
      body: Type.Object({
        email: Type.Optional(EmailAddress),
        current_password: PasswordAgain,
        decision: Type.Optional(Type.Literal('resend'))
      }),
      fields: ['email', 'current_password'],
      async open(visit, form) {
        const { user } = visit.person
        const address = addressOf(user)
        return {
          currentEmail: address === '' ? null : address,
          emailVerified: user.emailVerified === true,
          email: form?.email ?? '',
          canChange: canChange && ownerConnection(user, accounts) === null,
          canResend: accounts.users.setEmailVerified !== undefined && address !== '' && user.emailVerified !== true,
          ...(await proofOf('email', path, visit, deps))
        }
      },
      async submit(form, visit) {
        const {
          person: {
            user,
            session: { sid }
          },
          locale,
          origin
        } = visit
        const limit = { rule: 'passwordReset', userId: user.id } as const
        if (!canChange || form.decision === 'resend') {
          return {
            limit,
            async work() {
              const sent =
                accounts.users.setEmailVerified === undefined ||
                (await sendVerificationAgain(user, { locale, origin }, accounts))
              return sent ? 'email_resent' : 'email_waiting'
            }
          }
        }
        const { email } = required(form, ['email'])
        return {
          ...(await proven('email', form, await proofOf('email', path, visit, deps), visit, accounts)),
          limit,
          async work() {
            await requestEmailChange({ user, sid, email, locale, origin }, accounts)
            return 'email_sent'
          }
        }
      },
      content: (shown) => shown
    },
    deps
  )
}
