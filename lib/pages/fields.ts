import { attributes, formatHtml, type Html, html, type HtmlValue, safeUrl, select } from './html.ts'
import { failure, usernameOf } from './layout.ts'
import { durationOf, format, formatNumbers, type Messages } from './texts.ts'
import type { CommonModel, PageError, ProfileField } from './common-model.ts'

/** The state of a form while it is rendered: which field has the error, and which field gets the focus. */
export interface FormState {
  error: PageError | null
  /** The name of the field with the error. `null`: the error concerns the whole form, or there is none. */
  wrong: string | null
  focus: string
}

/** Makes the state of a form that shows the error at its field, or above the form if it has no such field. */
export function formState(error: PageError | null, fields: readonly string[], focus: string): FormState {
  const wrong = error?.field !== null && error?.field !== undefined && fields.includes(error.field) ? error.field : null
  return { error, wrong, focus: wrong ?? focus }
}

interface Field {
  label: HtmlValue
  type: string
  value?: string
  autocomplete?: string | null
  inputmode?: string | null
  required?: boolean
  /** The word next to the label of a field that may stay empty. */
  optional?: string | null
  /** The options of a `select`, or the buttons of a `radio`. */
  choices?: ProfileField['choices']
  /** The language of label and hint. */
  lang?: string | null
  /** Makes the text below the input. `id`: the element id to give it, which `aria-describedby` refers to. */
  hint?: ((id: string) => Html) | null
  /** Further attributes of the input. */
  extra?: Readonly<Record<string, string | boolean>>
}

export function field(
  state: FormState,
  fieldName: string,
  {
    label,
    type,
    value,
    autocomplete,
    inputmode,
    required = true,
    optional = null,
    lang = null,
    choices = [],
    hint = null,
    extra = {}
  }: Field
): Html {
  const { error, wrong, focus } = state
  const ownError = wrong === fieldName ? error : null
  const described = [
    hint === null ? null : `${fieldName}-hint`,
    ownError === null ? null : `${fieldName}-error`,
    error !== null && wrong === null && error.field !== 'credential' ? 'form-error' : null
  ].filter((id) => id !== null)
  const isSelect = type === 'select'
  const isFocused = focus === fieldName
  const notes = [
    ownError !== null && html`<p class="wrong" role="alert" id="${fieldName}-error">${ownError.text}</p>`,
    hint !== null && hint(`${fieldName}-hint`)
  ]
  const given = attributes({
    id: fieldName,
    name: fieldName,
    type: isSelect ? null : type,
    value: isSelect ? null : value,
    required,
    autocomplete,
    inputmode,
    // A wrong name or password marks both fields.
    'aria-invalid':
      ownError !== null || (error?.error === 'invalid_grant' && wrong === null && error.field !== 'credential')
        ? 'true'
        : null,
    'aria-describedby': described.length === 0 ? null : described.join(' '),
    ...extra,
    // `autofocus` stays the last attribute, because `focusAtTop` relies on it.
    autofocus: isFocused
  })
  if (type === 'radio') {
    const about = { role: 'radiogroup', 'aria-describedby': described.join(' ') || null }
    return html`<fieldset${attributes({ class: 'field', ...about, 'aria-invalid': ownError === null ? null : 'true' })}>
<legend${attributes({ lang })}>${label}</legend>${choices.map((choice, at) => {
      const id = at === 0 ? fieldName : `${fieldName}-${at}`
      const checked = choice.value === value
      const own = attributes({
        type,
        id,
        name: fieldName,
        value: choice.value,
        required,
        checked,
        autofocus: isFocused && at === 0
      })
      return html`<div class="check"><input${own}><label for="${id}">${choice.label}</label></div>`
    })}${notes}</fieldset>\n`
  }
  const input = isSelect ? select(given, choices, { value, required }) : html`<input${given}>`
  const mark = optional && html` <i>(${optional})</i>`
  const caption = html`<label${attributes({ for: fieldName, lang })}>${label}${mark}</label>`
  if (type === 'checkbox') return html`<div class="field"><div class="check">${input}${caption}</div>${notes}</div>\n`
  return html`<div class="field">${[
    caption,
    type === 'password' ? html`<div class="secret" dir="ltr">${input}</div>` : input,
    notes
  ]}</div>\n`
}

// Addresses, usernames and passwords are written from left to right in every language.
export const AS_TYPED = { dir: 'ltr', autocapitalize: 'none', autocorrect: 'off', spellcheck: 'false' } as const

/**
 * With `passkeys`, the browser also proposes passkeys. `webauthn` must be the last word of `autocomplete`.
 * @see HTML §4.10.18.7.1
 */
export function usernameField(
  state: FormState,
  { messages }: CommonModel,
  value: string,
  { passkeys = false } = {}
): Html {
  return field(state, 'username', {
    label: messages.usernameLabel,
    type: 'text',
    value,
    autocomplete: passkeys ? 'username webauthn' : 'username',
    inputmode: 'email',
    extra: AS_TYPED
  })
}

/** The field for the present password, always empty. */
export function currentPasswordField(
  state: FormState,
  { messages }: CommonModel,
  { required }: { required: boolean }
): Html {
  return field(state, 'password', {
    label: messages.passwordLabel,
    type: 'password',
    autocomplete: 'current-password',
    required,
    extra: { ...AS_TYPED, 'data-reveal': messages.showPassword }
  })
}

