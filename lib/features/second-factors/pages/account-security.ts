import { accountFrame, signInAgain } from '../../../pages/account-pages.ts'
import { action as actionLink, form, hidden, submit } from '../../../pages/fields.ts'
import { type Html, attributes, formatHtml, html, type HtmlValue, safeUrl } from '../../../pages/html.ts'
import { failure, layout, name, time } from '../../../pages/layout.ts'
import type { AccountFactor, AccountPasskey } from '../options.ts'
import type { PageModels } from '../../../pages/model.ts'
import { passkeySignals } from '../../../pages/passkey-forms.ts'
import type { IconName } from '../../../pages/stylesheet.ts'
import { format, type Messages } from '../../../pages/texts.ts'

type Security = PageModels['account_security']

export function accountSecurity(model: Security): string {
  const { messages, error, removing, signInUrl, passkeySignals: told, canForget, action } = model
  if (removing !== null) return removal(model, removing)
  const isFresh = signInUrl === null
  return accountFrame(
    model,
    messages.securityTitle,
    html`${[
      error !== null && [failure(error), '\n'],
      signInUrl !== null && signInAgain(model, signInUrl),
      passkeySection(model),
      twoStepSection(model),
      isFresh &&
        canForget &&
        section(
          messages.devicesTitle,
          html`<p class="hint">${messages.devicesText}</p>
${form(action, null, submit(messages.devicesForget, { decision: 'forget', look: 'quiet' }))}`
        ),
      told !== null && passkeySignals(told)
    ]}`,
    { passkeyScript: told?.scriptUrl }
  )
}

function section(title: HtmlValue, content: HtmlValue, control: HtmlValue = null): Html {
  return html`<section class="stack"><h2><span>${title}</span>${control}</h2>
${content}</section>
`
}

/** Passkeys come first, because they need no password. If there is none, the primary button adds one. */
function passkeySection(model: Security): Html | null {
  const { messages, passkeys, addPasskeyUrl, signInUrl, factors, twoStep, hasPassword } = model
  if (addPasskeyUrl === null && passkeys.length === 0) return null
  const canAdd = signInUrl === null && addPasskeyUrl !== null
  return section(
    messages.passkeysTitle,
    [
      passkeys.length === 0 && html`<p class="hint">${messages.passkeysText}</p>\n`,
      items(model, passkeys, { unnamed: messages.passkeyName, kind: 'passkey', icon: 'key' }),
      factors.length + passkeys.length === 1 &&
        (twoStep.on || !hasPassword) &&
        passkeys.some(({ synced }) => !synced) &&
        html`<p class="note plain">${messages.passkeySole}</p>\n`,
      canAdd && passkeys.length === 0 && actionLink(addPasskeyUrl, messages.passkeyAdd)
    ],
    canAdd &&
      passkeys.length > 0 &&
      html`<a class="button quiet small" href="${safeUrl(addPasskeyUrl)}">${messages.passkeyAdd}</a>`
  )
}

function twoStepSection(model: Security): Html | null {
  const { messages, action, factors, twoStep, recoveryCodesLeft, enrolUrl, signInUrl, hasPassword } = model
  if (enrolUrl === null && factors.length === 0 && !twoStep.on && twoStep.offers === null) return null
  const state = html`<span class="badge${twoStep.on && ' good'}">${
    twoStep.on ? messages.stateOn : messages.stateOff
  }</span>`
  return section(html`${messages.twoStepTitle} ${state}`, [
    !twoStep.on && hasPassword && html`<p class="hint">${messages.securityText}</p>\n`,
    items(model, factors, { unnamed: messages.factorApp, kind: 'factor', icon: 'phone' }),
    recoveryCodesLeft !== null &&
      html`<ul class="items"><li><span data-icon="list" aria-hidden="true"></span><div><p>${format(messages.codesLeft, {
        count: String(recoveryCodesLeft)
      })}</p>${signInUrl === null && html`<p class="hint">${messages.codesNewText}</p>`}</div>${
        signInUrl === null && form(action, null, submit(messages.codesNew, { decision: 'codes', look: 'quiet' }))
      }</li></ul>
`,
    signInUrl === null && [
      enrolUrl !== null && actionLink(enrolUrl, messages.factorAdd, 'quiet'),
      twoStep.offers === 'on' &&
        form(
          action,
          null,
          html`<p class="hint">${messages.enrolText}</p>
${submit(messages.twoStepTurnOn, { decision: 'two_step_on', look: 'quiet' })}`
        ),
      twoStep.offers === 'off' &&
        form(
          action,
          null,
          submit(messages.twoStepTurnOff, { decision: 'two_step_off', look: 'quiet', deliberate: true })
        )
    ]
  ])
}

