import { accountFrame, signInAgain } from './account-pages.ts'
import { codeField, factorNameField, form, formState, hidden, link, serverFault, submit } from './fields.ts'
import { type Html, attributes, formatHtml, html } from './html.ts'
import { layout, name } from './layout.ts'
import type { AccountFactor, AccountPasskey } from './account-models.ts'
import type { FormModel, PasskeyForm, ShownEnrolment } from './common-model.ts'
import type { PageModels } from './model.ts'
import { passkeyForm, passkeySignals, withoutPasskeys } from './passkey-forms.ts'
import { format, type Messages, spaceOf, timeOf } from './texts.ts'

export function accountSecurity(model: PageModels['account_security']): string {
  const {
    messages,
    error,
    factors,
    hasPassword,
    mustKeepOne,
    twoStep,
    recoveryCodesLeft,
    enrolUrl,
    canForget,
    signInUrl,
    passkeys,
    addPasskeyUrl,
    passkeySignals: told,
    action
  } = model
  const alert = error !== null && html`<p class="alert" role="alert" id="form-error">${error.text}</p>\n`
  const sole = factors.length + passkeys.length === 1
  return accountFrame(
    model,
    messages.securityTitle,
    html`${
      hasPassword &&
      html`<p class="hint">${messages.securityText}</p>
`
    }${alert}${items(model, factors, messages.factorApp, 'factor', messages.factorNameLabel)}${
      addPasskeyUrl !== null &&
      html`<h2>${messages.passkeysTitle}</h2>
<p class="hint">${messages.passkeysText}</p>
`
    }${items(model, passkeys, messages.passkeyName, 'passkey', messages.passkeyNameLabel)}${
      sole &&
      (twoStep.on || !hasPassword) &&
      passkeys.some(({ synced }) => !synced) &&
      html`<p class="note plain">${messages.passkeySole}</p>
`
    }${
      recoveryCodesLeft !== null &&
      html`<p class="status">${format(messages.codesLeft, { count: String(recoveryCodesLeft) })}</p>
`
    }${
      signInUrl !== null
        ? signInAgain(model, signInUrl)
        : html`${
            sole &&
            twoStep.on &&
            (hasPassword || mustKeepOne) &&
            html`<p class="hint">${
              mustKeepOne
                ? messages.errorLastFactor
                : factors.length === 1
                  ? messages.factorLastText
                  : messages.passkeyLastText
            }</p>
`
          }${
            enrolUrl !== null &&
            html`<p class="actions">${link(enrolUrl, messages.factorAdd)}</p>
`
          }${
            addPasskeyUrl !== null &&
            html`<p class="actions">${link(addPasskeyUrl, messages.passkeyAdd)}</p>
`
          }${
            twoStep.offers !== null &&
            form(
              action,
              null,
              twoStep.offers === 'on'
                ? html`<p class="hint">${[messages.twoStepText, spaceOf(messages), messages.enrolText]}</p>
${submit(messages.twoStepTurnOn, { decision: 'two_step_on', look: 'quiet' })}
`
                : html`<p class="status">${messages.twoStepOn}</p>
${submit(messages.twoStepTurnOff, { decision: 'two_step_off', look: 'quiet', deliberate: true })}
`
            )
          }${
            recoveryCodesLeft !== null &&
            form(
              action,
              null,
              html`<p class="hint">${messages.codesNewText}</p>
${submit(messages.codesNew, { decision: 'codes', look: 'quiet' })}
`
            )
          }${
            canForget &&
            html`<h2>${messages.devicesTitle}</h2>
${form(
  action,
  null,
  html`<p class="hint">${messages.devicesText}</p>
${submit(messages.devicesForget, { decision: 'forget', look: 'quiet' })}
`
)}`
          }`
    }${told !== null && passkeySignals(told)}`,
    { passkeyScript: told?.scriptUrl }
  )
}

