import { formatHtml, html, type Html } from './html.ts'
import { monogram, name } from './layout.ts'
import type { CommonModel, ShownScope } from './common-model.ts'
import { directionOf, type Messages } from './texts.ts'

/** The signed-in user. The letter adds nothing to the name. */
export function signedInPerson({ messages }: CommonModel, username: string, below: Html | null = null): Html {
  return html`<div class="who"><span class="avatar" aria-hidden="true">${monogram(username)}</span><div>${[
    html`<p class="hint">${formatHtml(messages.signedInAs, { username: name(username) })}</p>`,
    below
  ]}</div></div>`
}

/** `label`: the id of the heading above the list. */
export function scopeList(scopes: readonly ShownScope[], messages: Messages, label: string | null = null): Html {
  return html`<ul class="scopes"${label !== null && html` aria-labelledby="${label}"`}>
${scopes.map(
  (scope) => html`<li>${saidOf(scope, messages)}</li>
`
)}</ul>`
}

function saidOf({ name, description, own }: ShownScope, messages: Messages): Html {
  if (own !== null)
    return own.lang === messages.lang
      ? html`<span>${own.text}</span>`
      : html`<span lang="${own.lang}" dir="${directionOf(own.lang)}">${own.text}</span>`
  return description === null ? html`<code dir="ltr">${name}</code>` : html`<span>${messages[description]}</span>`
}
