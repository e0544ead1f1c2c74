import { field, form, formState, hidden, link, serverFault, submit } from '../../../pages/fields.ts'
import { deviceName } from '../../../pages/device-name.ts'
import { formatHtml, html } from '../../../pages/html.ts'
import { chip, date, layout, name, scopeList } from '../../../pages/layout.ts'
import type { PageModels } from '../../../pages/model.ts'
import type { Renderers } from '../../../pages/render.ts'
import { durationOf, format } from '../../../pages/texts.ts'
import type { DeviceModels } from '../options.ts'

/** Asks for the code, and then for the consent. */
function device(model: PageModels['device']): string {
  const { messages, action, error, userCode, username, otherUrl, request } = model
  if (request !== null) return confirmation(model, request)
  const state = formState(error, ['user_code'], 'user_code')
  return layout(model, {
    heading: messages.deviceTitle,
    error,
    lead: [
      html`<p class="lead">${messages.deviceText}</p>
`,
      username !== null && chip(model, username, otherUrl)
    ],
    content: html`${form(
      action,
      state,
      html`${field(state, 'user_code', {
        label: messages.deviceCodeLabel,
        type: 'text',
        value: userCode,
        autocomplete: 'off',
        hint: (id) => html`<p class="hint" id="${id}">${messages.deviceWarning}</p>`,
        extra: { dir: 'ltr', autocapitalize: 'characters', autocorrect: 'off', spellcheck: 'false', class: 'digits' }
      })}${submit(messages.continueSubmit)}
`
    )}${serverFault(model)}`
  })
}

function confirmation(model: PageModels['device'], asked: NonNullable<PageModels['device']['request']>): string {
  const { messages, action, error, userCode, username } = model
  const { client, clientUri, scopes, lifetimeSeconds, askedAt, ip, userAgent } = asked
  const from = [deviceName(userAgent), ip].filter((one) => one !== null).join(' · ')
  return layout(model, {
    heading: format(messages.consentTitle, { client: client.name }),
    error,
    lead: username !== null && chip(model, username),
    content: html`<p class="code hint">${messages.deviceCompare}
<b><code class="digits" dir="ltr">${userCode}</code></b></p>
<p class="hint">${formatHtml(messages.deviceAsked, {
      time: date(askedAt, messages),
      place: html`<bdi>${from}</bdi>`
    })}</p>
<p class="note plain">${messages.deviceWarning}</p>
<p id="scopes">${formatHtml(messages.consentScopes, { client: name(client.name) })}</p>
${scopeList(scopes, messages, 'scopes')}
${form(
  action,
  formState(error, [], ''),
  html`${hidden('user_code', userCode)}<div class="choice decide">${[
    submit(messages.consentAllow, { decision: 'allow', deliberate: true }),
    submit(messages.consentDeny, { decision: 'deny', look: 'quiet' })
  ]}</div>
`
)}${serverFault(model)}`,
    links: html`<p>${format(messages.consentLifetime, { duration: durationOf(lifetimeSeconds, messages) })}</p>
${clientUri !== null && html`<p>${link(clientUri, new URL(clientUri).host)}</p>`}`
  })
}

function deviceDone(model: PageModels['device_done']): string {
  const { messages, title, allowed, homeUrl } = model
  return layout(model, {
    heading: allowed ? messages.deviceDoneTitle : messages.deviceDeniedTitle,
    icon: allowed ? 'check' : 'lock',
    lead: html`<p>${allowed ? messages.deviceDoneText : messages.signedOutText}</p>`,
    content: null,
    links: html`<p>${link(homeUrl, formatHtml(messages.homeLink, { title: html`<bdi>${title}</bdi>` }))}</p>`
  })
}

export const RENDERERS: Pick<Renderers, keyof DeviceModels> = { device, device_done: deviceDone }
