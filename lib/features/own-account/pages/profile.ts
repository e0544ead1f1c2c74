import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { changeProfile } from '../change-profile.ts'
import type { ProfileField } from '../../../pages/common-model.ts'
import type { Registration } from '../../../http/edge/registration.ts'
import { profileChangeForm } from '../../../http/pages/profile-fields.ts'
import {
  accountPage,
  isFromHere,
  type PersonVisit,
  type Proof,
  proofOf,
  proven
} from '../../../http/pages/account-page.ts'
import { confirmEmailChangeByCode } from '../../../accounts/change-email.ts'
import { readCode } from '../../../accounts/message-codes.ts'
import { requestEmailChange } from '../../../accounts/request-email-change.ts'
import { addressOf } from '../../../accounts/outbox.ts'
import { sendVerificationAgain } from '../../../accounts/verify-email.ts'
import { ownerConnection } from '../../../accounts/ways-in.ts'
import type { AccountModel } from '../../../pages/account-models.ts'
import type { PageModels } from '../../../pages/model.ts'
import { EmailAddress, EmailCode, PasswordAgain } from '../../../http/edge/schemas.ts'
import type { PageDeps } from '../../../http/pages/deps.ts'
import { queryParam, required } from '../../../http/pages/page-routes.ts'
import type { Waits } from '../../../http/pages/waiting.ts'
import { removeAccount } from '../../../accounts/remove-account.ts'
import { goOn, withQuery } from '../../../http/pages/form-page.ts'

/** The page on which a person changes profile fields, with the same rules as `PATCH /auth/profile`. */
export function profilePage(
  child: FastifyInstance,
  deps: PageDeps,
  registration: Registration,
  fields: readonly string[]
): void {
  const {
    authorize: { accounts }
  } = deps
  const profile = profileChangeForm(registration, fields)
  accountPage<'account_profile', { fields: ProfileField[] }>(
    child,
    {
      name: 'account_profile',
      path: 'accountProfile',
      summaries: { page: 'Profile page', form: 'Change the profile by a form' },
      what: {
        page:
          'The page of the profile fields that people may change themselves. Exists if `GET /auth/account` ' +
          'and `PATCH /auth/profile` do.',
        form:
          'Changes the profile as `PATCH /auth/profile` does. A field with the stored value is not changed. An ' +
          'empty field is removed.'
      },
      body: Type.Object(Object.fromEntries(profile.names.map((name) => [name, Type.Optional(Type.String())]))),
      fields: profile.names,
      open: async ({ request, journey, person: { user } }, form) => ({
        fields: profile.show(user, form, deps.pages.messagesFor(request, journey))
      }),
      submit(
        form,
        {
          person: {
            user,
            session: { sid }
          },
          origin
        }
      ) {
        const changes = profile.read(form, user)
        return {
          limit: null,
          async work() {
            await changeProfile({ user, sid, changes, origin }, accounts)
            return 'profile'
          }
        }
      },
      content: (shown) => shown
    },
    deps
  )
}

type Shown = Omit<PageModels['account_email'], keyof AccountModel>

/**
 * The page of the person's email address. Changes the address as `POST /auth/email` does, takes the code that was sent
 * to the new address, or sends the confirmation again as `POST /auth/email/resend` does.
 */
