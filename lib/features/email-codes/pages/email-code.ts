import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import type { EmailSignInDeps } from '../ask.ts'
import { readCode } from '../../../accounts/message-codes.ts'
import { OAuthError } from '../../../errors.ts'
import { EmailCode, JourneySchema, Username } from '../../../http/edge/schemas.ts'
import { elsewhere } from '../../../http/pages/parts.ts'
import type { PageDeps, Submission, Visit } from '../../../http/pages/deps.ts'
import { type FormPage, formPage, goOn } from '../../../http/pages/form-page.ts'
import { type Form, required } from '../../../http/pages/page-routes.ts'
import { signInBrowser } from '../../../http/pages/lead-on.ts'
import { tellsPasskeys } from '../../../http/pages/parts.ts'
import { missingFields } from '../../../http/pages/profile-fields.ts'
import { endWait, enterCode, enterNew } from './enter-code.ts'
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
  const { link, pages, registration, waiting } = deps
  const missing = missingFields(registration, {})

  const shownOf = (waits: Waits | null, hint = ''): Shown =>
    waits?.kind === 'code' || waits?.kind === 'proved'
      ? { step: waits.kind === 'code' ? 'enter' : 'finish', username: waits.name, form: null }
      : { step: 'ask', username: hint, form: null }

  function enter(form: Form, visit: Visit): Submission<Shown> {
    const waits = waiting.of(visit.request, visit.journey)
    if (waits?.kind !== 'code') throw againElsewhere()
    const code = readCode(required(form, ['code']).code)
    return {
      limit: { rule: 'login' },
      async work() {
        const entered = { pending: pendingIn(waits), code, only: waits.only }
        const leave = await enterCode(entered, form, visit, { deps, accounts })
        if (leave === null) throw againElsewhere()
        return leave
      }
    }
  }

  function finish(form: Form, visit: Visit, name: string): Submission<Shown> {
    const fields = missing.read(form)
    return {
      limit: { rule: 'register' },
      async work() {
        const browser = await signInBrowser(visit.request, visit.journey, deps)
        return await enterNew({ name, fields, browser }, form, visit, { deps, accounts })
      }
    }
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
            endWait(goOn(`${link(only === undefined ? 'emailCode' : 'reauthenticate')}${journey.query}`), journey, deps)
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

/** Makes the error for a browser that has not asked for a code, or whose code has expired or is for another user. */
function againElsewhere(): OAuthError {
  return new OAuthError('invalid_code', 'No code was asked for in this browser, or too long ago.', {
    reason: 'email_code_again',
    withoutStack: true
  })
}
