import { form, formState, hidden, link, submit } from './fields.ts'
import { formatHtml, html, type HtmlValue } from './html.ts'
import { layout, name } from './layout.ts'
import { durationOf, format } from './texts.ts'
import type { PageModels } from './model.ts'

export function consent (model: PageModels['consent']): string {
  const { messages, asks, action, error, username, client, scopes, lifetimeSeconds } = model
  const isConsent = asks === 'consent'
  const clientName = name(client.name)
  return layout(model, {
    heading: isConsent ? messages.consentTitle : messages.continueTitle,
    error,
    content: html`<p>${formatHtml(isConsent ? messages.consentText : messages.continueText, { client: clientName })}</p>
<p class="hint">${formatHtml(messages.signedInAs, { username: name(username) })}</p>
${aboutClient(model)}
${scopes.length > 0 && html`<p id="scopes">${formatHtml(messages.consentScopes, { client: clientName })}</p>
<ul class="scopes" aria-labelledby="scopes">
${scopes.map((scope) => html`<li>${scope.description === null ? html`<code>${scope.name}</code>` : messages[scope.description]}</li>
`)}</ul>`}
<p class="hint">${isConsent && html`${format(messages.consentLifetime, { duration: durationOf(lifetimeSeconds, messages) })} `}${formatHtml(messages.consentRedirect, { host: name(client.redirectHost) })}</p>
${form(action, formState(error, [], ''), html`<div class="choice">${submit(isConsent ? messages.consentAllow : messages.continueSubmit, { decision: 'allow', deliberate: true })}${submit(messages.consentDeny, { decision: 'deny', quiet: true })}</div>
`)}`
  })
}

/** Its name is in the text, so the logo says nothing to who can't see it. The host of its page needs no translation. */
function aboutClient ({ clientLogoUri, clientUri }: PageModels['consent']): HtmlValue {
  return html`${clientLogoUri !== null && html`<p><img src="${clientLogoUri}" alt="" width="48" height="48"></p>`}${clientUri !== null && html`<p class="hint">${link(clientUri, new URL(clientUri).host)}</p>`}`
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
  const { messages, title, ended, homeUrl, loginUrl } = model
  return layout(model, {
    heading: ended ? messages.signedOutTitle : messages.nobodySignedInTitle,
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
