import {
  action as actionLink,
  errorCode,
  form,
  formState,
  itemSubmit,
  link,
  passwordAgainField,
  serverFault,
  submit
} from '../../../pages/fields.ts'
import { profileField } from '../../../pages/host-fields.ts'
import { formatHtml, html } from '../../../pages/html.ts'
import { address, chip, layout, name, time, said } from '../../../pages/layout.ts'
import { format } from '../../../pages/texts.ts'
import type { PageModels } from '../../../pages/model.ts'
import type { Renderers } from '../../../pages/render.ts'
import type { ConnectModels } from '../options.ts'
import { accountFrame, signInAgain } from '../../../pages/account-pages.ts'

function connectLeaving(model: PageModels['connect_leaving']): string {
  const { messages, name: provider, url } = model
  return layout(model, {
    heading: messages.formPostTitle,
    lead: html`<p class="status">${formatHtml(messages.connectGoText, { name: name(provider) })}</p>`,
    content: actionLink(url, messages.continueSubmit)
  })
}

function connectFailed(model: PageModels['connect_failed']): string {
  const { messages, error, loginUrl } = model
  return layout(model, {
    heading: messages.errorTitle,
    error,
    icon: 'warning',
    lead: html`<p role="alert">${said(error)}</p>`,
    content: html`${actionLink(loginUrl, messages.backToLogin)}${errorCode(model, error)}`
  })
}

/** Explains how to continue if an account here already has the email address that the provider sent. */
function connectConfirm(model: PageModels['connect_confirm']): string {
  const { messages, email, name: provider, signInUrl, forgotUrl } = model
  return layout(model, {
    heading: messages.connectConfirmTitle,
    icon: 'lock',
    lead: html`<p>${formatHtml(messages.connectConfirmText, { email: name(email), name: name(provider) })}</p>`,
    content: actionLink(signInUrl, messages.loginLink),
    links:
      forgotUrl === null
        ? null
        : html`<p>${messages.connectConfirmHint}</p>
<p>${link(forgotUrl, messages.forgotLink)}</p>`
  })
}

function connectLink(model: PageModels['connect_link']): string {
  const { messages, action, error, name: provider, username, identity, skipUrl } = model
  return layout(model, {
    heading: format(messages.connectLinkTitle, { name: provider }),
    error,
    icon: 'lock',
    lead: html`<p>${formatHtml(messages.connectLinkText, { name: name(provider) })}</p>
<p>${formatHtml(messages.connectLinkIdentity, { name: name(provider), identity: name(identity) })}</p>`,
    content: html`${chip(model, username)}
${form(
  action,
  formState(error, [], ''),
  html`${submit(messages.connectLinkSubmit, { decision: 'link', deliberate: true })}
`
)}${serverFault(model)}`,
    links: html`<p>${link(skipUrl, messages.passkeySkip)}</p>`
  })
}

function connectFinish(model: PageModels['connect_finish']): string {
  const { messages, action, error, fields, email, loginUrl } = model
  const [first] = fields
  const state = formState(
    error,
    fields.map((field) => field.name),
    first?.name ?? ''
  )
  return layout(model, {
    heading: messages.connectFinishTitle,
    error,
    lead: html`<p class="lead">${messages.connectFinishText}</p>`,
    content: html`${email !== null && address(email)}
${form(
  action,
  state,
  html`${fields.map((field) => profileField(state, model, field))}${submit(messages.signupSubmit)}
`
)}${serverFault(model)}`,
    links: html`<p>${link(loginUrl, messages.backToLogin)}</p>`
  })
}

/**
 * The provider accounts that a person signs in with. Before removing one, a person whose sign-in is not fresh enters
 * the password, or signs in again (`signInUrl`).
 */
function accountConnections(model: PageModels['account_connections']): string {
  const { messages, action, error, links, ways, askPassword, signInUrl } = model
  const state = formState(error, ['current_password'], '')
  const list = html`<ul class="items">
${links.map(
  ({ id, name: provider, email, linkedAt, lastUsedAt }, index) => html`<li>
<div><p id="link-${index}">${name(provider)}${email !== null && html` <bdi>${email}</bdi>`}</p>
<p class="hint" id="link-${index}-times">${formatHtml(messages.connectionsTimes, {
    since: time(linkedAt, messages),
    used: time(lastUsedAt, messages)
  })}</p></div>
${signInUrl === null && itemSubmit(messages.connectionsEnd, { name: 'link', value: id, about: `link-${index}` })}
</li>
`
)}</ul>
`
  return accountFrame(
    model,
    messages.connectionsTitle,
    html`${
      links.length === 0
        ? html`<p class="status">${messages.connectionsNone}</p>
`
        : html`<p>${messages.connectionsText}</p>
${
  signInUrl === null
    ? form(action, state, [askPassword && passwordAgainField(state, model), list])
    : [list, signInAgain(model, signInUrl)]
}`
    }
${ways.map((way) =>
  form(way.url, null, submit(format(messages.connectionsAdd, { name: way.name }), { look: 'quiet' }))
)}`
  )
}

export const RENDERERS: Pick<Renderers, keyof ConnectModels> = {
  account_connections: accountConnections,
  connect_leaving: connectLeaving,
  connect_failed: connectFailed,
  connect_confirm: connectConfirm,
  connect_link: connectLink,
  connect_finish: connectFinish
}
