import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import {
  checkVerificationToken,
  disownAccount,
  type PendingVerification,
  verifyEmail
} from '../../accounts/verify-email.ts'
import { JourneySchema, OneTimeTokenValue, Password, Username } from '../edge/schemas.ts'
import type { PageDeps } from './deps.ts'
import { formPage } from './form-page.ts'
import { queryParam, required } from './page-routes.ts'
import { checkResetToken, confirmPasswordReset, requestPasswordReset } from '../../accounts/reset-password.ts'
import { checkUndo, type PendingUndo, undoByLink } from '../../accounts/undo.ts'

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
      summaries: { page: 'Email confirmation page', form: 'Confirm an email address by a form' },
      errors: {
        page: { 400: 'invalid_token' },
        form: { 400: 'invalid_token', 429: { too_many_requests: 'rule `refresh`' } }
      },
      what: {
        page:
          'The link of a confirmation message leads to this page with one button. Opening it does not use ' +
          'the link up, and `HEAD` works too. Exists if `POST /auth/email/verify` does.',
        form:
          'Confirms the email address, as `POST /auth/email/verify` does. With `decision=not_me`, for a ' +
          "person who did not sign up, it ends the account's password and all its sessions, and the address " +
          'stays unconfirmed. For a new address of an account, `not_me` uses the link up and tells the ' +
          'account.'
      },
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
      errors: {
        page: { 400: 'invalid_token' },
        form: { 400: ['invalid_password', 'invalid_token'], 429: { too_many_requests: 'rule `refresh`' } }
      },
      what: {
        page:
          'The link of a reset message leads to this page. Opening it does not use the link up, because ' +
          'mail programs open links too. `HEAD` works too.',
        form: 'Sets the new password, as `POST /auth/password-reset/confirm` does. It signs nobody in.'
      },
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
      errors: { form: { 429: { too_many_requests: 'rule `passwordReset`' } } },
      what: {
        page: 'The page for a forgotten password. Exists if `POST /auth/password-reset` does.',
        form: 'Sends a message with a link, as `POST /auth/password-reset` does. The answer is always 202.'
      },
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

/** `token` is `''` once it is used up. */
interface Undoing {
  token: string
  pending: PendingUndo
}

/**
 * The page behind "that was not me" of a message. It says which change it takes back, with a button. Opening it uses
 * nothing up, because mail programs open links too.
 */
export function undoPage(child: FastifyInstance, deps: PageDeps): void {
  const {
    authorize: { accounts }
  } = deps
  const asked = async (token: string): Promise<Undoing> => {
    const pending = await checkUndo(token, accounts)
    return { token: pending.isDone ? '' : token, pending }
  }

  formPage<'undo', Undoing>(
    child,
    {
      name: 'undo',
      path: 'undo',
      summaries: { page: 'Page that takes a change of an account back', form: 'Take a change of an account back' },
      errors: {
        page: { 400: 'invalid_token' },
        form: { 400: 'invalid_token', 429: { too_many_requests: 'rule `refresh`' } }
      },
      what: {
        page:
          'The link "that was not me" leads to this page. The message `factor_added` about the first factor ' +
          'of an account has this link, and so does `email_changed`. It works for 72 hours. Opening it does ' +
          'not use it up, and `HEAD` works too. Exists if `GET /auth/reset-password` does.',
        form:
          'Takes the change back once, ends all sessions and sends a link for a new password. The first ' +
          'factor is removed with all factors that were added after it. The account gets its former address ' +
          'back, and all links to other providers end.'
      },
      querystring: Type.Object({ token: OneTimeTokenValue }),
      body: Type.Object({ token: OneTimeTokenValue }),
      fields: [],
      tokenInAddress: true,
      open: async ({ request }) => await asked(queryParam(request, 'token')),
      submit: ({ token = '' }, { origin, locale }) => ({
        limit: 'failures',
        async work() {
          const { pending } = await asked(token)
          await undoByLink({ token, locale, origin }, accounts)
          return { token: '', pending: { ...pending, isDone: true } }
        }
      }),
      async again({ token = '' }, refused) {
        // If the token is not good or can't be read, there is no content for the page.
        return await asked(token).catch(() => {
          throw refused
        })
      },
      content: ({ token, pending: { what, user, isDone } }) => ({ token, what, username: user.username, done: isDone })
    },
    deps
  )
}
