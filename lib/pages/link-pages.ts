import { form, formState, hidden, serverFault, submit } from './fields.ts'
import { formatHtml, html } from './html.ts'
import { address, layout, name } from './layout.ts'
import type { PageModels } from './model.ts'
import { finished } from './sign-in-pages.ts'
import { timeOf } from './texts.ts'

/** The click uses the token up, not the visit, because mail scanners follow links. */
export function verifyEmail(model: PageModels['verify_email']): string {
  const { messages, action, error, token, username, sentAt, canDisown, newAddress, loginUrl, done, disowned } = model
  if (disowned)
    return finished(model, {
      icon: 'lock',
      heading: newAddress === null ? messages.verifyDisownedTitle : messages.changeStoppedTitle,
      text: newAddress === null ? messages.verifyDisownedText : messages.changeStoppedText,
      loginUrl: null
    })
  if (done)
    return finished(model, {
      icon: 'check',
      heading: messages.verifyDoneTitle,
      text: messages.verifyDoneText,
      loginUrl
    })
  const state = formState(error, [], '')
  return layout(model, {
    heading: messages.verifyTitle,
    error,
    icon: 'mail',
    content: [
      newAddress !== null && address(newAddress),
      html`<p>${formatHtml(newAddress === null ? messages.verifyText : messages.verifyChangeText, {
        username: name(username),
        time: timeOf(sentAt, messages)
      })}</p>`,
      newAddress === null && html`\n<p>${messages.verifyOnlyYou}</p>`,
      '\n',
      form(action, state, [
        hidden('token', token),
        submit(messages.verifySubmit),
        canDisown &&
          html`
${
  newAddress === null &&
  html`<p class="hint">${messages.verifyNotMeHint}</p>
`
}${submit(newAddress === null ? messages.verifyNotMe : messages.undoSubmit, { decision: 'not_me', look: 'quiet' })}`,
        '\n'
      ]),
      serverFault(model)
    ]
  })
}

/** Takes back the change that a message reported. */
export function undo(model: PageModels['undo']): string {
  const { messages, action, error, token, what, username, done } = model
  if (done)
    return finished(model, {
      icon: 'check',
      heading: messages.undoDoneTitle,
      text: messages.undoDoneText,
      loginUrl: null
    })
  const text = what === 'factor' ? messages.undoFactorText : messages.undoEmailText
  return layout(model, {
    heading: messages.undoTitle,
    error,
    icon: 'lock',
    content: [
      html`<p>${formatHtml(text, { username: name(username) })}</p>\n`,
      form(action, formState(error, [], ''), [hidden('token', token), submit(messages.undoSubmit), '\n']),
      serverFault(model)
    ]
  })
}
