import { emailCodeField } from '../../../pages/code-fields.ts'
import {
  action as actionLink,
  form,
  formState,
  hidden,
  link,
  serverFault,
  submit,
  usernameField
} from '../../../pages/fields.ts'
import { profileField } from '../../../pages/host-fields.ts'
import { formatHtml, html } from '../../../pages/html.ts'
import { address, chip, layout, name } from '../../../pages/layout.ts'
import { format } from '../../../pages/texts.ts'
import { tellsPasskeysField } from '../../../pages/passkey-forms.ts'
import type { PageModels } from '../../../pages/model.ts'
import type { Renderers } from '../../../pages/render.ts'
import type { EmailCodeModels } from '../options.ts'

/** Asks for the address, then for the code, then for the fields of a new account. */
function emailCode(model: PageModels['email_code']): string {
  const { messages, action, error, step, username, fields, tellsPasskeys, loginUrl } = model
  const tells = tellsPasskeysField(tellsPasskeys)
  const back = html`<p>${link(loginUrl, messages.backToLogin)}</p>`
  if (step === 'finish') {
    const state = formState(
      error,
      fields.map((field) => field.name),
      fields[0]?.name ?? ''
    )
    return layout(model, {
      heading: messages.connectFinishTitle,
      error,
      lead: html`<p class="lead">${messages.connectFinishText}</p>`,
      content: html`${address(username)}
${form(
  action,
  state,
  html`${tells}${fields.map((field) => profileField(state, model, field))}${submit(messages.signupSubmit)}
`
)}${serverFault(model)}`,
      links: back
    })
  }
  const state = formState(error, [step === 'ask' ? 'username' : 'code'], step === 'ask' ? 'username' : 'code')
  if (step === 'ask') {
    return layout(model, {
      heading: messages.emailCodeTitle,
      error,
      lead: html`<p class="lead">${messages.emailCodeText}</p>`,
      isNamed: true,
      content: html`${form(
        action,
        state,
        html`${usernameField(state, model, username)}${submit(messages.emailCodeSubmit)}
`,
        'named'
      )}${serverFault(model)}`,
      links: back
    })
  }
  return layout(model, {
    heading: messages.sentTitle,
    error,
    lead: html`<p class="lead">${formatHtml(messages.emailCodeSent, { username: name(username) })}</p>`,
    content: html`${form(
      action,
      state,
      html`${tells}${emailCodeField(state, model)}${submit(messages.continueSubmit)}
`
    )}${serverFault(model)}
<p class="hint">${messages.checkSpam}</p>
${form(
  action,
  null,
  html`${submit(messages.resendSubmit, { decision: 'resend', look: 'quiet' })}
${submit(messages.emailCodeOther, { decision: 'other', look: 'quiet' })}
`
)}`,
    links: back
  })
}

/** Renders the page of a sign-in link, with a sign-in button only in the browser that asked for the link. */
function emailLink(model: PageModels['email_link']): string {
  const { messages, action, error, token, username, tellsPasskeys, codeUrl } = model
  if (username === null)
    return layout(model, {
      heading: messages.emailCodeTitle,
      error,
      icon: 'lock',
      content: html`<p>${messages.emailLinkElsewhere}</p>
<p class="hint">${messages.emailLinkNotAsked}</p>
${actionLink(codeUrl, messages.emailLinkHere)}`
    })
  return layout(model, {
    heading: format(messages.loginTitle, { title: model.title }),
    error,
    icon: 'mail',
    lead: chip(model, username),
    content: html`${form(
      action,
      formState(error, [], ''),
      html`${hidden('token', token)}${tellsPasskeysField(tellsPasskeys)}${submit(messages.loginSubmit)}
`
    )}${serverFault(model)}`,
    links: html`<p>${link(codeUrl, messages.emailCodeEnter)}</p>`
  })
}

export const RENDERERS: Pick<Renderers, keyof EmailCodeModels> = { email_code: emailCode, email_link: emailLink }
