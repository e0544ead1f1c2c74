import { confirmationForm } from './code-fields.ts'
import {
  action as actionLink,
  currentPasswordField,
  form,
  formState,
  hidden,
  link,
  newPasswordField,
  passwordAgainField,
  serverFault,
  submit,
  usernameField
} from './fields.ts'
import { profileField } from './host-fields.ts'
import { passkeyForm, tellsPasskeysField, withoutPasskeys } from './passkey-forms.ts'
import { type Html, formatHtml, html } from './html.ts'
import { address, chip, layout, name, sentences, usernameOf } from './layout.ts'
import type { IconName } from './stylesheet.ts'
import { carry, providersFirst, way, ways } from './ways.ts'
import { format } from './texts.ts'
import type { CommonModel } from './common-model.ts'
import type { PageModels } from './model.ts'

export function login(model: PageModels['login']): string {
  const {
    messages,
    title,
    action,
    error,
    again,
    username,
    otherUrl,
    signupUrl,
    forgotUrl,
    emailCodeUrl,
    connections,
    passwordLater,
    passkey,
    tellsPasskeys
  } = model
  const state = formState(error, ['username', 'password'], username === '' ? 'username' : 'password')
  const first = providersFirst(model, connections)
  return layout(model, {
    heading: format(messages.loginTitle, { title }),
    error,
    lead: again
      ? html`<p class="lead">${messages.freshText}</p>
${onward(model)}${otherUrl !== null && chip(model, username, otherUrl)}`
      : onward(model),
    passkeyScript: passkey?.scriptUrl,
    isNamed: true,
    content: [
      first,
      form(
        action,
        state,
        [
          tellsPasskeysField(tellsPasskeys),
          usernameField(state, model, username, { passkeys: passkey !== null }),
          currentPasswordField(state, model, { required: !passwordLater }),
          submit(messages.loginSubmit),
          '\n'
        ],
        'named'
      ),
      '\n',
      forgotUrl !== null && carry(forgotUrl, messages.forgotLink, 'plain'),
      serverFault(model),
      ways(model, {
        passkey:
          passkey && passkeyForm(action, passkey, model, { call: 'get', label: messages.passkeySignIn, look: 'quiet' }),
        others: emailCodeUrl === null ? [] : [way(emailCodeUrl, 'mail', messages.emailCodeLink)],
        connections: first === null ? connections : [],
        isAlone: first !== null
      })
    ],
    links:
      signupUrl !== null &&
      html`<p>${sentences(
        messages,
        format(messages.signupQuestion, { title }),
        link(signupUrl, messages.signupLink)
      )}</p>`
  })
}

export function reauthenticate(model: PageModels['reauthenticate']): string {
  const { messages, action, error, username, asksPassword, passkey, sendsCode, connections, loginUrl } = model
  const state = formState(error, ['current_password'], 'current_password')
  return layout(model, {
    heading: messages.reauthTitle,
    error,
    lead: html`<p class="lead">${messages.reauthText}</p>${chip(model, username, loginUrl)}`,
    passkeyScript: passkey?.scriptUrl,
    content: [
      asksPassword && form(action, state, [passwordAgainField(state, model), submit(messages.continueSubmit), '\n']),
      passkey !== null && [
        passkeyForm(action, passkey, model, {
          call: 'get',
          label: messages.passkeyUse,
          look: asksPassword ? 'quiet' : null
        }),
        !asksPassword && !sendsCode && connections.length === 0 && withoutPasskeys(model)
      ],
      sendsCode &&
        form(
          action,
          asksPassword ? null : state,
          submit(messages.emailCodeLink, { decision: 'email', look: passkey === null ? null : 'quiet' })
        ),
      serverFault(model),
      ways(model, { connections })
    ]
  })
}

