import { accountFrame, signInAgain } from '../../../pages/account-pages.ts'
import { codeField, recoveryCodeField } from '../../../pages/code-fields.ts'
import type { FormModel, PasskeyForm, ShownEnrolment } from '../../../pages/common-model.ts'
import {
  action as actionLink,
  copyButton,
  form,
  formState,
  hidden,
  link,
  rememberField,
  serverFault,
  submit
} from '../../../pages/fields.ts'
import { attributes, formatHtml, type Html, html, type HtmlValue } from '../../../pages/html.ts'
import { chip, failure, layout, name, sentences } from '../../../pages/layout.ts'
import type { PageModels } from '../../../pages/model.ts'
import { passkeyForm, tellsPasskeysField, withoutPasskeys } from '../../../pages/passkey-forms.ts'
import type { Renderers } from '../../../pages/render.ts'
import type { IconName } from '../../../pages/stylesheet.ts'
import type { Messages } from '../../../pages/texts.ts'
import { wayLink, ways } from '../../../pages/ways.ts'
import type { SecondFactorModels, StepWay } from '../options.ts'
import { accountSecurity } from './account-security.ts'

const STEP_ICONS: Readonly<Record<StepWay, IconName>> = { passkey: 'key', code: 'phone', recovery_code: 'list' }

/** Each view asks for one kind of factor, with one button. The page title names the kind. */
function secondFactor(model: PageModels['second_factor']): string {
  const { messages, action, error, username, way, otherWays, rememberSeconds, loginUrl, passkey, tellsPasskeys } = model
  const { support } = model.footer
  const state = formState(error, [way], way)
  const names = { passkey: messages.passkeyWay, code: messages.factorApp, recovery_code: messages.recoveryLabel }
  const isLast = !otherWays.some((other) => other.way !== 'recovery_code')
  const text = {
    passkey: messages.passkeySecond,
    code: messages.secondFactorText,
    recovery_code: isLast ? messages.errorFactorDisabled : null
  }[way]
  const remember = rememberSeconds !== null && rememberField(state, model, rememberSeconds)
  return layout(model, {
    heading: messages.secondFactorTitle,
    part: names[way],
    error,
    lead: [text !== null && html`<p class="lead">${text}</p>`, chip(model, username, loginUrl)],
    passkeyScript: passkey?.scriptUrl,
    content: [
      passkey === null
        ? form(action, state, [
            tellsPasskeysField(tellsPasskeys),
            way === 'code' ? codeField(state, model) : recoveryCodeField(state, model),
            remember,
            submit(messages.continueSubmit),
            '\n'
          ])
        : [
            error !== null && [failure(error), '\n'],
            passkeyForm(action, passkey, model, { call: 'get', label: messages.passkeyUse, fields: remember }),
            withoutPasskeys(model)
          ],
      '\n',
      serverFault(model),
      ways(model, { others: otherWays.map((other) => wayLink(other.url, STEP_ICONS[other.way], names[other.way])) })
    ],
    links:
      support !== null &&
      html`<p>${sentences(messages, messages.secondFactorLost, link(support, messages.contactSupport))}</p>`
  })
}

/** Signs nobody in. The button leads to the sign-in, and uses the link up. */
function secondFactorLink(model: PageModels['second_factor_link']): string {
  const { messages, action, error, token, username } = model
  return layout(model, {
    heading: messages.factorLinkTitle,
    error,
    icon: 'lock',
    lead: html`<p class="lead">${formatHtml(messages.factorLinkText, { username: name(username) })}</p>`,
    content: [
      form(action, formState(error, [], ''), [hidden('token', token), submit(messages.continueSubmit), '\n']),
      serverFault(model)
    ]
  })
}

export function confirmFirst({ messages }: Pick<FormModel, 'messages'>, confirmUrl: string): Html {
  return html`<p>${messages.errorEmailNotVerified}</p>
${actionLink(confirmUrl, messages.verifyTitle)}`
}

export function points({ passkeyByLock, passkeyNoPassword, passkeyKeeps }: Messages): Html {
  return html`<ul class="points">
${[passkeyByLock, passkeyNoPassword, passkeyKeeps].map(
  (point) => html`<li>${point}</li>
`
)}</ul>
`
}

export function creation(
  model: FormModel,
  action: string,
  passkey: PasskeyForm,
  {
    name: field = null,
    state,
    kept = null
  }: { name?: Html | null; state: ReturnType<typeof formState>; kept?: ShownEnrolment | null }
): HtmlValue[] {
  const { messages, error } = model
  // Keep the app's key after a failed passkey, because the person may have scanned it.
  const fields = html`${kept !== null && hidden('enrolment', kept.token)}${field}`
  return [
    error !== null && state.wrong === null && [failure(error), '\n'],
    passkeyForm(action, passkey, model, { call: 'create', label: messages.passkeyCreate, fields }),
    withoutPasskeys(model)
  ]
}

function accountTotp(model: PageModels['account_totp']): string {
  const { messages, enrolment, signInUrl, confirmUrl, endsOthers } = model
  if (confirmUrl !== null) return accountFrame(model, messages.factorAdd, confirmFirst(model, confirmUrl))
  if (enrolment === null)
    return accountFrame(model, messages.factorAdd, signInUrl === null ? null : signInAgain(model, signInUrl))
  return accountFrame(model, messages.factorAdd, enrolmentForm(model, enrolment, { endsOthers }))
}

