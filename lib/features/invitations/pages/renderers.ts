import { form, formState, hidden, newPasswordField, serverFault, submit } from '../../../pages/fields.ts'
import { html } from '../../../pages/html.ts'
import { chip, layout, usernameOf } from '../../../pages/layout.ts'
import type { PageModels } from '../../../pages/model.ts'
import type { Renderers } from '../../../pages/render.ts'
import { finished } from '../../../pages/sign-in-pages.ts'
import { ways } from '../../../pages/ways.ts'
import type { InvitationModels } from '../options.ts'

function acceptInvitation(model: PageModels['accept_invitation']): string {
  const { messages, action, error, token, username, minLength, asksPassword, connections, loginUrl, done } = model
  if (done)
    return finished(model, {
      icon: 'check',
      heading: messages.acceptDoneTitle,
      text: messages.verifyDoneText,
      loginUrl
    })
  const state = formState(error, ['password'], 'password')
  return layout(model, {
    heading: messages.acceptTitle,
    error,
    lead: html`<p class="lead">${asksPassword ? messages.acceptText : messages.errorConnectionOnly}</p>${chip(
      model,
      username
    )}`,
    content: [
      asksPassword &&
        form(action, state, [
          hidden('token', token),
          usernameOf(username),
          newPasswordField(state, model, { label: messages.passwordLabel, minLength }),
          submit(messages.acceptSubmit),
          '\n'
        ]),
      serverFault(model),
      ways(model, { connections, isAlone: !asksPassword })
    ]
  })
}

export const RENDERERS: Pick<Renderers, keyof InvitationModels> = { accept_invitation: acceptInvitation }
