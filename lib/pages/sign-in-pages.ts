import { currentPasswordField, form, formState, hidden, link, newPasswordField, profileField, submit, usernameField } from './fields.ts'
import { type Html, formatHtml, html } from './html.ts'
import { layout, name } from './layout.ts'
import { timeOf } from './texts.ts'
import type { CommonModel, PageModels } from './model.ts'

export function login (model: PageModels['login']): string {
  const { messages, action, error, username, resendToken, signupUrl, forgotUrl } = model
  const state = formState(error, ['username', 'password'], username === '' ? 'username' : 'password')
  return layout(model, {
    heading: messages.loginTitle,
    error,
    content: html`${onward(model)}${form(action, state, html`${usernameField(state, model, username)}${currentPasswordField(state, model)}${submit(messages.loginSubmit)}
`)}${resendToken !== null && html`
${form(action, null, html`${hidden('token', resendToken)}${submit(messages.resendSubmit, { decision: 'resend', quiet: true })}
`)}`}${forgotUrl !== null && html`<p class="aside">${link(forgotUrl, messages.forgotLink)}</p>`}`,
    links: signupUrl === null ? null : html`<p>${messages.signupQuestion} ${link(signupUrl, messages.signupLink)}</p>`
  })
}

export function signup (model: PageModels['signup']): string {
  const { messages, action, error, username, fields, minLength, loginUrl, sent } = model
  if (sent) return inbox(model, messages.signupSentText, loginUrl)
  // Boxes to tick come last, beside the button that they belong to.
  const boxes = fields.filter(({ type }) => type === 'checkbox')
  const others = fields.filter(({ type }) => type !== 'checkbox')
  const state = formState(error, ['username', 'password', ...fields.map(({ name }) => name)], username === '' ? 'username' : 'password')
  return layout(model, {
    heading: messages.signupTitle,
    error,
    content: html`${onward(model)}${form(action, state, html`${usernameField(state, model, username)}${others.map((field) => profileField(state, field))}${newPasswordField(state, model, { label: messages.passwordLabel, minLength })}${boxes.map((field) => profileField(state, field))}${submit(messages.signupSubmit)}
`)}`,
    links: html`<p>${messages.loginQuestion} ${link(loginUrl, messages.loginLink)}</p>`
  })
}

export function forgotPassword (model: PageModels['forgot_password']): string {
  const { messages, action, error, username, loginUrl, sent } = model
  if (sent) return inbox(model, messages.forgotSentText, loginUrl)
  const state = formState(error, ['username'], 'username')
  return layout(model, {
    heading: messages.forgotTitle,
    error,
    content: html`<p>${messages.forgotText}</p>
${form(action, state, html`${usernameField(state, model, username)}${submit(messages.forgotSubmit)}
`)}`,
    links: html`<p>${link(loginUrl, messages.backToLogin)}</p>`
  })
}

export function resetPassword (model: PageModels['reset_password']): string {
  const { messages, action, error, token, minLength, loginUrl, done } = model
  if (done) return finished(model, messages.resetDoneTitle, messages.resetDoneText, loginUrl)
  const state = formState(error, ['password'], 'password')
  return layout(model, {
    heading: messages.resetTitle,
    error,
    content: form(action, state, html`${hidden('token', token)}${newPasswordField(state, model, { label: messages.newPasswordLabel, minLength })}${submit(messages.resetSubmit)}
`),
    links: html`<p>${link(loginUrl, messages.backToLogin)}</p>`
  })
}

/** The token is used up by the click and not by the visit: mail scanners follow links. */
export function verifyEmail (model: PageModels['verify_email']): string {
  const { messages, action, error, token, username, sentAt, canDisown, newAddress, loginUrl, done, disowned } = model
  if (disowned) return finished(model, messages.verifyDisownedTitle, messages.verifyDisownedText, null)
  if (done) return finished(model, messages.verifyDoneTitle, messages.verifyDoneText, loginUrl)
  const state = formState(error, [], '')
  return layout(model, {
    heading: messages.verifyTitle,
    error,
    content: html`<p>${formatHtml(newAddress === null ? messages.verifyText : messages.verifyChangeText, { username: name(username), time: timeOf(sentAt, messages) })}</p>${newAddress === null && html`
<p>${messages.verifyOnlyYou}</p>`}
${form(action, state, html`${hidden('token', token)}${submit(messages.verifySubmit)}${canDisown && html`
<p class="hint">${messages.verifyNotMeHint}</p>
${submit(messages.verifyNotMe, { decision: 'not_me', quiet: true })}`}
`)}`
  })
}

function onward ({ clientName, messages }: CommonModel): Html | null {
  return clientName === null ? null : html`<p>${formatHtml(messages.continueTo, { client: name(clientName) })}</p>`
}

function inbox (model: CommonModel, text: string, loginUrl: string): string {
  const { messages } = model
  return layout(model, {
    heading: messages.sentTitle,
    content: html`<p>${text}</p>
<p class="hint">${messages.checkSpam}</p>`,
    links: html`<p>${link(loginUrl, messages.backToLogin)}</p>`
  })
}

function finished (model: CommonModel, heading: string, text: string, loginUrl: string | null): string {
  return layout(model, {
    heading,
    content: html`<p>${text}</p>
${loginUrl !== null && html`<p class="actions">${link(loginUrl, model.messages.loginLink)}</p>`}`
  })
}