/** The factors of one kind. A user with a recent sign-in can rename and remove them. */
function items(
  { messages, action, signInUrl }: PageModels['account_security'],
  factors: ReadonlyArray<AccountFactor | AccountPasskey>,
  unnamed: string,
  kind: string,
  nameLabel: string
): Html | null {
  if (factors.length === 0) return null
  return html`<ul class="items">
${factors.map(
  (factor, index) => html`<li>
<div><p id="${kind}-${index}">${name(factor.name ?? unnamed)}${badgeOf(factor, messages)}</p>
<p class="hint">${timesOf(factor, messages)}</p></div>
${
  signInUrl === null &&
  form(
    action,
    null,
    html`${hidden('factor', factor.id)}<label for="${kind}-name-${index}">${nameLabel}</label>
<input${attributes({
      id: `${kind}-name-${index}`,
      name: 'name',
      type: 'text',
      dir: 'auto',
      maxlength: 64,
      value: factor.name ?? '',
      'aria-describedby': `${kind}-${index}`
    })}>
<div class="choice">${[
      submit(messages.factorRename, { decision: 'rename', look: 'quiet', about: `${kind}-${index}` }),
      submit(messages.factorRemove, {
        decision: 'remove',
        look: 'quiet',
        deliberate: true,
        about: `${kind}-${index}`
      })
    ]}</div>
`
  )
}</li>
`
)}</ul>
`
}

function badgeOf(factor: AccountFactor | AccountPasskey, messages: Messages): Html | null {
  if ('synced' in factor)
    return html` <span class="badge">${factor.synced ? messages.passkeySynced : messages.passkeyUnsynced}</span>`
  return factor.disabled ? html` <span class="badge bad">${messages.factorOff}</span>` : null
}

function timesOf(
  { createdAt, lastUsedAt }: Pick<AccountFactor, 'createdAt' | 'lastUsedAt'>,
  messages: Messages
): string {
  const since = timeOf(createdAt, messages)
  return lastUsedAt === null
    ? format(messages.factorSince, { since })
    : format(messages.factorTimes, { since, used: timeOf(lastUsedAt, messages) })
}

export function accountPasskey(model: PageModels['account_passkey']): string {
  const { messages, action, passkey, name: typed, signInUrl, confirmUrl } = model
  if (confirmUrl !== null) return accountFrame(model, messages.passkeyAdd, confirmFirst(model, confirmUrl))
  if (passkey === null)
    return accountFrame(model, messages.passkeyAdd, signInUrl === null ? null : signInAgain(model, signInUrl))
  return accountFrame(model, messages.passkeyAdd, creation(model, action, passkey, typed), {
    passkeyScript: passkey.scriptUrl
  })
}

function confirmFirst({ messages }: Pick<FormModel, 'messages'>, confirmUrl: string): Html {
  return html`<p>${messages.errorEmailNotVerified}</p>
<p class="actions">${link(confirmUrl, messages.verifyTitle)}</p>`
}

export function passkeyPrompt(model: PageModels['passkey_prompt']): string {
  const { messages, action, error, username, passkey, skipUrl } = model
  return layout(model, {
    heading: messages.passkeyPromptTitle,
    error,
    passkeyScript: passkey.scriptUrl,
    content: [
      creation(model, action, passkey, ''),
      html`<p class="actions">${link(skipUrl, messages.passkeySkip)}</p>\n`,
      serverFault(model)
    ],
    links: html`<p>${formatHtml(messages.signedInAs, { username: name(username) })}</p>`
  })
}

/** Explains passkeys, with the form that makes one. */
function creation(
  model: PageModels['account_passkey'] | PageModels['passkey_prompt'],
  action: string,
  passkey: PasskeyForm,
  typed: string
): Html {
  const { messages, error } = model
  const state = formState(error, ['name'], '')
  return html`<p>${messages.passkeysText}</p>
${[
  error !== null && state.wrong === null && html`<p class="alert" role="alert" id="form-error">${error.text}</p>\n`,
  passkeyForm(action, passkey, model, {
    call: 'create',
    label: messages.passkeyCreate,
    fields: factorNameField(state, messages.passkeyNameLabel, typed)
  }),
  withoutPasskeys(model)
]}`
}

export function accountTotp(model: PageModels['account_totp']): string {
  const { messages, enrolment, name: typed, signInUrl, confirmUrl, endsOthers } = model
  if (confirmUrl !== null) return accountFrame(model, messages.factorAdd, confirmFirst(model, confirmUrl))
  if (enrolment === null)
    return accountFrame(model, messages.factorAdd, signInUrl === null ? null : signInAgain(model, signInUrl))
  return accountFrame(model, messages.factorAdd, enrolmentForm(model, enrolment, typed, endsOthers))
}

