import { deviceName } from './device-name.ts'
import {
  action,
  form,
  formState,
  itemSubmit,
  link,
  newPasswordField,
  passwordAgainField,
  serverFault,
  submit
} from './fields.ts'
import { profileField } from './host-fields.ts'
import { formatHtml, type Html, html, type HtmlValue, safeUrl } from './html.ts'
import { layout, name, scopeList, time } from './layout.ts'
import { accountSides } from './account-sides.ts'
import type { IconName } from './stylesheet.ts'
import type { AccountModel, AccountNote } from './account-models.ts'
import type { PageModels } from './model.ts'
import { format, type MessageKey, type Messages } from './texts.ts'

export function account(model: PageModels['account']): string {
  const { messages, title, username, email, emailVerified, states, links, logoutUrl, backUrl } = model
  const { passkeys, twoStep, passwordChangedAt } = states
  const row = (url: string | null, icon: IconName, label: string, state: HtmlValue = null): Html | null =>
    url === null
      ? null
      : html`<li><a href="${safeUrl(url)}"><span data-icon="${icon}" aria-hidden="true"></span><span>${label}${
          state !== null && html` <small>${state}</small>`
        }</span></a></li>
`
  const groups: Array<[title: string, rows: Array<Html | null>]> = [
    [
      messages.groupPersonal,
      [
        row(links.profile, 'person', messages.profileTitle),
        row(
          links.email,
          'mail',
          messages.emailTitle,
          emailVerified === null ? null : html`<bdi>${email ?? username}</bdi> ${badge(messages, emailVerified)}`
        )
      ]
    ],
    [
      messages.groupSignIn,
      [
        row(
          links.security,
          'key',
          messages.securityTitle,
          twoStep === null
            ? null
            : [
                passkeys !== null && html`${messages.passkeysTitle} <b>${passkeys}</b> · `,
                html`${messages.twoStepTitle} <b>${twoStep ? messages.stateOn : messages.stateOff}</b>`
              ]
        ),
        row(
          links.password,
          'lock',
          messages.passwordLabel,
          passwordChangedAt === null
            ? null
            : formatHtml(messages.passwordChanged, { time: time(passwordChangedAt, messages) })
        ),
        row(links.connections, 'chain', messages.connectionsTitle, namesOf(states.connections))
      ]
    ],
    [
      messages.groupActivity,
      [
        row(links.sessions, 'screen', messages.sessionsTitle, states.sessions),
        row(links.access, 'grid', messages.accessTitle, states.access),
        row(links.apiKeys, 'key', messages.apiKeysTitle, states.apiKeys)
      ]
    ]
  ]
  return layout(model, {
    heading: messages.accountTitle,
    wide: accountSides({ ...model, accountLinks: links }, model.accountUrl),
    content: [
      groups.map(
        ([group, rows]) =>
          rows.some((each) => each !== null) &&
          html`<section class="stack"><h2 class="group">${group}</h2>
<ul class="rows">
${rows}</ul></section>
`
      ),
      action(logoutUrl, messages.logoutSubmit, 'quiet'),
      links.remove !== null && html`<p class="remove">${link(links.remove, messages.removeTitle)}</p>\n`
    ],
    links: html`<p>${link(backUrl, formatHtml(messages.homeLink, { title: html`<bdi>${title}</bdi>` }))}</p>`
  })
}

export function accountProfile(model: PageModels['account_profile']): string {
  const { messages, action: target, error, fields } = model
  const state = formState(
    error,
    fields.map(({ name }) => name),
    ''
  )
  return accountFrame(
    model,
    messages.profileTitle,
    form(target, state, [
      fields.map((field) => profileField(state, model, field)),
      submit(messages.profileSubmit),
      '\n'
    ])
  )
}

