import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { readRecipient, sendSignInCode } from '../../../accounts/email-sign-in/ask.ts'
import { readCode } from '../../../accounts/email-sign-in/code.ts'
import type { EmailSignInDeps } from '../../../accounts/deps.ts'
import { signInByEmail, signUpByEmail } from '../../../accounts/email-sign-in/sign-in.ts'
import { completeProfile } from '../../../accounts/federated-account.ts'
import { OAuthError } from '../../../errors.ts'
import { EmailCode, JourneySchema, Username } from '../../edge/schemas.ts'
import { elsewhere } from '../connect/buttons.ts'
import type { PageDeps } from '../deps.ts'
import { type FormPage, formPage, goOn, type Leave, type Submission, type Visit } from '../form-page.ts'
import { type Form, queryParam, required } from '../forms.ts'
import { leadOnFrom } from '../lead-on-from.ts'
import { tellsPasskeys } from '../passkey-proposal.ts'
import { missingFields } from '../profile-fields.ts'
import { signInBrowser } from '../remembered.ts'
import { type CarriedEmail, emailCookie } from './pending.ts'

interface Shown {
  step: 'ask' | 'enter' | 'finish'
  username: string
  /** The typed entries for a new account. */
  form: Form | null
}

/**
 * `GET` and `POST /auth/email-code`: asks for an address, then for the code that was sent there, and where nobody has
 * the address for what a new account must have. Nobody is signed in here before the code was right, and nothing is
 * created.
 */
export function emailCodePage(child: FastifyInstance, deps: PageDeps, accounts: EmailSignInDeps): void {
  const { authorize, browser, link, registration } = deps
  const cookie = emailCookie(deps.sealed, accounts)
  const signIn = { accounts, browserSessions: authorize.browserSessions }
  const missing = missingFields(registration, {})

  const shownOf = (carried: CarriedEmail | null, hint = ''): Shown =>
    carried === null
      ? { step: 'ask', username: hint, form: null }
      : carried.step === 'enter'
        ? { step: 'enter', username: carried.code.name, form: null }
        : { step: 'finish', username: carried.name, form: null }
  const here = ({ query }: Visit['journey']): string => `${link('emailCode')}${query}`

  /** The same answer for all names. It is a redirect, so that reloading the page sends no second message. */
  async function ask(
    typed: string,
    { request, journey, locale, origin }: Visit,
    only?: string
  ): Promise<Submission<Shown>> {
    const name = readRecipient(typed)
    const device = await browser.knownAs(request, name)
    return {
      limit: { rule: 'emailCode', recipient: name, device },
      async work() {
        const code = await sendSignInCode({ name, device }, { locale, origin }, accounts)
        return async (reply) => {
          cookie.set(reply, { step: 'enter', code, only }, journey.query)
          return await goOn(here(journey))(reply)
        }
      }
    }
  }

  function enter(form: Form, { request, journey, locale }: Visit): Submission<Shown> {
    const carried = cookie.of(request, journey.query)
    if (carried?.step !== 'enter') throw againElsewhere()
    const code = readCode(required(form, ['code']).code)
    return {
      limit: { rule: 'login' },
      async work() {
        const clientId = clientOf(request)
        const { only } = carried
        const signingIn = await signInBrowser(request, { asksAll: journey.asksAll || only !== undefined }, deps)
        if (only !== undefined && signingIn.session?.userId !== only) throw againElsewhere()
        const begun = await signInByEmail({ pending: carried.code, code, only, clientId, locale }, signingIn, signIn)
        if (begun !== 'sign_up') return done(await leadOnFrom(begun, { request, journey }, form, deps))
        const { name } = carried.code
        if (completeProfile({}, registration?.fields.required ?? []) !== null)
          return done(
            await leadOnFrom(
              await signUpByEmail({ name, fields: {}, clientId }, signingIn, signIn),
              { request, journey, isSignUp: true },
              form,
              deps
            )
          )
        return async (reply) => {
          cookie.set(
            reply,
            { step: 'proved', name, expiresAt: accounts.clock.now() + accounts.emailSignIn.expiresInMs },
            journey.query
          )
          return await goOn(here(journey))(reply)
        }
      }
    }
  }

  function finish(form: Form, { request, journey }: Visit, name: string): Submission<Shown> {
    const fields = missing.read(form)
    return {
      limit: { rule: 'register' },
      work: async () =>
        done(
          await leadOnFrom(
            await signUpByEmail(
              { name, fields, clientId: clientOf(request) },
              await signInBrowser(request, journey, deps),
              signIn
            ),
            { request, journey, isSignUp: true },
            form,
            deps
          )
        )
    }
  }

  const onlyIn = (carried: CarriedEmail | null): string | undefined =>
    carried?.step === 'enter' ? carried.only : undefined

  const done =
    (leave: Leave): Leave =>
    async (reply) => {
      cookie.clear(reply)
      return await leave(reply)
    }

  const page: FormPage<'email_code', Shown> = {
    name: 'email_code',
    path: 'emailCode',
    summaries: { page: 'Page of sign-in codes', form: 'Ask for a sign-in code, or enter it, by a form' },
    querystring: JourneySchema,
    body: Type.Object(
      { username: Type.Optional(Username), code: Type.Optional(EmailCode) },
      { additionalProperties: true }
    ),
    fields: ['username', 'code', ...missing.names],
    leadsOn: true,
    open: async ({ request, journey }) => shownOf(cookie.of(request, journey.query), journey.loginHint),
    async submit(form, visit) {
      const { request, journey } = visit
      const carried = cookie.of(request, journey.query)
      if (form.decision === 'other')
        return {
          limit: null,
          work: async () =>
            done(goOn(onlyIn(carried) === undefined ? here(journey) : `${link('reauthenticate')}${journey.query}`))
        }
      if (form.decision === 'resend' && carried?.step === 'enter')
        return await ask(carried.code.name, visit, carried.only)
      if (carried?.step === 'proved' && form.username === undefined && form.code === undefined)
        return finish(form, visit, carried.name)
      if (form.code !== undefined) return enter(form, visit)
      const { username } = required(form, ['username'])
      return (await elsewhere(form, visit, deps)) ?? (await ask(username, visit))
    },
    again(form, refused, { request, journey }) {
      const carried = cookie.of(request, journey.query)
      if (carried === null || (form.username !== undefined && form.decision !== 'resend'))
        return shownOf(null, form.username)
      return { ...shownOf(carried), form }
    },
    content: ({ step, username, form }, { journey }) => ({
      step,
      username,
      fields: step === 'finish' ? missing.show(form) : [],
      hasLink: accounts.emailSignIn.link,
      tellsPasskeys: accounts.emailSignIn.signUp && tellsPasskeys(deps),
      loginUrl: `${link('login')}${journey.query}`
    })
  }
  formPage(child, page, deps)
}

const clientOf = (request: FastifyRequest): string | null => queryParam(request, 'client_id') || null

/** This browser has asked for no code, or too long ago. */
function againElsewhere(): OAuthError {
  return new OAuthError('invalid_code', 'No code was asked for in this browser, or too long ago.', {
    reason: 'email_code_again',
    withoutStack: true
  })
}
