import type { ProfileField } from './common-model.ts'
import { attributes, type Html, html } from './html.ts'

/** A list of choices. It starts with an empty one, unless the field is required and has a value. */
export function select(
  given: Html,
  choices: ProfileField['choices'],
  { value = '', required }: { value: string | undefined; required: boolean }
): Html {
  const none = required && choices.some((choice) => choice.value === value) ? [] : [{ value: '', label: '' }]
  return html`<select${given}>${[...none, ...choices].map(
    (choice) =>
      html`<option${attributes({ value: choice.value, selected: choice.value === value })}>${choice.label}</option>`
  )}</select>`
}