/** The current password, for actions that need more than a session. The hidden username is for password managers. */
export function passwordAgainField(state: FormState, model: CommonModel & { username: string }): Html {
  return html`${usernameOf(model.username)}${field(state, 'current_password', {
    label: model.messages.currentPasswordLabel,
    type: 'password',
    autocomplete: 'current-password',
    extra: { ...AS_TYPED, 'data-reveal': model.messages.showPassword }
  })}`
}

/** The field is always empty. It has no `maxlength`, because that would cut a pasted password silently. */
export function newPasswordField(
  state: FormState,
  { messages }: CommonModel,
  { label, minLength }: { label: string; minLength: number }
): Html {
  return field(state, 'password', {
    label,
    type: 'password',
    autocomplete: 'new-password',
    hint: note(formatNumbers(messages.passwordHint, { minLength }, messages)),
    extra: { ...AS_TYPED, passwordrules: `minlength: ${minLength};`, 'data-reveal': messages.showPassword }
  })
}

export const note =
  (text: string, lang: string | null = null) =>
  (id: string): Html =>
    html`<p${attributes({ class: 'hint', id, lang })}>${text}</p>`

/** The checkbox is never ticked in advance, because the browser may belong to another person. */
export function rememberField(state: FormState, { messages }: CommonModel, seconds: number): Html {
  return field(state, 'remember', {
    label: format(messages.rememberLabel, { duration: durationOf(seconds, messages) }),
    type: 'checkbox',
    value: 'on',
    required: false
  })
}

/** The user's name for an authenticator app or a passkey. */
export function factorNameField(state: FormState, label: string, value: string): Html {
  return field(state, 'name', {
    label,
    type: 'text',
    value,
    autocomplete: 'off',
    required: false,
    extra: { dir: 'auto', maxlength: '64' }
  })
}

export function newEmailField(state: FormState, { messages }: CommonModel, value: string): Html {
  return field(state, 'email', {
    label: messages.newEmailLabel,
    type: 'email',
    value,
    autocomplete: 'email',
    inputmode: 'email',
    extra: AS_TYPED
  })
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">\n`
}

/**
 * Always posts, because form values do not belong in a URL. `id` is `named` if buttons of `carry` send the typed
 * username on.
 */
export function form(action: string, state: FormState | null, content: HtmlValue, id: 'named' | null = null): Html {
  const error = state !== null && state.wrong === null ? state.error : null
  return html`${error !== null && failure(error)}
<form${attributes({ method: 'post', action: safeUrl(action), id })}>
${content}</form>`
}

/**
 * `deliberate`: with scripts, the button ignores clicks in the half second after the page or its window appears.
 * `about`: the id of the element that names the object of the button, for pages with several such buttons.
 */
export function submit(
  label: string,
  {
    decision,
    look = null,
    deliberate = false,
    about = null
  }: { decision?: string; look?: 'quiet' | 'plain' | 'danger' | null; deliberate?: boolean; about?: string | null } = {}
): Html {
  return html`<button${attributes({
    type: 'submit',
    class: look,
    name: decision === undefined ? null : 'decision',
    value: decision,
    'aria-describedby': about,
    'data-deliberate': deliberate
  })}>${label}</button>`
}

/** The submit button of a list item. `about`: the id of the element that names the item, for screen readers. */
export function itemSubmit(
  label: string,
  { name, value, about }: { name: string; value: string; about: string }
): Html {
  return html`<button${attributes({
    type: 'submit',
    class: 'quiet',
    id: `${about}-submit`,
    name,
    value,
    'aria-labelledby': `${about}-submit ${about} ${about}-times`
  })}>${label}</button>`
}

export function link(url: string, label: HtmlValue): Html {
  return html`<a href="${safeUrl(url)}">${label}</a>`
}

/** A link that looks like a button. `look: null` is the primary style, for the main action of a page. */
export function action(url: string, label: HtmlValue, look: 'quiet' | 'plain' | null = null): Html {
  return html`<p class="actions"><a${attributes({ class: look, href: safeUrl(url) })}>${label}</a></p>\n`
}

/** A button that copies the text of the element with this id. Hidden until the script shows it. */
export function copyButton({ copyCode, copiedCode }: Messages, id: string): Html {
  return html`<button${attributes({
    type: 'button',
    class: 'quiet small',
    'data-copies': id,
    'data-copied': copiedCode,
    'aria-live': 'polite',
    hidden: true
  })}>${copyCode}</button>`
}

/** The error code and the request id, for the user to send to support. */
export function errorCode({ messages, requestId }: CommonModel, { error }: PageError): Html {
  const code = html`<code dir="ltr" id="request-id">${error} · ${requestId}</code>`
  return html`<details class="more"><summary>${messages.errorDetails}</summary><p class="code"><span>${formatHtml(
    messages.errorCode,
    { code }
  )}</span>${copyButton(messages, 'request-id')}</p></details>`
}

/** Shows the request id for an error that the user can't correct. `null` for any other error. */
export function serverFault(model: CommonModel & { error: PageError | null }): Html | null {
  return model.error !== null && ['server_error', 'temporarily_unavailable'].includes(model.error.error)
    ? errorCode(model, model.error)
    : null
}
