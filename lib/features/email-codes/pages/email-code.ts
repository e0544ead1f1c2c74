import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import type { EmailSignInDeps } from '../ask.ts'
import { readCode } from '../../../accounts/message-codes.ts'
import { signInByEmail, signUpByEmail } from '../sign-in.ts'
import { completeProfile } from '../../../accounts/register.ts'
import { OAuthError } from '../../../errors.ts'
import { EmailCode, JourneySchema, Username } from '../../../http/edge/schemas.ts'
import { elsewhere } from '../../../http/pages/parts.ts'
import type { Leave, PageDeps, Submission, Visit } from '../../../http/pages/deps.ts'
import { type FormPage, formPage, goOn } from '../../../http/pages/form-page.ts'
import { type Form, queryParam, required } from '../../../http/pages/page-routes.ts'
import { leadOnFrom, signInBrowser } from '../../../http/pages/lead-on.ts'
import { tellsPasskeys } from '../../../http/pages/parts.ts'
import { missingFields } from '../../../http/pages/profile-fields.ts'
import { pendingIn, sendCode } from './send-code.ts'
import type { Waits } from '../../../http/pages/waiting.ts'

interface Shown {
  step: 'ask' | 'enter' | 'finish'
  username: string
  /** The values that the person has typed for a new account. `null`: the form is fresh. */
  form: Form | null
}

/**
 * `GET` and `POST /auth/email-code`: asks for an address, then for the emailed code, then for the fields of a new
 * account if no user has the address. Signs nobody in and creates no account before the right code.
 */
export function emailCodePage(child: FastifyInstance, deps: PageDeps, accounts: EmailSignInDeps): void {
  const { authorize, link, pages, registration, waiting } = deps
  const signIn = { accounts, browserSessions: authorize.browserSessions }
  const missing = missingFields(registration, {})

  const shownOf = (waits: Waits | null, hint = ''): Shown =>
    waits?.kind === 'code' || waits?.kind === 'proved'
      ? { step: waits.kind === 'code' ? 'enter' : 'finish', username: waits.name, form: null }
      : { step: 'ask', username: hint, form: null }
  const here = ({ query }: Visit['journey']): string => `${link('emailCode')}${query}`

  function enter(form: Form, { request, journey, locale }: Visit): Submission<Shown> {
    const waits = waiting.of(request, journey)
    if (waits?.kind !== 'code') throw againElsewhere()
    const code = readCode(required(form, ['code']).code)
    return {
      limit: { rule: 'login' },
      async work() {
        const clientId = clientOf(request)
        const { name, only } = waits
        const signingIn = await signInBrowser(request, { asksAll: journey.asksAll || only !== undefined }, deps)
        if (only !== undefined && signingIn.session?.userId !== only) throw againElsewhere()
        const begun = await signInByEmail(
          { pending: pendingIn(waits), code, only, clientId, locale },
          signingIn,
          signIn
        )
        if (begun !== 'sign_up') return done(await leadOnFrom(begun, { request, journey }, form, deps), journey)
        if (completeProfile({}, registration?.fields.required ?? []) !== null)
          return done(
            await leadOnFrom(
              await signUpByEmail({ name, fields: {}, clientId }, signingIn, signIn),
              { request, journey, isSignUp: true },
              form,
              deps
            ),
            journey
          )
        return async (reply) => {
          waiting.set(reply, journey, { kind: 'proved', name, ...provedFor(accounts) })
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
          ),
          journey
        )
    }
  }

  const done =
    (leave: Leave, journey: Visit['journey']): Leave =>
    async (reply) => {
      waiting.clear(reply, journey)
      return await leave(reply)
    }

  const page: FormPage<'email_code', Shown> = {
    name: 'email_code',
    path: 'emailCode',
    summaries: { page: 'Page of sign-in codes', form: 'Ask for a sign-in code, or enter it, by a form' },
    errors: { form: { 400: 'invalid_code', 429: { too_many_requests: 'rules `emailCode`, `login` and `register`' } } },
    what: {
      page:
        'The page of sign-in codes. It asks for an address, and then for the code that was sent there. ' +
        'With `emailSignIn.signUp`, it asks a new person for the fields of an account. Exists with the ' +
        'option `emailSignIn`.',
      form:
        'Sends a code to the account of `username`, or takes the `code`. A code works only in the browser ' +
        'that asked for it. White space does not count. `decision=resend` sends another code, and ' +
        '`decision=other` begins again. The answer does not tell whether the account exists. A person ' +
        'with a second factor is asked for it next.'
    },
    querystring: JourneySchema,
    body: Type.Object(
      { username: Type.Optional(Username), code: Type.Optional(EmailCode) },
      { additionalProperties: true }
    ),
    fields: ['username', 'code', ...missing.names],
    leadsOn: true,
    takesName: true,
    open: async ({ request, journey }) =>
      shownOf(waiting.of(request, journey), waiting.nameOn(request, journey) || journey.loginHint),
    async submit(form, visit) {
      const { request, journey } = visit
      const waits = waiting.of(request, journey)
      const only = waits?.kind === 'code' ? waits.only : undefined
      if (form.decision === 'other')
        return {
          limit: null,
          work: async () =>
            done(goOn(only === undefined ? here(journey) : `${link('reauthenticate')}${journey.query}`), journey)
        }
      if (form.decision === 'resend' && waits?.kind === 'code')
        return await sendCode(waits.name, visit, { deps, accounts, only })
      if (waits?.kind === 'proved' && form.username === undefined && form.code === undefined)
        return finish(form, visit, waits.name)
      if (form.code !== undefined) return enter(form, visit)
      const { username } = required(form, ['username'])
      return (
        (await elsewhere(form, visit, deps)) ?? (await sendCode(username, visit, { deps, accounts, only: undefined }))
      )
    },
    again(form, refused, { request, journey }) {
      if (form.username !== undefined && form.decision !== 'resend') return shownOf(null, form.username)
      return { ...shownOf(waiting.of(request, journey), form.username), form }
    },
    content: ({ step, username, form }, { request, journey }) => ({
      step,
      username,
      fields: step === 'finish' ? missing.show(form, pages.messagesFor(request, journey)) : [],
      hasLink: accounts.emailSignIn.link,
      tellsPasskeys: accounts.emailSignIn.signUp && tellsPasskeys(deps),
      loginUrl: `${link('login')}${journey.query}`
    })
  }
  formPage(child, page, deps)
}

/** The cookie fields of a proved address: no id, and an end after the lifetime of a code. */
export const provedFor = ({ clock, emailSignIn }: EmailSignInDeps): { id: string; until: number } => ({
  id: '',
  until: clock.now() + emailSignIn.expiresInMs
})

const clientOf = (request: FastifyRequest): string | null => queryParam(request, 'client_id') || null

/** Makes the error for a browser that has not asked for a code, or whose code has expired. */
function againElsewhere(): OAuthError {
  return new OAuthError('invalid_code', 'No code was asked for in this browser, or too long ago.', {
    reason: 'email_code_again',
    withoutStack: true
  })
}