/** The page to set up a factor before the sign-in completes. If both kinds are possible, the person opens one. */
function setUpSecondFactor(model: PageModels['set_up_second_factor']): string {
  const { messages, action, error, username, forAccount, enrolment, passkey, sent, loginUrl } = model
  const who = chip(model, username, loginUrl)
  if (enrolment === null && passkey === null) {
    return layout(model, {
      heading: messages.verifyTitle,
      error,
      lead: html`<p class="lead">${messages.errorEmailNotVerified}</p>${who}`,
      content: sent
        ? html`<p role="status">${messages.checkSpam}</p>`
        : form(action, null, submit(messages.resendSubmit, { decision: 'resend', look: 'quiet' }))
    })
  }
  const isChoice = enrolment !== null && passkey !== null
  const isWrong = formState(error, ['code'], '').wrong === 'code'
  const byPasskey = passkey !== null && [
    html`<p>${messages.passkeysText}</p>
<p class="hint">${messages.enrolText}</p>
`,
    ...creation(model, action, passkey, { state: formState(error, ['code'], ''), kept: enrolment })
  ]
  const byApp =
    enrolment !== null &&
    enrolmentForm(isChoice && !isWrong ? { ...model, error: null } : model, enrolment, {
      endsOthers: true,
      isSecond: isChoice
    })
  return layout(model, {
    heading: isChoice ? messages.setUpTitle : enrolment === null ? messages.passkeyAdd : messages.factorAdd,
    error,
    lead: html`<p class="lead">${forAccount ? messages.setUpText : messages.setUpForPageText}</p>${who}`,
    passkeyScript: passkey?.scriptUrl,
    content: [
      isChoice
        ? [
            choice(
              { icon: 'key', text: messages.passkeyByLock, isOpen: error !== null && !isWrong },
              html`${messages.passkeyWay} <span class="badge">${messages.recommended}</span>`,
              byPasskey
            ),
            choice({ icon: 'phone', text: messages.appOption, isOpen: isWrong }, messages.factorApp, byApp)
          ]
        : [byPasskey, byApp],
      serverFault(model)
    ]
  })
}

function choice(
  { icon, text, isOpen }: { icon: IconName; text: string; isOpen: boolean },
  title: HtmlValue,
  content: HtmlValue
): Html {
  return html`<details${attributes({ class: 'pick', open: isOpen })}><summary>${[
    html`<span data-icon="${icon}" aria-hidden="true"></span>`,
    html`<span>${title}<small>${text}</small></span>`
  ]}</summary>
<div class="stack">${content}</div></details>
`
}

/** The form that sets up an app. On a touchscreen the QR code is last, because the app may be on the same device. */
function enrolmentForm(
  model: FormModel,
  { token, secret, uri, qr: { size, path } }: ShownEnrolment,
  { endsOthers, isSecond = false }: { endsOthers: boolean; isSecond?: boolean }
): Html {
  const { messages, action, error } = model
  const state = formState(error, ['code'], 'code')
  return html`<div class="stack"><div class="stack"><p>${messages.enrolScan}</p>
<svg class="qr" role="img" aria-label="${messages.enrolQr}" viewBox="0 0 ${size} ${size}">${[
    html`<path fill="#fff" d="M0 0h${size}v${size}H0z"></path>`,
    html`<path fill="#000" d="${path}"></path>`
  ]}</svg></div>
<details class="more"><summary>${messages.enrolKey}</summary>
<p class="key" id="key"><code dir="ltr">${(secret.match(/.{1,4}/g) ?? []).join(' ')}</code></p>${copyButton(
    messages,
    'key'
  )}
</details>
<p class="own-app">${link(uri, messages.enrolOpen)}</p>
${form(
  action,
  state,
  html`${hidden('enrolment', token)}<p class="hint">${messages.enrolCode}</p>
${codeField(state, model)}${endsOthers && html`<p class="hint">${messages.enrolText}</p>\n`}${submit(
    messages.enrolSubmit,
    {
      look: isSecond ? 'quiet' : null
    }
  )}
`
)}</div>`
}

/** The script lets the link continue only after the codes were copied, saved or printed, or the box is ticked. */
function accountRecoveryCodes(model: PageModels['account_recovery_codes']): string {
  const { messages, username, codes, backUrl } = model
  return layout(model, {
    heading: messages.codesTitle,
    lead: html`<p class="lead">${messages.codesText}</p>${chip(model, username)}`,
    content: html`<ol class="codes" dir="ltr" id="codes">
${codes.map(
  (code) => html`<li><code>${code}</code></li>
`
)}</ol>
<div class="choice keeps">${[
      copyButton(messages, 'codes'),
      html`<button type="button" class="quiet small" data-saves="codes" hidden>${messages.codesDownload}</button>`,
      html`<button type="button" class="quiet small" data-prints hidden>${messages.codesPrint}</button>`
    ]}</div>
<div class="check"><input type="checkbox" id="kept"><label for="kept">${messages.codesSaved}</label></div>
${actionLink(backUrl, messages.doneSubmit)}`
  })
}

export const RENDERERS: Pick<Renderers, keyof SecondFactorModels> = {
  second_factor: secondFactor,
  second_factor_link: secondFactorLink,
  set_up_second_factor: setUpSecondFactor,
  account_security: accountSecurity,
  account_totp: accountTotp,
  account_recovery_codes: accountRecoveryCodes
}
