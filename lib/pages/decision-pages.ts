import { action as actionLink, errorCode, form, formState, hidden, link, serverFault, submit } from './fields.ts'
import { formatHtml, html, type Html } from './html.ts'
import { address, chip, layout, monogram, name, scopeList, sentences, time, said } from './layout.ts'
import { durationOf, format } from './texts.ts'
import type { PageModels } from './model.ts'
import { finished } from './sign-in-pages.ts'

/**
 * Notes about a client that nobody registered: the host that publishes it, if there is one, and a warning if it runs on
 * this computer.
 */
function warnings({ messages, unknown }: PageModels['consent']): Html {
  if (unknown === null) return html``
  const { host, warnsOfProgram } = unknown
  return html`<p class="note plain">${
    host === null ? messages.consentUnverified : formatHtml(messages.consentVouched, { host: name(host) })
  }</p>
${
  warnsOfProgram &&
  html`<p class="note plain">${messages.consentOnComputer}</p>
`
}`
}

export function consent(model: PageModels['consent']): string {
  const { messages, asks, action, error, username, otherUrl, client, scopes, lifetimeSeconds, clientUri } = model
  const isConsent = asks === 'consent'
  const clientName = name(client.name)
  return layout(model, {
    heading: isConsent ? format(messages.consentTitle, { client: client.name }) : messages.continueTitle,
    error,
    icon: clientIcon(model),
    lead: html`${!isConsent && html`<p>${formatHtml(messages.continueText, { client: clientName })}</p>`}
${clientUri !== null && html`<p class="hint">${link(clientUri, new URL(clientUri).host)}</p>`}${chip(
      model,
      username,
      otherUrl
    )}`,
    content: html`${warnings(model)}${
      scopes.length > 0 &&
      html`<p id="scopes">${formatHtml(messages.consentScopes, { client: clientName })}</p>
${scopeList(scopes, messages, 'scopes')}`
    }
<p class="hint">${sentences(
      messages,
      isConsent && format(messages.consentLifetime, { duration: durationOf(lifetimeSeconds, messages) }),
      formatHtml(messages.consentRedirect, { host: name(client.redirectHost) })
    )}</p>
${form(
  action,
  formState(error, [], ''),
  html`<div class="choice decide">${[
    submit(isConsent ? messages.consentAllow : messages.continueSubmit, { decision: 'allow', deliberate: true }),
    submit(messages.consentDeny, { decision: 'deny', look: 'quiet' })
  ]}</div>
`
)}${serverFault(model)}`
  })
}

/** The client's logo, or the first letter of its name. Hidden from screen readers, because the text has the name. */
function clientIcon({ clientLogoUri, client }: PageModels['consent']): Html {
  return clientLogoUri === null
    ? html`<span class="icon" aria-hidden="true">${monogram(client.name)}</span>`
    : html`<img class="icon" src="${clientLogoUri}" alt="" width="56" height="56">`
}

export function logout(model: PageModels['logout']): string {
  const { messages, title, action, error, username } = model
  return layout(model, {
    heading: messages.logoutTitle,
    error,
    icon: 'door',
    lead: html`<p>${formatHtml(messages.logoutText, { title: name(title) })}</p>`,
    content: html`${username !== null && chip(model, username)}
${form(
  action,
  formState(error, [], ''),
  html`${submit(messages.logoutSubmit, { decision: 'sign_out' })}
`
)}${serverFault(model)}`
  })
}

export function signedOut(model: PageModels['signed_out']): string {
  const { messages, title, ended, homeUrl, loginUrl } = model
  return layout(model, {
    heading: ended ? messages.signedOutTitle : messages.nobodySignedInTitle,
    icon: ended ? 'check' : 'door',
    lead: html`<p>${messages.signedOutText}</p>`,
    content: loginUrl !== null && actionLink(loginUrl, messages.signInAgain),
    links: html`<p>${link(homeUrl, formatHtml(messages.homeLink, { title: html`<bdi>${title}</bdi>` }))}</p>`
  })
}

export function errorPage(model: PageModels['error']): string {
  const { messages, title, error, sent, homeUrl, newLink } = model
  return layout(model, {
    heading: newLink === null ? messages.errorTitle : messages.expiredTitle,
    error,
    icon: 'warning',
    lead: html`<p role="alert">${said(error)}</p>`,
    content: [
      sent !== null && html`<p class="code"><code dir="ltr">${sent}</code></p>\n`,
      newLink?.by === 'sign_in' && html`<p class="hint status">${messages.expiredVerifyText}</p>\n`,
      newLink !== null &&
        html`<p class="actions">${link(
          newLink.url,
          newLink.by === 'sign_in' ? messages.loginLink : messages.expiredNewLink
        )}</p>\n`,
      errorCode(model, error)
    ],
    links: html`<p>${link(homeUrl, formatHtml(messages.homeLink, { title: html`<bdi>${title}</bdi>` }))}</p>`
  })
}

/** Posts the authorization response to the client. @see OAuth 2.0 Form Post Response Mode §4 */
export function formPost(model: PageModels['form_post']): string {
  const { messages, action, params, clientName } = model
  const text =
    clientName === null
      ? messages.formPostTextNoClient
      : formatHtml(messages.formPostText, { client: name(clientName) })
  return layout(model, {
    heading: messages.formPostTitle,
    // The script submits the form inside of `data-submit`.
    content: html`<div data-submit>
<p class="status">${text}</p>
${form(
  action,
  null,
  html`${Object.entries(params).map(([param, value]) => hidden(param, value))}${submit(messages.continueSubmit)}
`
)}</div>`
  })
}

/** Only the button redeems the token. Opening the page does not, because mail scanners follow links. */
export function verifyEmail(model: PageModels['verify_email']): string {
  const {
    messages,
    action,
    error,
    token,
    username,
    sentAt,
    canDisown,
    newAddress,
    loginUrl,
    continueUrl,
    done,
    disowned
  } = model
  if (disowned)
    return finished(model, {
      icon: 'lock',
      heading: newAddress === null ? messages.verifyDisownedTitle : messages.changeStoppedTitle,
      text: newAddress === null ? messages.verifyDisownedText : messages.changeStoppedText,
      loginUrl,
      label: messages.backToLogin
    })
  if (done)
    return finished(model, {
      icon: 'check',
      heading: messages.verifyDoneTitle,
      text: continueUrl === null ? messages.verifyDoneText : '',
      loginUrl: continueUrl ?? loginUrl,
      label: continueUrl === null ? messages.loginLink : messages.accountBack
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
        time: time(sentAt, messages)
      })}</p>`,
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

/** Asks to revert the change that a message reported. */
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
