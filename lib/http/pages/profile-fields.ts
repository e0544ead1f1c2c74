import type { TObject, TSchema } from '@sinclair/typebox'
import type { ValueError } from '@sinclair/typebox/errors'
import { OAuthError } from '../../errors.ts'
import type { ProfileField } from '../../pages/common-model.ts'
import type { User } from '../../ports/user-store.ts'
import { ownProfileFields } from '../../accounts/register.ts'
import { type Messages, messagesOf } from '../../pages/texts.ts'
import { fieldOf, inputType, type Problem, problemOf } from './host-field.ts'
import type { Form } from './page-routes.ts'
import { fieldMistake, type Registration } from '../edge/registration.ts'

interface RegistrationInput {
  username: string
  password: string
  fields: Record<string, unknown>
}

/** The form of the sign-up page for the host's `registration.fields`. */
interface ProfileForm {
  /** The names of all fields that a person can fill in. */
  names: readonly string[]
  /** The host's fields for the page: with the typed values, or with the schema's defaults if nothing was typed yet. */
  show(typed: Form | null, messages?: Messages): ProfileField[]
  /**
   * The registration as the JSON endpoint would take it, by the same schema.
   * @throws OAuthError `invalid_request` naming the field
   */
  read(form: Form): RegistrationInput
}

/** The form of the required fields that a profile lacks. */
interface MissingFieldsForm extends Pick<ProfileForm, 'names' | 'show'> {
  /** @throws OAuthError `invalid_request` naming the field */
  read(form: Form): Record<string, unknown>
}

export function missingFields(
  registration: Registration | null,
  profile: Readonly<Record<string, unknown>>
): MissingFieldsForm {
  if (registration === null) return { names: [], show: () => [], read: () => ({}) }
  const { fits, fields } = registration
  const inputs = inputsOf(registration, ownProfileFields(Object.keys(fields.properties))).filter(
    ({ name }) => (fields.required ?? []).includes(name) && !Object.hasOwn(profile, name)
  )
  return {
    names: inputs.map(({ name }) => name),
    show: (typed, messages) => inputs.flatMap((input) => shownField(input, typed, messages)),
    read: (form) => Object.fromEntries(inputs.map((input) => [input.name, fieldValue(input, form, fits)]))
  }
}

type InputType = ProfileField['type']

/** A valid floating-point number, which is what a browser sends for a number input. @see HTML §2.3.4.3 */
const NUMBER = /^-?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?$/i

/** The values that a ticked checkbox sends: its own value, or `on` if the checkbox has no value. */
const TICKED: readonly string[] = ['true', 'on']

export function profileForm(registration: Registration): ProfileForm {
  const { fields, compiled, fits, defaultsOf } = registration
  const all = Object.keys(fields.properties)
  const inputs = inputsOf(registration, all)
  const withoutInput = all.filter((name) => !inputs.some((input) => input.name === name))
  for (const name of withoutInput) {
    if ((fields.required ?? []).includes(name) && !Object.hasOwn(fields.properties[name] ?? {}, 'default'))
      throw fieldMistake(
        `.${name}`,
        'it is required, and the sign-up page has no input for a field of its kind, so nobody could sign up there. ' +
          'Make it optional, give it a default, or take a page of your own (pages.loginUrl, or pages: false)'
      )
  }
  const names = ['username', 'password', ...inputs.map(({ name }) => name)]

  return {
    names,
    show: (typed, messages) => inputs.flatMap((input) => shownField(input, typed, messages)),
    read(form) {
      const given = Object.fromEntries(
        inputs.flatMap(({ name, schema, type }) => {
          const value = valueOf(schema, type, form[name] ?? '', fits)
          return value === undefined ? [] : [[name, value]]
        })
      ) as Record<string, unknown>
      const { username = '', password = '' } = form
      const empty = inputs.find((input) => input.required && !Object.hasOwn(given, input.name))
      if (empty !== undefined) throw fieldError(empty.name, { text: 'it is required.', reason: 'required' })
      // Without a prototype, because the schema would otherwise find inherited members for a missing field.
      const input = Object.assign(Object.create(null) as Record<string, unknown>, given, { username, password })
      if (!compiled.Check(input)) throw errorOf(compiled.Errors(input).First())
      return { username, password, fields: { ...defaultsOf(withoutInput), ...given } }
    }
  }
}

interface Input {
  name: string
  schema: TSchema
  type: InputType
  required: boolean
}

