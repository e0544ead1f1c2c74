import { form, formState, hidden, link, submit } from './fields.ts'
import { formatHtml, html } from './html.ts'
import { layout, name } from './layout.ts'
import { durationOf, format } from './messages.ts'
import type { PageModels } from './model.ts'

export function consent (model: PageModels['consent']): string {
  const { messages, action, error, username, client, scopes, lifetimeSeconds } = model
  const clientName = name(client.name)
  return layout(model, {
    heading: messages.consentTitle,
    error,
    content: html`<p>${formatHtml(messages.consentText, { client: clientName })}</p>
<p class="hint">${formatHtml(messages.signedInAs, { username: name(username) })}</p>
${scopes.length > 0 && html`<p id="scopes">${formatHtml(messages.consentScopes, { client: clientName })}</p>
<ul class="scopes" aria-labelledby="scopes">
${scopes.map((scope) => html`<li>${scope.description === null ? html`<code>${scope.name}</code>` : messages[scope.description]}</li>
`)}</ul>`}
<p class="hint">${format(messages.consentLifetime, { duration: durationOf(lifetimeSeconds, messages) })} ${formatHtml(messages.consentRedirect, { host: name(client.redirectHost) })}</p>
${form(action, formState(error, [], ''), html`<div class="choice">${submit(messages.consentAllow, { decision: 'allow' })}${submit(messages.consentDeny, { decision: 'deny', quiet: true })}</div>
`)}`
  })
}

export function logout (model: PageModels['logout']): string {
  const { messages, title, action, error, username } = model
  return layout(model, {
    heading: messages.logoutTitle,
    error,
    content: html`<p>${formatHtml(messages.logoutText, { title: name(title) })}</p>
${username !== null && html`<p class="hint">${formatHtml(messages.signedInAs, { username: name(username) })}</p>`}
${form(action, formState(error, [], ''), html`${submit(messages.logoutSubmit, { decision: 'sign_out' })}
`)}`
  })
}

export function signedOut (model: PageModels['signed_out']): string {
  const { messages, title, homeUrl, loginUrl } = model
  return layout(model, {
    heading: messages.signedOutTitle,
    content: html`<p>${messages.signedOutText}</p>
${loginUrl !== null && html`<p class="actions">${link(loginUrl, messages.signInAgain)}</p>`}`,
    links: html`<p>${link(homeUrl, format(messages.homeLink, { title }))}</p>`
  })
}

export function errorPage (model: PageModels['error']): string {
  const { messages, title, error, homeUrl } = model
  return layout(model, {
    heading: messages.errorTitle,
    error,
    content: html`<p role="alert">${error.text}</p>
<p class="hint">${formatHtml(messages.errorCode, { code: html`<code>${error.error}</code>` })}</p>`,
    links: html`<p>${link(homeUrl, format(messages.homeLink, { title }))}</p>`
  })
}

/** @see OAuth 2.0 Form Post Response Mode §4 */
export function formPost (model: PageModels['form_post']): string {
  const { messages, action, params, clientName } = model
  const text = clientName === null ? messages.formPostTextNoClient : formatHtml(messages.formPostText, { client: name(clientName) })
  return layout(model, {
    heading: messages.formPostTitle,
    // What the script looks for.
    content: html`<div data-submit>
<p>${text}</p>
${form(action, null, html`${Object.entries(params).map(([param, value]) => hidden(param, value))}${submit(messages.continueSubmit)}
`)}</div>`
  })
}