export function signup(model: PageModels['signup']): string {
  const { messages, action, error, username, fields, minLength, loginUrl, connections } = model
  // Checkboxes come last, next to the submit button.
  const boxes = fields.filter(({ type }) => type === 'checkbox')
  const others = fields.filter(({ type }) => type !== 'checkbox')
  const state = formState(
    error,
    ['username', 'password', ...fields.map(({ name }) => name)],
    username === '' ? 'username' : 'password'
  )
  const first = providersFirst(model, connections)
  return layout(model, {
    heading: format(messages.signupTitle, { title: model.title }),
    error,
    lead: onward(model),
    isNamed: true,
    content: [
      first,
      form(
        action,
        state,
        [
          usernameField(state, model, username),
          others.map((field) => profileField(state, model, field)),
          newPasswordField(state, model, { label: messages.passwordLabel, minLength }),
          boxes.map((field) => profileField(state, model, field)),
          submit(messages.signupSubmit),
          '\n'
        ],
        'named'
      ),
      serverFault(model),
      first === null && ways(model, { connections })
    ],
    links: html`<p>${sentences(messages, messages.loginQuestion, link(loginUrl, messages.loginLink))}</p>`
  })
}

export function forgotPassword(model: PageModels['forgot_password']): string {
  const { messages, action, error, username, loginUrl } = model
  const state = formState(error, ['username'], 'username')
  return layout(model, {
    heading: messages.forgotTitle,
    error,
    lead: html`<p class="lead">${messages.forgotText}</p>`,
    isNamed: true,
    content: [
      form(action, state, [usernameField(state, model, username), submit(messages.forgotSubmit), '\n'], 'named'),
      serverFault(model)
    ],
    links: html`<p>${link(loginUrl, messages.backToLogin)}</p>`
  })
}

export function resetPassword(model: PageModels['reset_password']): string {
  const { messages, action, error, token, username, minLength, loginUrl, done } = model
  if (done)
    return finished(model, { icon: 'check', heading: messages.resetDoneTitle, text: messages.resetDoneText, loginUrl })
  const state = formState(error, ['password'], 'password')
  return layout(model, {
    heading: messages.resetTitle,
    error,
    content: [
      form(action, state, [
        hidden('token', token),
        usernameOf(username),
        newPasswordField(state, model, { label: messages.newPasswordLabel, minLength }),
        submit(messages.resetSubmit),
        '\n'
      ]),
      serverFault(model)
    ],
    links: html`<p>${link(loginUrl, messages.backToLogin)}</p>`
  })
}

function onward({ clientName, messages, title }: CommonModel): Html | null {
  return clientName === null || clientName === title
    ? null
    : html`<p class="lead">${formatHtml(messages.continueTo, { client: name(clientName) })}</p>`
}

/** Tells that a message was sent, and can send it again. The texts are the same whether the account exists or not. */
export function checkEmail(model: PageModels['check_email']): string {
  const { messages, action, error, awaits, username, resent, hasCode, otherUrl, loginUrl } = model
  const text = {
    signup: formatHtml(messages.signupSentText, { username: name(username) }),
    unconfirmed: messages.errorEmailNotVerified,
    forgot: messages.forgotSentText
  }[awaits]
  const state = formState(error, hasCode ? ['code'] : [], hasCode && !resent ? 'code' : '')
  const second = html`<p class="hint">${messages.checkSpam}</p>
${form(
  action,
  hasCode ? null : state,
  html`${submit(messages.resendSubmit, { decision: 'resend', look: 'quiet' })}
`
)}${serverFault(model)}`
  return layout(model, {
    heading: awaits === 'unconfirmed' ? messages.verifyTitle : messages.sentTitle,
    icon: 'mail',
    error,
    isDone: resent,
    content: html`${resent && html`<p class="note" role="status" tabindex="-1" autofocus>${messages.resentNote}</p>\n`}
<div class="message">${awaits !== 'signup' && address(username)}
<p>${text}</p>
${hasCode ? html`<p>${messages.confirmCodeText}</p>` : second}</div>
${hasCode && html`${confirmationForm(model, state)}${second}`}`,
    links: html`<p>${link(otherUrl, messages.emailCodeOther)}</p>
<p>${link(loginUrl, messages.backToLogin)}</p>`
  })
}

export function finished(
  model: CommonModel,
  {
    icon,
    heading,
    text,
    loginUrl,
    label = model.messages.loginLink
  }: { icon: IconName; heading: string; text: string; loginUrl: string | null; label?: string }
): string {
  return layout(model, {
    heading,
    icon,
    lead: text !== '' && html`<p>${text}</p>`,
    content: loginUrl !== null && actionLink(loginUrl, label)
  })
}