/** The fields that a form can contain. */
function inputsOf({ fields, fits }: Registration, names: readonly string[]): Input[] {
  return names.flatMap((name) => {
    const schema = fields.properties[name]
    const type = schema === undefined ? null : inputType(name, schema)
    return schema === undefined || type === null
      ? []
      : [{ name, schema, type, required: isRequired(fields, name, schema, fits) }]
  })
}

/** The form of the profile page: the fields that a person may change by themselves. */
interface ProfileChangeForm {
  names: readonly string[]
  /** The user's values, or the typed ones. */
  show(user: User, typed: Form | null, messages: Messages): ProfileField[]
  /**
   * The fields in which the form differs from the user's stored values, as `PATCH /auth/profile` takes them. `null` for
   * an emptied field. A form that was opened before another change takes that change back.
   * @throws OAuthError `invalid_request` naming the field
   */
  read(form: Form, user: User): Record<string, unknown>
}

export function profileChangeForm(registration: Registration, names: readonly string[]): ProfileChangeForm {
  const { fits } = registration
  const inputs = inputsOf(registration, names)
  const shownOf = ({ name, type }: Input, user: User): string => {
    const value = user[name]
    return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
      ? shownAs(type, String(value))
      : ''
  }
  return {
    names: inputs.map(({ name }) => name),
    show: (user, typed, messages) =>
      inputs.flatMap((input) => {
        const { name, type } = input
        const value = typed === null ? shownOf(input, user) : shownAs(type, typed[name] ?? '')
        return shown(input, value, messages)
      }),
    read: (form, user) =>
      Object.fromEntries(
        inputs
          .filter((input) => shownAs(input.type, form[input.name] ?? '') !== shownOf(input, user))
          .map((input) => [input.name, fieldValue(input, form, fits)])
      )
  }
}

/** A field with the typed value, or with the schema's default if nothing was typed yet. */
function shownField(input: Input, typed: Form | null, messages = messagesOf('en')): ProfileField[] {
  const { name, schema, type } = input
  return shown(input, typed === null ? defaultOf(schema, type) : shownAs(type, typed[name] ?? ''), messages)
}

function shown({ name, schema, required }: Input, value: string, messages: Messages): ProfileField[] {
  const field = fieldOf(name, schema, required, messages)
  return field === null ? [] : [{ name, required, value, ...field }]
}

/**
 * The typed value of a field, checked by the field's own schema. `null` if an optional field was left empty.
 * @throws OAuthError `invalid_request` naming the field
 */
function fieldValue({ name, schema, type, required }: Input, form: Form, fits: Registration['fits']): unknown {
  const value = valueOf(schema, type, form[name] ?? '', fits) ?? null
  if (value === null ? required : !fits(schema, value)) throw fieldError(name, problemOf(schema, value))
  return value
}

/**
 * True if the person must fill the field in. An empty text counts as not sent. A checkbox is required only if the
 * schema does not take `false`.
 */
function isRequired(fields: TObject, name: string, schema: TSchema, fits: Registration['fits']): boolean {
  return (fields.required ?? []).includes(name) && !(inputType(name, schema) === 'checkbox' && fits(schema, false))
}

/**
 * Converts the text of a field to the type of its schema. `undefined`: nothing was typed. An unticked checkbox is
 * `false` if the schema takes `false`. A text that can't be converted stays a text, so that the schema refuses it.
 */
function valueOf(schema: TSchema, type: InputType, text: string, fits: Registration['fits']): unknown {
  if (type === 'checkbox') {
    if (text === '') return fits(schema, false) ? false : undefined
    return TICKED.includes(text) ? true : text
  }
  if (text === '') return undefined
  if (!NUMBER.test(text)) return text
  return type === 'number' || (!fits(schema, text) && fits(schema, Number(text))) ? Number(text) : text
}

function defaultOf(schema: TSchema, type: InputType): string {
  const value: unknown = schema.default
  return typeof value === 'string' || typeof value === 'number' || value === true ? shownAs(type, String(value)) : ''
}

/** The text of a field in the form. `true` ticks a checkbox. */
function shownAs(type: InputType, text: string): string {
  return type !== 'checkbox' ? text : TICKED.includes(text) ? 'true' : ''
}

function errorOf(first: ValueError | undefined): OAuthError {
  const field = first?.path.split('/')[1]?.replaceAll('~1', '/').replaceAll('~0', '~') ?? ''
  return fieldError(field, first === undefined ? { text: 'it is not accepted.' } : problemOf(first.schema, first.value))
}

function fieldError(field: string, { text, ...said }: Problem): OAuthError {
  return new OAuthError('invalid_request', `${field}: ${text}`, { field, ...said })
}
