import type { CommonModel, FormModel } from './common-model.ts'
import { AS_TYPED, field, form, type FormState, note, submit } from './fields.ts'
import { type Html, html } from './html.ts'

/** Six digits of an app. */
export function codeField(state: FormState, { messages }: CommonModel): Html {
  return digitsField(state, messages.codeLabel, 6)
}

/** Eight digits from an email. */
export function emailCodeField(state: FormState, { messages }: CommonModel): Html {
  return digitsField(state, messages.emailCodeLabel, 8)
}

/** Takes the code of a message that also has a link. */
export function confirmationForm(model: FormModel, state: FormState): Html {
  return form(
    model.action,
    state,
    html`${emailCodeField(state, model)}${submit(model.messages.continueSubmit)}
`
  )
}

/**
 * Has no `maxlength`, because that would cut a code pasted with a space. The script sends a whole code.
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
