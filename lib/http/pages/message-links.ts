import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import {
  checkVerificationToken,
  disownAccount,
  type PendingVerification,
  verifyEmail
} from '../../accounts/verify-email.ts'
import { OneTimeTokenValue, Password } from '../edge/schemas.ts'
import type { Leave, PageDeps } from './deps.ts'
import { formPage } from './form-page.ts'
import { afterMessage, linkBrowser, resultOf } from './lead-on.ts'
import { queryParam } from './page-routes.ts'
import type { Waits } from './waiting.ts'
import { digest } from '../../protocol/digest.ts'
import { checkResetToken, confirmPasswordReset } from '../../accounts/reset-password.ts'
import { checkUndo, type PendingUndo, undoByLink } from '../../accounts/undo.ts'

/** `token` is `''` after its use. `result` then tells what the link did. */
interface Shown {
  token: string
  pending: PendingVerification
  result: 'confirmed' | 'changed' | 'disowned' | 'stopped' | null
}

/**
 * The page behind the link of a confirmation message, with a button. Opening the page uses nothing up, because mail
 * programs open links too. The button confirms as `POST /auth/email/verify` does, under the same limit. A stranger may
 * have signed up with the reader's address: the page says under which username and when, and a second button removes
 * the stranger's password and ends their sessions, or stops the change.
 */
export function verifyEmailPage(child: FastifyInstance, deps: PageDeps): void {
  const {
    authorize: { accounts },
    browser,
    link,
    waiting
  } = deps
  const { asked, journeyOf } = linkBrowser('verify_email', deps)
  const pendingOf = async (token: string): Promise<Shown> => ({
    token,
    pending: await checkVerificationToken(token, accounts),
    result: null
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
          'account. The browser that signed up is signed in, after the second factor of the account.'
      },
      querystring: Type.Object({ token: OneTimeTokenValue }),
      body: Type.Object({ token: OneTimeTokenValue, decision: Type.Optional(Type.Literal('not_me')) }),
      fields: [],
      tokenInAddress: true,
      leadsOn: true,
      journeyOf,
      secretOf: (request) => asked(request)?.id,
      async open(visit) {
        const token = queryParam(visit.request, 'token')
        if (token !== '') return await pendingOf(token)
        const { kind, name } = resultOf(visit, ['confirmed', 'changed', 'disowned', 'stopped'], waiting)
        const newAddress = kind === 'changed' || kind === 'stopped' ? name : null
        return { token, pending: { username: name, sentAt: 0, canDisown: false, newAddress }, result: kind }
      },
      submit: ({ token = '', ...form }, visit) => ({
        limit: 'failures',
        async work() {
          const { request, reply, journey, origin, locale } = visit
          const onward = async (
            by: Parameters<typeof afterMessage>[0],
            result: Pick<Waits, 'kind' | 'name'>
          ): Promise<Leave> =>
            await afterMessage(by, { ...result, path: 'verifyEmail' }, { request, journey, form }, deps)
          const {
            pending: { username, newAddress }
          } = await pendingOf(token)
          if (form.decision === 'not_me') {
            await disownAccount({ token, origin }, accounts)
            return await onward(null, {
              kind: newAddress === null ? 'disowned' : 'stopped',
              name: newAddress ?? username
            })
          }
          const stay = (sid: string): ReturnType<typeof browser.stay> => browser.stay(request, reply, sid)
          const user = await verifyEmail({ token, stay, locale, origin }, accounts)
          return await onward(
            user && { userId: user.id, proof: asked(request)?.proof },
            user === null ? { kind: 'changed', name: newAddress ?? username } : { kind: 'confirmed', name: username }
          )
        }
      }),
      async again({ token = '' }, refused) {
        // If the token is not good or can't be read, there is no content for the page.
        return await pendingOf(token).catch(() => {
          throw refused
        })
      },
      async content({ token, pending, result }, { request, journey }) {
        const isSignedIn = result !== null && (await browser.signedIn(request)) !== null
        return {
          token,
          ...pending,
          loginUrl: `${link('login')}${journey.query}`,
          continueUrl: isSignedIn ? (deps.offers.account ? link('account') : deps.homeUrl) : null,
          done: result === 'confirmed' || result === 'changed',
          disowned: result === 'disowned' || result === 'stopped'
        }
      }
    },
    deps
  )
}

/**
 * The page behind the link of a reset message. Opening the page uses nothing up, because mail programs open links too.
 * Its form sets the password as `POST /auth/password-reset/confirm` does, under the same limit.
 */
export function resetPasswordPage(child: FastifyInstance, deps: PageDeps): void {
  const {
    authorize: { accounts },
    link,
    minLength,
    waiting
  } = deps
  const { asked, journeyOf } = linkBrowser('password_reset', deps)
  formPage<'reset_password', { token: string; username: string; done: boolean }>(
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
        form:
          'Sets the new password, as `POST /auth/password-reset/confirm` does. The browser that asked for the ' +
          'link is signed in, after the second factor of the account, and goes on to where the person came from.'
      },
      querystring: Type.Object({ token: OneTimeTokenValue }),
      body: Type.Object({ token: OneTimeTokenValue, password: Password }),
      fields: ['password'],
      tokenInAddress: true,
      leadsOn: true,
      journeyOf,
      secretOf: (request) => asked(request)?.id,
      async open(visit) {
        const token = queryParam(visit.request, 'token')
        if (token !== '') return { token, username: (await checkResetToken(token, accounts)).username, done: false }
        return { token, username: resultOf(visit, ['reset'], waiting).name, done: true }
      },
      submit: ({ token = '', password = '', ...form }, visit) => ({
        limit: 'failures',
        async work() {
          const { locale, origin } = visit
          const { id, username, passwordHash } = await confirmPasswordReset(
            { token, password, locale, origin },
            accounts
          )
          const proof = { of: digest(passwordHash ?? ''), at: accounts.clock.now() }
          return await afterMessage(
            asked(visit.request) && { userId: id, proof },
            { kind: 'reset', name: username, path: 'resetPassword' },
            { ...visit, form },
            deps
          )
        }
      }),
      async again({ token = '' }, refused) {
        // Throws for an invalid link, because no other password would help.
        if (refused.error === 'invalid_token') throw refused
        const username = await checkResetToken(token, accounts).then(
          (user) => user.username,
          () => ''
        )
        return { token, username, done: false }
      },
      content: ({ token, username, done }, { journey }) => ({
        token,
        username,
        minLength,
        loginUrl: `${link('login')}${journey.query}`,
        done
      })
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
 * The page behind the link "that was not me" of a message. Shows which change its button takes back. Opening the page
 * uses nothing up, because mail programs open links too.
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
