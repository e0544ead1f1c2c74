import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { changePassword } from '../../../accounts/change-password.ts'
import { freshnessIn, requireProof } from '../../../accounts/fresh-sign-in.ts'
import { addressOf } from '../../../accounts/outbox.ts'
import { sendFirstPasswordLink } from '../../../accounts/reset-password.ts'
import { Password } from '../../../http/edge/schemas.ts'
import type { PageDeps } from '../../../http/pages/deps.ts'
import { goOn } from '../../../http/pages/form-page.ts'
import { required } from '../../../http/pages/page-routes.ts'
import { accountPage, accountPageAfter, passwordLimit, proofOf } from '../../../http/pages/account-page.ts'

/**
 * The page on which a user changes the password, with the same rules and rate limits as `POST /auth/password`. A user
 * without a password gets an emailed link to set one.
 */
export function passwordPage(child: FastifyInstance, deps: PageDeps): void {
  const {
    authorize: { accounts },
    browser,
    link,
    minLength,
    offers
  } = deps
  accountPage<'account_password', { hasPassword: boolean }>(
    child,
    {
      name: 'account_password',
      path: 'accountPassword',
      summaries: { page: 'Change-password page', form: 'Change the password by a form' },
      errors: {
        form: { 400: ['invalid_grant', 'invalid_password'], 429: { too_many_requests: 'rules `login` and `account`' } }
      },
      what: {
        page:
          'The page for a new password. Exists if `GET /auth/account` and `POST /auth/password` do. It ' +
          'leads an account without a password and without an address for the link to `/auth/account`.',
        form:
          'Changes the password as `POST /auth/password` does, and shares its limit. For an account without ' +
          'a password, `decision=first` sends the link of a password reset under the rule `passwordReset`.'
      },
      body: Type.Object({
        current_password: Type.Optional(Password),
        password: Type.Optional(Password),
        decision: Type.Optional(Type.Literal('first'))
      }),
      fields: ['current_password', 'password'],
      async open(visit) {
        const {
          person: { user },
          journey
        } = visit
        // Without a password and without an address for a reset link, the user can do nothing on this page.
        if (user.passwordHash === null && !(offers.reset && addressOf(user) !== ''))
          return goOn(`${link('account')}${journey.query}`)
        const { signInUrl } = await proofOf('password', 'accountPassword', visit, deps)
        if (user.passwordHash !== null && signInUrl !== null) return goOn(signInUrl)
        return { hasPassword: user.passwordHash !== null }
      },
      async submit(form, visit) {
        const {
          request,
          reply,
          person: { user, session },
          locale,
          origin
        } = visit
        if (form.decision === 'first') {
          return {
            limit: { rule: 'passwordReset', userId: user.id },
            async work() {
              await sendFirstPasswordLink(user, { locale, origin }, accounts)
              return 'password_link'
            }
          }
        }
        const { current_password: currentPassword, password: newPassword } = required(form, [
          'current_password',
          'password'
        ])
        await requireProof('password', freshnessIn(visit.person, origin), accounts)
        return {
          limit: passwordLimit(user),
          async work() {
            await changePassword(
              {
                userId: user.id,
                stays: browser.stay(request, reply, session.sid),
                currentPassword,
                newPassword,
                locale,
                origin
              },
              accounts
            )
            const now = await accounts.users.findById(user.id)
            // Renews the mark of a known browser, because the mark depends on the password.
            if (now !== null) await browser.makeKnown(reply, now)
            return accountPageAfter('accountPassword', visit, 'password', deps)
          }
        }
      },
      content: ({ hasPassword }) => ({ minLength, hasPassword })
    },
    deps
  )
}