export function accountRemove(model: PageModels['account_remove']): string {
  const { messages, action: target, error, username, askPassword, signInUrl } = model
  const state = formState(error, ['current_password'], '')
  return accountFrame(
    model,
    messages.removeTitle,
    html`<p>${formatHtml(messages.removeText, { username: name(username) })}</p>
${
  signInUrl === null
    ? form(target, state, [
        askPassword && passwordAgainField(state, model),
        submit(messages.removeSubmit, { decision: 'remove', look: 'danger', deliberate: true }),
        '\n'
      ])
    : signInAgain(model, signInUrl)
}`
  )
}

export function accountRemoved(model: PageModels['account_removed']): string {
  const { messages, title, homeUrl } = model
  return layout(model, {
    heading: messages.removeDoneTitle,
    icon: 'check',
    lead: html`<p>${messages.signedOutText}</p>`,
    content: null,
    links: html`<p>${link(homeUrl, formatHtml(messages.homeLink, { title: html`<bdi>${title}</bdi>` }))}</p>`
  })
}

/** Asks the user to sign in again before a change. */
export function signInAgain({ messages }: AccountModel, url: string): Html {
  return html`<p>${messages.freshText}</p>
${action(url, messages.signInAgain)}`
}

export function accountPassword(model: PageModels['account_password']): string {
  const { messages, action: target, error, minLength, hasPassword } = model
  const state = formState(error, ['current_password', 'password'], 'current_password')
  if (!hasPassword) {
    return accountFrame(
      model,
      messages.passwordTitle,
      html`<p>${messages.passwordNone}</p>
${form(target, state, submit(messages.forgotSubmit, { decision: 'first' }))}`
    )
  }
  return accountFrame(
    model,
    messages.passwordTitle,
    html`<p class="hint">${messages.passwordText}</p>
${form(target, state, [
  passwordAgainField(state, model),
  newPasswordField(state, model, { label: messages.newPasswordLabel, minLength }),
  submit(messages.resetSubmit),
  '\n'
])}`
  )
}

/** The note below a list that shows only its first rows. `rows`: the number of shown rows. */
export function cutNote({ messages }: AccountModel, hasMore: boolean, rows: number): HtmlValue {
  return (
    hasMore &&
    html`<p class="hint">${format(messages.listCut, { count: rows })}</p>
`
  )
}

/** The number of other sessions that show before the user opens the full list. */
const FIRST_ROWS = 10

export function accountSessions(model: PageModels['account_sessions']): string {
  const { messages, action: target, error, sessions, hasMore } = model
  const rows = sessions.map(
    ({ id, current, clientName, userAgent, createdAt, lastUsedAt }, index) => html`<li>
<span data-icon="${clientName === null ? 'screen' : 'grid'}" aria-hidden="true"></span>
<div><p id="session-${index}">${[
      name(clientName ?? deviceName(userAgent) ?? messages.sessionUnknown),
      current && html` <span class="badge good">${messages.sessionHere}</span>`
    ]}</p>
<p class="hint" id="session-${index}-times">${[
      clientName !== null && userAgent !== null && html`<bdi>${deviceName(userAgent)}</bdi><br>`,
      formatHtml(messages.sessionTimes, { since: time(createdAt, messages), used: time(lastUsedAt, messages) })
    ]}</p></div>
${itemSubmit(messages.logoutSubmit, { name: 'session', value: id, about: `session-${index}` })}
</li>
`
  )
  const here = rows.filter((_row, index) => sessions[index]?.current)
  const others = rows.filter((_row, index) => sessions[index]?.current !== true)
  const list = (items: Html[]): Html => html`<ul class="items">
${items}</ul>
`
  return accountFrame(
    model,
    messages.sessionsTitle,
    form(
      target,
      formState(error, [], ''),
      html`<p class="hint">${messages.sessionsEndText}</p>
<div class="choice">${[
        submit(messages.sessionsEndOthers, { decision: 'end_others', look: 'quiet' }),
        submit(messages.sessionsEndAll, { decision: 'end_all', look: 'quiet' })
      ]}</div>
${here.length > 0 && list(here)}${
        others.length > 0 &&
        html`<h2>${messages.sessionsOthers}</h2>
${list(others.slice(0, FIRST_ROWS))}${
          others.length > FIRST_ROWS &&
          html`<details class="more"><summary>${format(messages.sessionsShowAll, { count: others.length })}</summary>
${list(others.slice(FIRST_ROWS))}</details>
`
        }`
      }${cutNote(model, hasMore, sessions.length)}`
    )
  )
}

