import { accountFrame, signInAgain } from './account-pages.ts'
import { confirmationForm } from './code-fields.ts'
import { form, formState, newEmailField, passwordAgainField, submit } from './fields.ts'
import { formatHtml, html } from './html.ts'
import { name, sentences } from './layout.ts'
import type { PageModels } from './model.ts'

export function accountEmail(model: PageModels['account_email']): string {
  const {
    messages,
    action: target,
    error,
    currentEmail,
    emailVerified,
    email,
    awaited,
    done,
    canChange,
    canResend,
    askPassword,
    signInUrl
  } = model
  const state = formState(error, awaited === null ? ['email', 'current_password'] : ['code'], '')
  const known =
    currentEmail === null
      ? messages.emailNone
      : formatHtml(emailVerified ? messages.emailConfirmed : messages.emailUnconfirmed, { email: name(currentEmail) })
  return accountFrame(
    model,
    messages.emailTitle,
    awaited !== null
      ? html`<p class="status">${name(awaited)}</p>
<p>${sentences(messages, done === null && messages.doneEmailSent, messages.confirmCodeText)}</p>
${confirmationForm(model, state)}${form(
          target,
          null,
          submit(messages.emailCodeOther, { decision: 'other', look: 'quiet' })
        )}`
      : html`<p class="status">${known}</p>
${
  canResend &&
  form(target, canChange ? null : state, submit(messages.resendSubmit, { decision: 'resend', look: 'quiet' }))
}
${
  canChange &&
  (signInUrl === null
    ? html`<p class="hint">${messages.emailChangeText}</p>
${form(target, state, [
  newEmailField(state, model, email),
  askPassword && passwordAgainField(state, model),
  submit(messages.forgotSubmit),
  '\n'
])}`
    : signInAgain(model, signInUrl))
}`
  )
}
