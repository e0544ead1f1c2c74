import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { requestPasswordReset } from '../../accounts/reset-password.ts'
import { readCode } from '../../accounts/message-codes.ts'
import { requestVerificationAgain, verifyEmailByCode } from '../../accounts/verify-email.ts'
import type { PageModels } from '../../pages/model.ts'
import { EmailCode, JourneySchema, Username } from '../edge/schemas.ts'
import type { Journey, PageDeps, Submission } from './deps.ts'
import { formPage, goOn, withQuery } from './form-page.ts'
import { afterMessage } from './lead-on.ts'
import { queryParam, required } from './page-routes.ts'
import type { Waits } from './waiting.ts'

interface Awaited extends Pick<Waits, 'name' | 'id' | 'proof'> {
  kind: PageModels['check_email']['awaits']
}

/**
 * `GET` and `POST /auth/check-email`: the page of a browser that waits for a message. The page can be reloaded, shows
 * the same text whether the account exists or not, and can send the message again. The page also takes the code of the
 * message, if the state store can redeem codes and the message is not for a password reset.
 */
export function checkEmailPage(child: FastifyInstance, deps: PageDeps): void {
  const {
    authorize: { accounts },
    link,
    waiting
  } = deps
  const LIMITS = {
    signup: { rule: 'register' },
    forgot: { rule: 'passwordReset' },
    // No limit before the work, because the password was right. The work itself bounds the messages to one address, as
    // the rule `passwordReset` allows.
    unconfirmed: 'failures'
  } as const satisfies Record<Awaited['kind'], Submission<never>['limit']>
  const hasCode = ({ kind }: Awaited): boolean => accounts.codes !== null && kind !== 'forgot'
  const OTHERS = { signup: 'signup', forgot: 'forgotPassword', unconfirmed: 'login' } as const
  const here = ({ query }: Journey): string => `${link('checkEmail')}${query}`
  const toLogin = ({ query }: Journey): string => `${link('login')}${query}`

  formPage<'check_email', Awaited>(
    child,
    {
      name: 'check_email',
      path: 'checkEmail',
      summaries: { page: 'Page that waits for a message', form: 'Have a message sent again by a form' },
      errors: {
        form: {
          400: 'invalid_code',
          429: { too_many_requests: 'rules `register`, `passwordReset` and `login`' }
        }
      },
      what: {
        page:
          'The page after a sign-up, a forgotten password, or the right password of an account whose address is not ' +
          'confirmed. A sealed cookie tells what this browser waits for. Without it the page leads to the sign-in ' +
          'page. Exists with `sendMessage`.',
        form:
          'With `decision=resend`, sends the message again, at most once in five minutes. With `code`, the code of ' +
          'the message, confirms the address and signs in, as the link of the message does in this browser.'
      },
      querystring: JourneySchema,
      body: Type.Object({ code: Type.Optional(EmailCode), decision: Type.Optional(Type.Literal('resend')) }),
      fields: ['code'],
      leadsOn: true,
      secretOf: (request) => waiting.find(request, () => true)?.id,
      async open({ request, journey }) {
        const waits = waiting.of(request, journey)
        if (waits === null || !(waits.kind in LIMITS)) return goOn(toLogin(journey))
        return { ...waits, kind: waits.kind as Awaited['kind'] }
      },
      async submit(form, visit) {
        const { journey, origin, locale } = visit
        const awaited = await this.open(visit)
        if (typeof awaited === 'function') return { limit: null, work: async () => awaited }
        const { kind, name: username, id: asker, proof } = awaited
        if (form.decision !== 'resend') {
          if (!hasCode(awaited)) return { limit: null, work: async () => goOn(here(journey)) }
          const code = readCode(required(form, ['code']).code)
          return {
            limit: { rule: 'login' },
            async work() {
              const user = await verifyEmailByCode({ username, asker, code, locale, origin }, accounts)
              return await afterMessage(
                user && { userId: user.id, proof },
                { kind: 'confirmed', name: username, path: 'verifyEmail' },
                { ...visit, form },
                deps
              )
            }
          }
        }
        return {
          limit: LIMITS[kind],
          async work() {
            const cause = { locale, origin, asker }
            if (kind === 'forgot') await requestPasswordReset({ username, ...cause }, accounts)
            else await requestVerificationAgain({ username, signsUp: kind === 'signup', ...cause }, accounts)
            return goOn(withQuery(here(journey), { done: 'resent' }))
          }
        }
      },
      async again(_form, refused, visit) {
        const awaited = await this.open(visit)
        if (typeof awaited === 'function') throw refused
        return awaited
      },
      content: (awaited, { request, journey }) => ({
        awaits: awaited.kind,
        username: awaited.name,
        hasCode: hasCode(awaited),
        resent: queryParam(request, 'done') === 'resent',
        otherUrl: `${link(OTHERS[awaited.kind])}${journey.query}`,
        loginUrl: toLogin(journey)
      })
    },
    deps
  )
}

/**
 * Asks for a reset message as `POST /auth/password-reset` does, under the same limit. The answer is the same whether
 * the account exists or not.
 */
export function forgotPasswordPage(child: FastifyInstance, deps: PageDeps): void {
  const {
    authorize: { accounts },
    link,
    waiting
  } = deps
  formPage<'forgot_password', { username: string }>(
    child,
    {
      name: 'forgot_password',
      path: 'forgotPassword',
      summaries: { page: 'Forgotten password page', form: 'Ask for a password reset by a form' },
      errors: { form: { 429: { too_many_requests: 'rule `passwordReset`' } } },
      what: {
        page: 'The page for a forgotten password. Exists if `POST /auth/password-reset` does.',
        form:
          'Sends a message with a link, as `POST /auth/password-reset` does, and leads everyone to the page ' +
          '`/auth/check-email`. With `decision=carry` it only shows the `username` in the form.'
      },
      querystring: JourneySchema,
      body: Type.Object({ username: Username }),
      fields: ['username'],
      takesName: true,
      open: async ({ request, journey }) => ({
        username: waiting.nameOn(request, journey) || (journey.loginHint ?? '')
      }),
      submit(form, { request, journey, origin, locale }) {
        const { username } = required(form, ['username'])
        const asker = waiting.idFor(request, journey, username)
        return {
          limit: { rule: 'passwordReset' },
          async work() {
            await requestPasswordReset({ username, locale, origin, asker }, accounts)
            return async (reply) => {
              waiting.set(reply, journey, { kind: 'forgot', name: username, id: asker })
              return await goOn(`${link('checkEmail')}${journey.query}`)(reply)
            }
          }
        }
      },
      again: ({ username = '' }) => ({ username }),
      content: ({ username }, { journey }) => ({ username, loginUrl: `${link('login')}${journey.query}` })
    },
    deps
  )
}