export function accountAccess(model: PageModels['account_access']): string {
  const { messages, action: target, error, clients, hasMore } = model
  if (clients.length === 0 && error === null)
    return accountFrame(model, messages.accessTitle, html`<p class="status">${messages.accessNone}</p>`)
  return accountFrame(
    model,
    messages.accessTitle,
    form(
      target,
      formState(error, [], ''),
      html`<ul class="items">
${clients.map(
  ({ clientId, name: clientName, scopes, grantedAt }, index) => html`<li>
<div><p id="client-${index}">${name(clientName)}</p>
<p class="hint" id="client-${index}-times">${formatHtml(messages.accessSince, {
    time: time(grantedAt, messages)
  })}</p></div>
${scopeList(scopes, messages)}
${itemSubmit(messages.accessEnd, { name: 'client', value: clientId, about: `client-${index}` })}
</li>
`
)}</ul>
${cutNote(model, hasMore, clients.length)}`
    )
  )
}

const NOTES: Readonly<Record<AccountNote, MessageKey>> = {
  profile: 'doneProfile',
  email_sent: 'doneEmailSent',
  email_changed: 'verifyDoneTitle',
  email_resent: 'doneEmailResent',
  email_waiting: 'doneEmailWaiting',
  password: 'donePassword',
  session: 'doneSession',
  others: 'doneOthers',
  access: 'doneAccess',
  api_key_removed: 'doneApiKeyRemoved',
  unlinked: 'doneUnlinked',
  password_link: 'donePasswordLink',
  factor_added: 'doneFactorAdded',
  factor_removed: 'doneFactorRemoved',
  factor_renamed: 'doneFactorRenamed',
  devices_forgotten: 'doneDevicesForgotten',
  two_step_off: 'doneTwoStepOff',
  passkey_added: 'donePasskeyAdded',
  passkey_removed: 'donePasskeyRemoved',
  nothing: 'doneNothing'
}

/** Renders a page below `account`, with the result of the last action. */
export function accountFrame(
  model: AccountModel,
  heading: string,
  content: HtmlValue,
  { passkeyScript }: { passkeyScript?: string | undefined } = {}
): string {
  const { messages, error, accountUrl, done } = model
  return layout(model, {
    heading,
    error,
    wide: accountSides(model, model.action),
    isDone: done !== null && done !== 'nothing',
    before: html`<a class="back" href="${safeUrl(accountUrl)}">${messages.accountTitle}</a>`,
    passkeyScript,
    content: html`${
      done !== null &&
      html`<p class="note${done === 'nothing' && ' plain'}" role="status" tabindex="-1" autofocus>${
        messages[NOTES[done]]
      }</p>
`
    }${content}${serverFault(model)}`
  })
}

function badge(messages: Messages, isConfirmed: boolean): Html {
  const label = isConfirmed ? messages.badgeConfirmed : messages.badgeUnconfirmed
  return html`<span class="badge ${isConfirmed ? 'good' : 'bad'}">${label}</span>`
}

/** The names without duplicates. 0 if there are none, `null` if they are unknown. */
function namesOf(names: readonly string[] | null): HtmlValue {
  if (names === null || names.length === 0) return names === null ? null : 0
  return [...new Set(names)].map((each, index) => [index > 0 && ' · ', html`<bdi>${each}</bdi>`])
}