/** The factor to set up before the sign-in completes. */
export function setUpSecondFactor(model: PageModels['set_up_second_factor']): string {
  const { messages, action, error, username, forAccount, enrolment, passkey, name: typed, sent, loginUrl } = model
  const links = html`<p>${formatHtml(messages.secondFactorAs, { username: name(username) })}</p>
<p>${link(loginUrl, messages.backToLogin)}</p>`
  if (enrolment === null && passkey === null) {
    return layout(model, {
      heading: messages.verifyTitle,
      error,
      lead: html`<p class="lead">${messages.errorEmailNotVerified}</p>`,
      content: sent
        ? html`<p role="status">${messages.checkSpam}</p>`
        : form(action, null, submit(messages.resendSubmit, { decision: 'resend', look: 'quiet' })),
      links
    })
  }
  return layout(model, {
    heading: enrolment === null ? messages.passkeyAdd : messages.factorAdd,
    error,
    lead: html`<p class="lead">${forAccount ? messages.setUpText : messages.setUpForPageText}</p>`,
    passkeyScript: passkey?.scriptUrl,
    content: [
      passkey !== null && passkeyInstead(model, passkey, enrolment),
      enrolment !== null && enrolmentForm(model, enrolment, typed, true),
      serverFault(model)
    ],
    links
  })
}

/**
 * A passkey instead of an app, or alone if apps are off. The explanation is inside the form, which stays hidden in
 * browsers without passkeys.
 */
function passkeyInstead(model: FormModel, passkey: PasskeyForm, enrolment: ShownEnrolment | null): Html {
  const { messages, action, error } = model
  // Keep the app's key after a failed passkey, because the person may have scanned it.
  const fields = html`${enrolment !== null && hidden('enrolment', enrolment.token)}<p>${messages.passkeysText}</p>
<p class="hint">${messages.enrolText}</p>
`
  return html`${[
    enrolment === null && error !== null && html`<p class="alert" role="alert" id="form-error">${error.text}</p>\n`,
    passkeyForm(action, passkey, model, {
      call: 'create',
      label: messages.passkeyCreate,
      look: enrolment === null ? null : 'quiet',
      fields
    }),
    enrolment === null && withoutPasskeys(model)
  ]}`
}

function enrolmentForm(
  model: FormModel,
  { token, secret, uri, qr: { size, path } }: ShownEnrolment,
  typed: string,
  endsOthers: boolean
): Html {
  const { messages, action, error } = model
  const state = formState(error, ['code', 'name'], 'code')
  return html`<p>${messages.enrolScan}</p>
<svg class="qr" role="img" aria-label="${messages.enrolQr}" viewBox="0 0 ${size} ${size}">${[
    html`<path fill="#fff" d="M0 0h${size}v${size}H0z"></path>`,
    html`<path fill="#000" d="${path}"></path>`
  ]}</svg>
<p>${messages.enrolKey}</p>
<p class="key"><code dir="ltr">${(secret.match(/.{1,4}/g) ?? []).join(' ')}</code></p>
<p>${link(uri, messages.enrolOpen)}</p>
<p class="hint">${messages.enrolAnyDevice}</p>
${form(
  action,
  state,
  html`${hidden('enrolment', token)}<p class="hint">${[
    messages.enrolCode,
    endsOthers && [spaceOf(messages), messages.enrolText]
  ]}</p>
${codeField(state, model)}${factorNameField(state, messages.factorNameLabel, typed)}${submit(messages.factorAdd)}
`
)}`
}

export function accountRecoveryCodes(model: PageModels['account_recovery_codes']): string {
  const { messages, username, codes, backUrl, signedIn } = model
  return layout(model, {
    heading: messages.codesTitle,
    content: html`<p>${messages.codesText}</p>
<ol class="codes" dir="ltr">
${codes.map(
  (code) => html`<li><code>${code}</code></li>
`
)}</ol>
<p class="actions">${link(backUrl, messages.codesSaved)}</p>`,
    links: html`<p>${formatHtml(signedIn ? messages.signedInAs : messages.secondFactorAs, {
      username: name(username)
    })}</p>`
  })
}
