import type { TSchema } from '@sinclair/typebox'
import type { OAuthErrorOptions, OAuthErrorReason } from '../../errors.ts'
import type { ProfileField } from '../../pages/common-model.ts'
import { ownText } from '../../pages/own-texts.ts'
import type { MessageKey, Messages } from '../../pages/texts.ts'
import { choicesOf, namedChoices } from '../edge/body.ts'

/** A field of the option `registration.fields` on a page, before it has a value. */
type HostField = Omit<ProfileField, 'name' | 'required' | 'value'>

/**
 * A reason to refuse a value. `text` goes into `error_description`. Pages show a text for `reason` in their language.
 */
export type Problem = { text: string } & Pick<OAuthErrorOptions, 'reason' | 'limit'>

type InputType = ProfileField['type']

type Bound = 'minLength' | 'maxLength' | 'minimum' | 'maximum' | 'exclusiveMinimum' | 'exclusiveMaximum' | 'multipleOf'
type Rules = { [Name in Bound]?: number } & { type?: unknown; pattern?: unknown; format?: unknown; examples?: unknown }

const BY_FORMAT: Readonly<Record<string, InputType>> = { email: 'email', date: 'date', uri: 'url' }
/** Titles of standard claims. @see OpenID Connect Core 1.0 §5.1 */
const TITLES: Readonly<Record<string, MessageKey>> = {
  name: 'fieldName',
  given_name: 'fieldGivenName',
  family_name: 'fieldFamilyName',
  nickname: 'fieldNickname',
  email: 'emailTitle',
  phone_number: 'fieldPhone',
  birthdate: 'fieldBirthdate',
  website: 'fieldWebsite'
}
/** Maximum number of choices that a required field shows as radio buttons. More choices are a select list. */
const MOST_RADIOS = 4

export function fieldOf(name: string, schema: TSchema, required: boolean, messages: Messages): HostField | null {
  const type = inputType(name, schema, required)
  if (type === null) return null
  const said = (text: unknown): ReturnType<typeof ownText> =>
    typeof text === 'string' ? { text, lang: messages.lang } : ownText(text ?? {}, messages.lang)
  // A schema that also takes `null` may have its texts on the union or on the variant.
  const [only = schema] = variantsOf(schema)
  const label = said(schema.title ?? (isChoice(type) ? undefined : only.title))
  const hint = said(schema.description ?? only.description)
  const builtIn = Object.hasOwn(TITLES, name) ? TITLES[name] : undefined
  const lang = label?.lang ?? hint?.lang
  return {
    type,
    label: label?.text ?? (builtIn === undefined ? name : messages[builtIn]),
    hint: hint?.text ?? null,
    choices: isChoice(type)
      ? (choicesOf(schema) ?? []).map(({ value, title }) => ({
          value: String(value),
          label: said(title)?.text ?? String(value)
        }))
      : [],
    limits: inputLimits(schema, type),
    lang: lang === undefined || lang === messages.lang ? null : lang
  }
}

/**
 * The type of the form field for a schema. `null`: no form field can hold the value (an array, an object). Such a field
 * is only for the JSON endpoint.
 */
export function inputType(name: string, schema: TSchema, required = false): InputType | null {
  const choices = choicesOf(schema)
  // Uses radio buttons only for a required field, because nobody can untick a radio button.
  if (choices !== null) return required && choices.length <= MOST_RADIOS && choices.length > 1 ? 'radio' : 'select'
  if (Array.isArray(schema.anyOf)) {
    const types = variantsOf(schema).map((variant) => inputType(name, variant))
    const [first = null] = types
    return types.includes(null) ? null : new Set(types).size === 1 ? first : 'text'
  }
  if (schema.type === 'boolean') return 'checkbox'
  if (schema.type === 'number' || schema.type === 'integer') return 'number'
  if (schema.type !== 'string') return null
  return BY_FORMAT[String(schema.format)] ?? (name === 'phone_number' ? 'tel' : 'text')
}

const isChoice = (type: InputType): boolean => type === 'radio' || type === 'select'

const variantsOf = (schema: TSchema): TSchema[] =>
  ((schema.anyOf ?? [schema]) as TSchema[]).filter(({ type }) => type !== 'null')