export function emailPage(child: FastifyInstance, deps: PageDeps): void {
  const {
    authorize: { accounts },
    browser,
    waiting
  } = deps
  const canChange = accounts.users.update !== undefined
  const awaitedBy = ({ request, journey }: PersonVisit): Waits | null => {
    const waits = waiting.of(request, journey)
    return waits?.kind === 'change' ? waits : null
  }
  const path = 'accountEmail'
  accountPage<'account_email', Shown>(
    child,
    {
      name: 'account_email',
      path,
      summaries: { page: 'Email page', form: 'Change the email address by a form' },
      errors: {
        form: {
          400: ['invalid_code', 'invalid_grant'],
          401: 'insufficient_user_authentication',
          429: { too_many_requests: 'rules `passwordReset`, `login` and `account`' }
        }
      },
      what: {
        page:
          "The page of the person's email address. Exists if `GET /auth/account` does, and `POST " +
          '/auth/email` or `POST /auth/email/resend`.',
        form:
          'Asks for another address as `POST /auth/email` does. A session that began more than five minutes ' +
          'ago needs `current_password`, or with a second factor a new sign-in. `decision=resend` sends the ' +
          'confirmation again, as `POST /auth/email/resend` does. With `code`, the code of the message to the new ' +
          'address, confirms that address in the browser and the session that asked for it. `decision=other` begins ' +
          'again.'
      },
      body: Type.Object({
        email: Type.Optional(EmailAddress),
        code: Type.Optional(EmailCode),
        current_password: PasswordAgain,
        decision: Type.Optional(Type.Union([Type.Literal('resend'), Type.Literal('other')]))
      }),
      fields: ['email', 'code', 'current_password'],
      async open(visit, form) {
        const { user } = visit.person
        const address = addressOf(user)
        return {
          currentEmail: address === '' ? null : address,
          emailVerified: user.emailVerified === true,
          email: form?.email ?? '',
          awaited: awaitedBy(visit)?.name ?? null,
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
          request,
          reply,
          journey,
          locale,
          origin
        } = visit
        const waits = awaitedBy(visit)
        if (form.decision === 'other' || (form.code !== undefined && waits === null)) {
          return {
            limit: null,
            async work() {
              // Keeps the id of this browser in the cookie, so that another code for the same address is bound to it
              // too.
              if (waits === null) waiting.clear(reply, journey)
              else waiting.set(reply, journey, { kind: 'typed', name: waits.name, id: waits.id })
              return goOn(`${deps.link(path)}${journey.query}`)
            }
          }
        }
        if (form.code !== undefined && waits !== null) {
          const code = readCode(form.code)
          return {
            limit: { rule: 'login' },
            async work() {
              const stay = (kept: string): ReturnType<typeof browser.stay> => browser.stay(request, reply, kept)
              const asked = { user, address: waits.name, sid, asker: waits.id }
              await confirmEmailChangeByCode({ ...asked, code, stay, locale, origin }, accounts)
              waiting.clear(reply, journey)
              return 'email_changed'
            }
          }
        }
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
            const asker = waiting.idFor(request, journey, email)
            const name = await requestEmailChange({ user, sid, email, locale, origin, asker }, accounts)
            if (accounts.codes !== null) waiting.set(reply, journey, { kind: 'change', name, id: asker })
            return 'email_sent'
          }
        }
      },
      content: (shown) => shown
    },
    deps
  )
}

/**
 * The page that removes the account, as `DELETE /auth/account` does. A user with a password and without a second factor
 * must enter the password, even after a fresh sign-in. Any other user needs a fresh sign-in.
 */
export function removePage(child: FastifyInstance, deps: PageDeps): void {
  const {
    authorize: { accounts },
    browser,
    homeUrl,
    link,
    pages
  } = deps
  const path = 'accountRemove'
  accountPage<'account_remove', Proof>(
    child,
    {
      name: 'account_remove',
      path,
      summaries: { page: 'Page to delete the account', form: 'Delete the account by a form' },
      errors: {
        form: {
          400: 'invalid_grant',
          401: 'insufficient_user_authentication',
          429: { too_many_requests: 'rules `login` and `account`' }
        }
      },
      what: {
        page:
          'The page that asks whether to delete the account. Exists if `GET /auth/account` and `DELETE ' +
          '/auth/account` do.',
        form:
          'Deletes the account as `DELETE /auth/account` does. It always needs `current_password`. An ' +
          'account without a password or with a second factor needs a session of the last five minutes.'
      },
      body: Type.Object({ current_password: PasswordAgain }),
      fields: ['current_password'],
      open: async (visit) => await proofOf('removal', path, visit, deps, { always: true }),
      withoutPerson({ request, journey: { uiLocales } }) {
        if (queryParam(request, 'done') !== 'removed' || !isFromHere(request)) return null
        return async (reply) => await pages.send(request, reply, 'account_removed', { homeUrl }, { uiLocales })
      },
      async submit(form, visit) {
        const {
          request,
          reply,
          person: {
            user,
            session: { sid }
          },
          journey: { query },
          locale,
          origin
        } = visit
        return {
          ...(await proven(
            'removal',
            form,
            await proofOf('removal', path, visit, deps, { always: true }),
            visit,
            accounts
          )),
          limit: null,
          async work() {
            await removeAccount({ user, stays: browser.stay(request, reply, sid), locale, origin }, accounts)
            return async (reply) => {
              browser.clearCookie(reply)
              return await goOn(withQuery(`${link(path)}${query}`, { done: 'removed' }))(reply)
            }
          }
        }
      },
      content: (shown) => shown
    },
    deps
  )
}
