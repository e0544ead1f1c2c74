import { accountFrame, signInAgain } from './account-pages.ts'
import { form, formState, itemSubmit, passwordAgainField, submit } from './fields.ts'
import { html } from './html.ts'
import { name } from './layout.ts'
import type { PageModels } from './model.ts'
import { format, timeOf } from './texts.ts'

/**
 * The provider accounts that a person signs in with. A person without a password signs in again before removing one.
 */
export function accountConnections(model: PageModels['account_connections']): string {
  const { messages, action, error, links, ways, askPassword, signInUrl } = model
  const state = formState(error, ['current_password'], '')
  const list = html`<ul class="items">
${links.map(
  ({ id, name: provider, email, linkedAt, lastUsedAt }, index) => html`<li>
<div><p id="link-${index}">${name(provider)}${email !== null && html` <bdi>${email}</bdi>`}</p>
<p class="hint">${format(messages.connectionsTimes, {
    since: timeOf(linkedAt, messages),
    used: timeOf(lastUsedAt, messages)
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