/** The attributes by which a browser checks a part of what the schema checks. */
function inputLimits(schema: TSchema, type: InputType): Record<string, string | number> {
  const [only, ...others] = variantsOf(schema)
  if (only === undefined || others.length > 0 || isChoice(type)) return {}
  const { minLength, maxLength, pattern, minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Rules = only
  const whole = only.type === 'integer'
  const min = minimum ?? (whole && exclusiveMinimum !== undefined ? exclusiveMinimum + 1 : undefined)
  return Object.fromEntries(
    Object.entries(
      type === 'number'
        ? {
            min,
            max: maximum ?? (whole && exclusiveMaximum !== undefined ? exclusiveMaximum - 1 : undefined),
            // Without a minimum, a browser counts steps from the value shown. After a refused 7.5 it would refuse 8.
            step: whole && min !== undefined ? 1 : 'any'
          }
        : { minlength: minLength, maxlength: maxLength, pattern: patternOf(pattern) }
    ).filter((limit): limit is [string, string | number] => limit[1] !== undefined)
  )
}

/**
 * Wraps a pattern so that it may match a part of the text, as in JSON Schema. A browser compares the pattern with the
 * whole text. Browsers ignore a pattern that they can't parse.
 */
const patternOf = (pattern: unknown): string | undefined =>
  typeof pattern === 'string' ? `(?:.*(?:${pattern}).*)` : undefined

const problem = (text: string, reason: OAuthErrorReason, limit?: number | string): Problem => ({
  text: `${text}.`,
  reason,
  ...(limit === undefined ? {} : { limit })
})

/** The reason why the schema of a field refuses a value, in a form that helps the person to correct it. */
export function problemOf(schema: TSchema, value: unknown): Problem {
  if (value === undefined || value === null || value === '') return problem('it is required', 'required')
  const choices = choicesOf(schema)
  if (choices !== null) return problem(namedChoices(choices), 'value_choice')
  if (Array.isArray(schema.anyOf)) {
    const variants = variantsOf(schema)
    const near = variants.find(({ type }) => typeof value === (type === 'integer' ? 'number' : type)) ?? variants[0]
    return near === undefined ? OTHER : problemOf(near, value)
  }
  if (schema.type === 'number' || schema.type === 'integer') return numberProblem(schema, value) ?? OTHER
  return (schema.type === 'string' && typeof value === 'string' ? textProblem(schema, value) : null) ?? OTHER
}

const OTHER: Problem = { text: 'it is not accepted.' }

function numberProblem(schema: TSchema, value: unknown): Problem | null {
  const { type, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: Rules = schema
  if (type === 'integer' && !Number.isInteger(value)) return problem('it takes a whole number', 'value_integer')
  if (typeof value !== 'number' || !Number.isFinite(value)) return problem('it takes a number', 'value_number')
  if (minimum !== undefined && value < minimum) return problem(`it takes ${minimum} or more`, 'value_min', minimum)
  if (maximum !== undefined && value > maximum) return problem(`it takes ${maximum} or less`, 'value_max', maximum)
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
    return problem(`it takes more than ${exclusiveMinimum}`, 'value_above', exclusiveMinimum)
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum)
    return problem(`it takes less than ${exclusiveMaximum}`, 'value_below', exclusiveMaximum)
  return multipleOf === undefined ? null : problem(`it takes a multiple of ${multipleOf}`, 'value_multiple', multipleOf)
}

/** Examples of the formats that people can't guess. */
const EXAMPLES: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  uri: 'https://example.com',
  uuid: '123e4567-e89b-12d3-a456-426614174000'
}

function textProblem({ minLength, maxLength, pattern, format, examples }: Rules, value: string): Problem | null {
  if (minLength !== undefined && value.length < minLength)
    return problem(`it takes at least ${minLength} characters`, 'value_short', minLength)
  if (maxLength !== undefined && value.length > maxLength)
    return problem(`it takes at most ${maxLength} characters`, 'value_long', maxLength)
  const [example] = Array.isArray(examples) ? (examples as unknown[]) : []
  if (typeof example === 'string') return { ...OTHER, reason: 'value_form', limit: example }
  // Gives no reason, because the host explains the pattern in the field's hint.
  if (pattern !== undefined) return null
  if (format === 'email') return problem('The email address is not valid', 'email_form')
  const known = EXAMPLES[String(format)]
  return known === undefined ? null : { ...OTHER, reason: 'value_form', limit: known }
}
