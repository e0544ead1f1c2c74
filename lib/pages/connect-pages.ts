import { errorCode, form, formState, link, profileField, serverFault, submit } from './fields.ts'
import { brandMark } from './brand-marks.ts'
import { attributes, formatHtml, html, type Html, safeUrl } from './html.ts'
import { address, layout, name } from './layout.ts'
import { signedInPerson } from './people.ts'
import { format } from './texts.ts'
import type { CommonModel, ConnectButton } from './common-model.ts'
import type { PageModels } from './model.ts'

/**
 * The links to other providers, below a form. Links and not forms, because a form cannot follow a provider's redirects.
 */
export function connectButtons({ messages }: CommonModel, connections: readonly ConnectButton[]): Html | null {
  if (connections.length === 0) return null
  return html`<p class="or"><span>${messages.connectOr}</span></p>
<div class="connect">
${connections.map(
  ({
    brand,
    label,
    logoUrl,
    name: provider,
    url
  }) => html`<a${attributes({ href: safeUrl(url), 'data-brand': brand })}>${[
    brandMark(brand) ?? (logoUrl !== null && html`<img src="${logoUrl}" alt="" width="20" height="20">`),
    html`<span>${label ?? format(messages.connectWith, { name: provider })}</span>`
  ]}</a>
`
)}</div>
`
}

export function connectLeaving(model: PageModels['connect_leaving']): string {
  const { messages, name: provider, url } = model
  return layout(model, {
    heading: messages.formPostTitle,
    lead: html`<p class="status">${formatHtml(messages.connectGoText, { name: name(provider) })}</p>`,
    content: html`<p class="actions">${link(url, messages.continueSubmit)}</p>`
  })
}

export function connectFailed(model: PageModels['connect_failed']): string {
  const { messages, error, loginUrl } = model
  return layout(model, {
    heading: messages.errorTitle,
    error,
    icon: 'warning',
    lead: html`<p role="alert">${error.text}</p>`,
    content: html`<p class="actions">${link(loginUrl, messages.backToLogin)}</p>
${errorCode(model, error)}`
  })
}

/** Tells a person whose provider address already has an account here how to continue. */
export function connectConfirm(model: PageModels['connect_confirm']): string {
  const { messages, email, name: provider, signInUrl, forgotUrl } = model
  return layout(model, {
    heading: messages.connectConfirmTitle,
    icon: 'lock',
    lead: html`<p>${formatHtml(messages.connectConfirmText, { email: name(email), name: name(provider) })}</p>`,
    content: html`<p class="actions">${link(signInUrl, messages.loginLink)}</p>`,
    links:
      forgotUrl === null
        ? null
        : html`<p>${messages.connectConfirmHint}</p>
<p>${link(forgotUrl, messages.forgotLink)}</p>`
  })
}

export function connectLink(model: PageModels['connect_link']): string {
  const { messages, action, error, name: provider, username, identity, skipUrl } = model
  return layout(model, {
    heading: format(messages.connectLinkTitle, { name: provider }),
    error,
    icon: 'lock',
    lead: html`<p>${formatHtml(messages.connectLinkText, { name: name(provider) })}</p>
<p>${formatHtml(messages.connectLinkIdentity, { name: name(provider), identity: name(identity) })}</p>`,
    content: html`${signedInPerson(model, username)}
${form(
  action,
  formState(error, [], ''),
  html`${submit(messages.connectLinkSubmit, { decision: 'link', deliberate: true })}
`
)}${serverFault(model)}`,
    links: html`<p>${link(skipUrl, messages.continueSubmit)}</p>`
  })
}

export function connectFinish(model: PageModels['connect_finish']): string {
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
  html`${fields.map((field) => profileField(state, field))}${submit(messages.signupSubmit)}
`
)}${serverFault(model)}`,
    links: html`<p>${link(loginUrl, messages.backToLogin)}</p>`
  })
}
