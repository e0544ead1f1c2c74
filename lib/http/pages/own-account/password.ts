import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { changePassword } from '../../../accounts/change-password.ts'
import { Password } from '../../edge/schemas.ts'
import type { PageDeps } from '../deps.ts'
import { goOn } from '../form-page.ts'
import { required } from '../forms.ts'
import { accountPage, passwordLimit } from './account-page.ts'

/** Changes the password as `POST /auth/password` does, under one limit with it. */
export function passwordPage (child: FastifyInstance, deps: PageDeps): void {
  const { authorize: { accounts }, link, minLength } = deps
  accountPage<'account_password', object>(child, {
    name: 'account_password',
    path: 'accountPassword',
    summaries: { page: 'Change-password page', form: 'Change the password by a form' },
    body: Type.Object({ current_password: Password, password: Password }),
    fields: ['current_password', 'password'],
    // Without a password there is none to change.
    open: async ({ person, journey }) => person.user.passwordHash === null ? goOn(`${link('account')}${journey.query}`) : {},
    submit (form, { person: { user, session }, locale, origin }) {
      const { current_password: currentPassword, password: newPassword } = required(form, ['current_password', 'password'])
      return {
        limit: passwordLimit(user),
        async work () {
          await changePassword({ userId: user.id, sid: session.sid, currentPassword, newPassword, locale, origin }, accounts)
          return 'password'
        }
      }
    },
    content: () => ({ minLength })
  }, deps)
}
