import { accountFrame, signInAgain } from './account-pages.ts'
import { appNameField, codeField, form, formState, hidden, link, submit } from './fields.ts'
import { attributes, formatHtml, html } from './html.ts'
import { layout, name } from './layout.ts'
import type { AccountFactor, PageModels } from './model.ts'
import { format, type Messages, spaceOf, timeOf } from './texts.ts'

export function accountSecurity (model: PageModels['account_security']): string {
  const { messages, action, error, factors, recoveryCodesLeft, enrolUrl, canForget, signInUrl } = model
  const state = formState(error, [], '')
  const alert = error !== null && html`<p class="alert" role="alert" id="form-error">${error.text}</p>\n`
  return accountFrame(model, messages.securityTitle, html`<p class="hint">${messages.securityText}</p>
${alert}${factors.length > 0 && html`<ul class="items">
${factors.map((factor, index) => html`<li>
<div><p id="factor-${index}">${name(factor.name ?? messages.factorApp)}${factor.disabled && html` <span class="badge bad">${messages.factorOff}</span>`}</p>
<p class="hint">${timesOf(factor, messages)}</p></div>
${signInUrl === null && form(action, null, html`${hidden('factor', factor.id)}<label for="name-${index}">${messages.factorNameLabel}</label>
<input${attributes({ id: `name-${index}`, name: 'name', type: 'text', dir: 'auto', maxlength: 64, value: factor.name ?? '', 'aria-describedby': `factor-${index}` })}>
<div class="choice">${submit(messages.factorRename, { decision: 'rename', look: 'quiet' })}${submit(messages.factorRemove, { decision: 'remove', look: 'quiet', deliberate: true })}</div>
`)}</li>
`)}</ul>
`}${recoveryCodesLeft !== null && html`<p class="status">${format(messages.codesLeft, { count: String(recoveryCodesLeft) })}</p>
`}${signInUrl !== null
    ? signInAgain(model, signInUrl)
    : html`${factors.length === 1 && html`<p class="hint">${messages.factorLastText}</p>
`}<p class="actions">${link(enrolUrl, messages.factorAdd)}</p>
${recoveryCodesLeft !== null && form(action, state.error === null ? state : null, html`<p class="hint">${messages.codesNewText}</p>
${submit(messages.codesNew, { decision: 'codes', look: 'quiet' })}
`)}${canForget && html`<h2>${messages.devicesTitle}</h2>
${form(action, null, html`<p class="hint">${messages.devicesText}</p>
${submit(messages.devicesForget, { decision: 'forget', look: 'quiet' })}
`)}`}`}`)
}

function timesOf ({ createdAt, lastUsedAt }: AccountFactor, messages: Messages): string {
  const since = timeOf(createdAt, messages)
  return lastUsedAt === null ? format(messages.factorSince, { since }) : format(messages.factorTimes, { since, used: timeOf(lastUsedAt, messages) })
}

export function accountTotp (model: PageModels['account_totp']): string {
  const { messages, action, error, enrolment, name: typed, signInUrl, endsOthers } = model
  if (enrolment === null) return accountFrame(model, messages.factorAdd, signInUrl === null ? null : signInAgain(model, signInUrl))
  const { token, secret, uri, qr: { size, path } } = enrolment
  const state = formState(error, ['code', 'name'], 'code')
  return accountFrame(model, messages.factorAdd, html`<p>${messages.enrolScan}</p>
<svg class="qr" role="img" aria-label="${messages.enrolQr}" viewBox="0 0 ${size} ${size}"><path fill="#fff" d="M0 0h${size}v${size}H0z"></path><path fill="#000" d="${path}"></path></svg>
<p>${messages.enrolKey}</p>
<p class="key"><code dir="ltr">${(secret.match(/.{1,4}/g) ?? []).join(' ')}</code></p>
<p>${link(uri, messages.enrolOpen)}</p>
${form(action, state, html`${hidden('enrolment', token)}<p class="hint">${messages.enrolCode}${endsOthers && html`${spaceOf(messages)}${messages.enrolText}`}</p>
${codeField(state, model)}${appNameField(state, model, typed)}${submit(messages.factorAdd)}
`)}`)
}

export function accountRecoveryCodes (model: PageModels['account_recovery_codes']): string {
  const { messages, username, codes, backUrl } = model
  return layout(model, {
    heading: messages.codesTitle,
    content: html`<p>${messages.codesText}</p>
<ol class="codes" dir="ltr">
${codes.map((code) => html`<li><code>${code}</code></li>
`)}</ol>
<p class="actions">${link(backUrl, messages.codesSaved)}</p>`,
    links: html`<p>${formatHtml(messages.signedInAs, { username: name(username) })}</p>`
  })
}