/** The factors of one kind. A user with a recent sign-in can rename and remove them. */
function items(
  { messages, action, signInUrl }: Security,
  factors: ReadonlyArray<AccountFactor | AccountPasskey>,
  { unnamed, kind, icon }: { unnamed: string; kind: string; icon: IconName }
): Html | null {
  if (factors.length === 0) return null
  return html`<ul class="items">
${factors.map((factor, index) => {
  const id = `${kind}-${index}`
  return html`<li><span data-icon="${icon}" aria-hidden="true"></span>
<div><p id="${id}">${name(factor.name ?? unnamed)}${badgeOf(factor, messages)}</p>
<p class="hint">${timesOf(factor, messages)}</p></div>
${
  signInUrl === null &&
  html`<details class="change"><summary id="${id}-change" aria-labelledby="${id}-change ${id}">${
    messages.change
  }</summary>
${form(
  action,
  null,
  html`${hidden('factor', factor.id)}<label for="${id}-name">${messages.factorNameLabel}</label>
<input${attributes({
    id: `${id}-name`,
    name: 'name',
    type: 'text',
    dir: 'auto',
    maxlength: 64,
    value: factor.name ?? '',
    'aria-describedby': id
  })}>
${submit(messages.factorRename, { decision: 'rename', look: 'quiet', about: id })}
`
)}<a${attributes({
    class: 'button quiet',
    id: `${id}-remove`,
    href: safeUrl(factor.removeUrl),
    'aria-labelledby': `${id}-remove ${id}`
  })}>${messages.factorRemove}</a></details>`
}</li>
`
})}</ul>
`
}

/** Asks for a confirmation before a factor is removed. There is no button if the account must keep the factor. */
function removal(model: Security, { id, name: given, isPasskey, backUrl }: NonNullable<Security['removing']>): string {
  const { messages, action, factors, passkeys, twoStep, hasPassword, mustKeepOne } = model
  const isLast = factors.length + passkeys.length === 1 && twoStep.on
  const text = mustKeepOne
    ? messages.errorLastFactor
    : isLast && hasPassword
      ? isPasskey
        ? messages.passkeyLastText
        : messages.factorLastText
      : messages.removeFactorText
  return layout(model, {
    heading: format(messages.removeFactorTitle, {
      name: given ?? (isPasskey ? messages.passkeyName : messages.factorApp)
    }),
    icon: 'warning',
    lead: html`<p>${text}</p>`,
    content: [
      !mustKeepOne &&
        form(
          action,
          null,
          html`${hidden('factor', id)}${submit(messages.factorRemove, {
            decision: 'remove',
            look: 'danger',
            deliberate: true
          })}`
        ),
      actionLink(backUrl, messages.consentDeny, 'quiet')
    ]
  })
}

function badgeOf(factor: AccountFactor | AccountPasskey, messages: Messages): Html | null {
  if ('synced' in factor)
    return html` <span class="badge">${factor.synced ? messages.passkeySynced : messages.passkeyUnsynced}</span>`
  return factor.disabled ? html` <span class="badge bad">${messages.factorOff}</span>` : null
}

function timesOf({ createdAt, lastUsedAt }: Pick<AccountFactor, 'createdAt' | 'lastUsedAt'>, messages: Messages): Html {
  const since = time(createdAt, messages)
  return lastUsedAt === null
    ? formatHtml(messages.factorSince, { since })
    : formatHtml(messages.factorTimes, { since, used: time(lastUsedAt, messages) })
}
