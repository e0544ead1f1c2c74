import type { CommonModel, FormModel } from './common-model.ts'
import { AS_TYPED, field, form, type FormState, note, submit } from './fields.ts'
import { type Html, html } from './html.ts'

/** The field for the six digits of an authenticator app. */
export function codeField(state: FormState, { messages }: CommonModel): Html {
  return digitsField(state, messages.codeLabel, 6)
}

/** The field for the eight digits of an email. */
export function emailCodeField(state: FormState, { messages }: CommonModel): Html {
  return digitsField(state, messages.emailCodeLabel, 8)
}

/** The form for the code of a message, which the user may type instead of opening the link. */
export function confirmationForm(model: FormModel, state: FormState): Html {
  return form(
    model.action,
    state,
    html`${emailCodeField(state, model)}${submit(model.messages.continueSubmit)}
`
  )
}

/**
 * Has no `maxlength`, because that would cut a code pasted with a space. The script submits the form when the code is
 * complete, if the form has no other visible input and the code has no error yet.
 */
function digitsField(state: FormState, label: string, digits: number): Html {
  return field(state, 'code', {
    label,
    type: 'text',
    autocomplete: 'one-time-code',
    inputmode: 'numeric',
    extra: { ...AS_TYPED, class: 'digits', 'data-digits': String(digits) }
  })
}

export function recoveryCodeField(state: FormState, { messages }: CommonModel): Html {
  return field(state, 'recovery_code', {
    label: messages.recoveryLabel,
    type: 'text',
    autocomplete: 'off',
    hint: note(messages.recoveryText),
    extra: { ...AS_TYPED, class: 'digits' }
  })
}
