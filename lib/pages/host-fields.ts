import { AS_TYPED, field, type FormState, note } from './fields.ts'
import { attributes, formatHtml, type Html, html, safeUrl } from './html.ts'
import type { CommonModel, ProfileField } from './common-model.ts'

/**
 * The `autocomplete` values of fields that browsers can fill in.
 * @see OpenID Connect Core 1.0 §5.1, HTML §4.10.18.7
 */
const AUTOCOMPLETE: Readonly<Record<string, string>> = {
  name: 'name',
  given_name: 'given-name',
  family_name: 'family-name',
  middle_name: 'additional-name',
  nickname: 'nickname',
  email: 'email',
  phone_number: 'tel',
  birthdate: 'bday',
  website: 'url',
  organization: 'organization'
}

/** Types whose values are written from left to right in every language. */
const TYPED: readonly string[] = ['email', 'url', 'tel']

/** A field of the option `registration.fields`. */
export function profileField(state: FormState, model: CommonModel, given: ProfileField): Html {
  const { name, type, required, value, choices, hint = null, limits = {}, lang = null } = given
  const shared = {
    label: labelOf(given.label, model),
    type,
    required,
    lang,
    hint: hint === null ? null : note(hint, lang)
  }
  if (type === 'checkbox') return field(state, name, { ...shared, value: 'true', extra: { checked: value === 'true' } })
  return field(state, name, {
    ...shared,
    value,
    choices,
    optional: required ? null : model.messages.optional,
    autocomplete: Object.hasOwn(AUTOCOMPLETE, name) ? (AUTOCOMPLETE[name] ?? null) : null,
    inputmode: TYPED.includes(type) ? type : null,
    extra: { ...limits, ...(TYPED.includes(type) ? AS_TYPED : type === 'text' ? { dir: 'auto' } : {}) }
  })
}

/** Replaces `{terms}` and `{privacy}` by links, or by their names if the host gives no link. */
function labelOf(label: string, { messages, footer: { terms, privacy } }: CommonModel): Html {
  const linked = (url: string | null, text: string): Html =>
    url === null ? html`${text}` : html`<a${attributes({ href: safeUrl(url) })}>${text}</a>`
  return formatHtml(label, {
    terms: linked(terms, messages.linkTerms),
    privacy: linked(privacy, messages.linkPrivacy)
  })
}
