import { accountFrame, cutNote, signInAgain } from '../../../pages/account-pages.ts'
import { action as actionLink, copyButton, form, formState, hidden, link, submit } from '../../../pages/fields.ts'
import { profileField } from '../../../pages/host-fields.ts'
import { attributes, formatHtml, type Html, html, safeUrl } from '../../../pages/html.ts'
import { chip, date, layout, name, saidOf, scopeList, said } from '../../../pages/layout.ts'
import type { PageModels } from '../../../pages/model.ts'
import type { Renderers } from '../../../pages/render.ts'
import { durationOf, format } from '../../../pages/texts.ts'
import type { ApiKeyModels } from '../options.ts'

function accountApiKeys(model: PageModels['account_api_keys']): string {
  const { messages, error, keys, hasMore, removing, signInUrl: again } = model
  if (removing !== null) return removal(model, removing)
  return accountFrame(
    model,
    messages.apiKeysTitle,
    html`<p>${messages.apiKeysText}</p>
${
  keys.length > 0 &&
  html`<ul class="items">
${keys.map(
  ({ name: own, scopes, api, createdAt, lastUsedAt, expiresAt, removeUrl }, index) => html`<li>
<div><p id="key-${index}">${name(own)}</p>
${
  api !== null &&
  html`<p class="hint"><bdi>${api}</bdi></p>
`
}<p class="hint">${
    lastUsedAt === null
      ? formatHtml(messages.apiKeySince, { since: date(createdAt, messages) })
      : formatHtml(messages.apiKeyTimes, { since: date(createdAt, messages), used: date(lastUsedAt, messages) })
  }</p>
<p class="hint">${
    expiresAt === null ? messages.apiKeyForever : formatHtml(messages.apiKeyUntil, { time: date(expiresAt, messages) })
  }</p></div>
${scopes.length > 0 && scopeList(scopes, messages)}
<a${attributes({
    class: 'button quiet',
    id: `key-${index}-remove`,
    href: safeUrl(removeUrl),
    'aria-labelledby': `key-${index}-remove key-${index}`
  })}>${messages.factorRemove}</a>
</li>
`
)}</ul>
${cutNote(model, hasMore, keys.length)}`
}
${
  again === null
    ? creation(model)
    : [error !== null && html`<p class="alert" role="alert">${said(error)}</p>`, signInAgain(model, again)]
}`
  )
}

/** Asks for a confirmation before a key is removed. */
function removal(
  model: PageModels['account_api_keys'],
  { id, name: own, backUrl }: NonNullable<PageModels['account_api_keys']['removing']>
): string {
  const { messages, action } = model
  return layout(model, {
    heading: format(messages.removeFactorTitle, { name: own }),
    icon: 'warning',
    lead: html`<p>${messages.apiKeyRemoveText}</p>`,
    content: [
      form(
        action,
        null,
        html`${hidden('key', id)}${submit(messages.factorRemove, { look: 'danger', deliberate: true })}`
      ),
      actionLink(backUrl, messages.consentDeny, 'quiet')
    ]
  })
}

function creation(model: PageModels['account_api_keys']): Html {
  const { messages, title, action, error, newest, name: typed, groups, lifetimes } = model
  const state = formState(error, ['name', 'expires_in'], '')
  const valueOf = (seconds: number | null): string => String(seconds ?? 'never')
  return html`<h2>${messages.apiKeyCreate}</h2>
${form(
  action,
  state,
  html`${hidden('newest', newest)}${profileField(state, model, {
    name: 'name',
    label: messages.apiKeyNameLabel,
    type: 'text',
    required: true,
    value: typed,
    choices: []
  })}${
    groups.length > 1 &&
    html`<p class="hint">${messages.apiKeyOneApi}</p>
`
  }${groups.map(
    ({ name: api, scopes }, at) => html`<fieldset><legend><bdi>${api ?? title}</bdi></legend>
${scopes.map(
  ({ field, scope, checked }, index) => html`<div class="check"><input${attributes({
    type: 'checkbox',
    id: `scope-${at}-${index}`,
    name: field,
    value: 'on',
    checked
  })}><label for="scope-${at}-${index}">${saidOf(scope, messages)}</label></div>
`
)}</fieldset>
`
  )}${profileField(state, model, {
    name: 'expires_in',
    label: messages.apiKeyLifetime,
    type: 'select',
    required: true,
    value: valueOf(lifetimes.find(({ chosen }) => chosen)?.seconds ?? null),
    choices: lifetimes.map(({ seconds }) => ({
      value: valueOf(seconds),
      label: seconds === null ? messages.apiKeyForever : durationOf(seconds, messages)
    }))
  })}${submit(messages.apiKeyCreate, { decision: 'create' })}
`
)}`
}

function accountApiKey(model: PageModels['account_api_key']): string {
  const { messages, username, name: own, key, backUrl } = model
  return layout(model, {
    heading: messages.apiKeyMadeTitle,
    icon: 'check',
    lead: html`<p>${messages.apiKeyMadeText}</p>${chip(model, username)}`,
    content: html`<p>${name(own)}</p>
<p class="code"><code dir="ltr" id="api-key">${key}</code>${copyButton(messages, 'api-key')}</p>
<p class="actions">${link(backUrl, messages.doneSubmit)}</p>`
  })
}

/** The HTML of the pages of API keys. */
export const RENDERERS: Pick<Renderers, keyof ApiKeyModels> = {
  account_api_keys: accountApiKeys,
  account_api_key: accountApiKey
}
