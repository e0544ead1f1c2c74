import { Kind, type TObject, type TSchema, Type } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { Check } from '@sinclair/typebox/value'
import { OAuthError, StartError } from '../../errors.ts'
import { hostTextProblem, ownText } from '../../pages/own-texts.ts'
import { strictValidator } from './body.ts'
import { Password, Username } from './schemas.ts'

export interface Registration {
  /** The option `registration.fields`. */
  fields: TObject
  /** The fields of a registration, as JSON or by the sign-up page. A field with a default may be missing. */
  body: TObject
  compiled: TypeCheck<TObject>
  /**
   * The fields of a person's own profile, with the schema of a later change. `null`: none of them can be changed later.
   */
  profile: ProfileFields | null
  /** A fresh copy of the defaults of these fields. */
  defaultsOf(names: readonly string[]): Record<string, unknown>
  /** True if a value fits the schema of one field. */
  fits(schema: TSchema, value: unknown): boolean
}

/** Selects the names of fields that a person may change by themselves. */
type OwnFields = (names: readonly string[]) => readonly string[]

interface ProfileFields {
  names: readonly string[]
  /** `names` without the fields that only the sign-up takes (`x-sign-up-only`). */
  changeable: readonly string[]
  /** For API documents: all fields optional, and `null` allowed for those that may be removed. */
  body: TObject
  /** Checks a change exactly as it came. */
  validate: ReturnType<typeof strictValidator>
}

const FORMATS: Readonly<Record<string, RegExp>> = {
  email: /^[^\s@"(),:;<>[\\\]]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.)+[A-Za-z]{2,63}$/,
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  date: /^\d{4}-\d{2}-\d{2}$/,
  'date-time': /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/,
  uri: /^[a-z][a-z0-9+.-]*:[^\s]+$/i
}

/**
 * Prepares the sign-up with the host's profile fields. Checks the fields with the host's copy of @sinclair/typebox,
 * which knows the formats and types that the host has registered. The copy in our bundle does not. Adds the usual
 * formats if the host has none under their names.
 * @throws StartError for a mistake in the fields
 */
export async function registrationWith(fields: TObject | null, own: OwnFields): Promise<Registration> {
  if (fields === null) return registration(Type.Object({}), own, TypeCompiler, Check)
  const [{ FormatRegistry, TypeRegistry }, compiler, value] = await Promise.all([
    import('@sinclair/typebox'),
    import('@sinclair/typebox/compiler'),
    import('@sinclair/typebox/value')
  ])
  for (const [name, pattern] of Object.entries(FORMATS)) {
    if (!FormatRegistry.Has(name)) FormatRegistry.Set(name, (text) => text.length <= 2048 && pattern.test(text))
  }
  const schemas = Object.entries(fields.properties).flatMap(([name, schema]) => schemasIn(schema, `.${name}`))
  // TypeBox refuses every value of a field with an unknown format, so nobody could register.
  const formats = schemas.map(([, { format }]) => format as unknown).filter((format) => typeof format === 'string')
  const unknown = formats.find((name) => !FormatRegistry.Has(name))
  if (unknown !== undefined)
    throw fieldMistake(
      '',
      `the format ${JSON.stringify(unknown)} is not known; add it to the FormatRegistry of @sinclair/typebox, or ` +
        `take one of ${Object.keys(FORMATS).join(', ')}`
    )
  const inherited = Object.keys(fields.properties).find((name) => name in Object.prototype)
  if (inherited !== undefined)
    throw fieldMistake(`.${inherited}`, 'every object of JavaScript has something of this name; take another name')
  // A kind that the host has registered checks its values itself.
  const [unread] = schemas.filter(([, schema]) => 'enum' in schema && !TypeRegistry.Has(schema[Kind]))
  if (unread !== undefined)
    throw fieldMistake(
      `${unread[0]}.enum`,
      `Type.${unread[1][Kind]} of TypeBox does not check it. ` +
        'Write Type.Union([Type.Literal("a"), Type.Literal("b")]), or give all fields as plain JSON Schema'
    )
  for (const [name, schema] of Object.entries(fields.properties)) {
    for (const key of ['title', 'description']) {
      const problem = hostTextProblem(schema[key])
      if (problem !== null) throw fieldMistake(`.${name}.${key}`, problem)
    }
  }
  return registration(fields, own, compiler.TypeCompiler, value.Check)
}

/** `path`: the path of the field after a dot, such as `.age`. Empty: the option as a whole. */
export function fieldMistake(path: string, problem: string): StartError {
  return new StartError('FST_AUTHORITY_INVALID_OPTIONS', `Invalid option "registration.fields${path}": ${problem}.`)
}

/** Reduces texts in several languages to one for API documents: the English text, or any other. */
function inOneLanguage<Schema extends TSchema>(schema: Schema): Schema {
  const texts = Object.entries(schema).filter(
    ([key, value]) => ['title', 'description'].includes(key) && typeof value === 'object'
  )
  const { anyOf } = schema as { anyOf?: TSchema[] }
  return {
    ...schema,
    ...Object.fromEntries(texts.map(([key, value]) => [key, ownText(value as object, 'en')?.text])),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(inOneLanguage) })
  }
}

/** A schema and all schemas inside it, each with its path. */
function schemasIn(schema: unknown, path: string): Array<[path: string, schema: TSchema]> {
  if (typeof schema !== 'object' || schema === null) return []
  const inside = Object.entries(schema).flatMap(([key, value]) => schemasIn(value, `${path}.${key}`))
  return Kind in schema ? [[path, schema as TSchema], ...inside] : inside
}

function registration(
  fields: TObject,
  own: OwnFields,
  compiler: Pick<typeof TypeCompiler, 'Compile'>,
  check: (schema: TSchema, value: unknown) => boolean
): Registration {
  const defaults = new Map(
    Object.entries(fields.properties).flatMap(([name, schema]): Array<[string, unknown]> =>
      schema.default === undefined ? [] : [[name, schema.default]]
    )
  )
  for (const [name, value] of defaults)
    if (!check(fields.properties[name] as TSchema, value))
      throw fieldMistake(`.${name}`, 'its default does not fit its own schema')
  const given = Object.entries(fields.properties).map(([name, schema]): [string, TSchema] => [
    name,
    inOneLanguage(defaults.has(name) ? Type.Optional(schema) : schema)
  ])
  const body = Type.Object(
    { ...Object.fromEntries(given), username: Username, password: Password },
    { additionalProperties: false }
  )
  return {
    fields,
    body,
    compiled: compiler.Compile(body),
    profile: profileFields(fields, own, compiler),
    defaultsOf: (names) =>
      Object.fromEntries(
        names.filter((name) => defaults.has(name)).map((name) => [name, structuredClone(defaults.get(name))])
      ),
    fits: check
  }
}

function profileFields(
  { properties, required = [] }: TObject,
  ownNames: OwnFields,
  compiler: Pick<typeof TypeCompiler, 'Compile'>
): ProfileFields | null {
  const all = ownNames(Object.keys(properties))
  const names = all.filter((name) => properties[name]?.['x-sign-up-only'] !== true)
  if (names.length === 0) return null
  const own = names.map((name): [string, TSchema] => [name, inOneLanguage(properties[name] as TSchema)])
  const isRemoved = (name: string, value: unknown): boolean =>
    value === null && names.includes(name) && !required.includes(name)
  const check = strictValidator(() =>
    compiler.Compile(Type.Partial(Type.Object(Object.fromEntries(own), { additionalProperties: false })))
  )
  return {
    names: all,
    changeable: names,
    body: Type.Partial(
      Type.Object(
        Object.fromEntries(
          own.map(([name, schema]) => [name, required.includes(name) ? schema : Type.Union([schema, Type.Null()])])
        ),
        { additionalProperties: false }
      )
    ),
    // Removed fields are left out first, so that the error of an invalid field comes from its own schema.
    validate: (value) =>
      check(
        typeof value === 'object' && value !== null && !Array.isArray(value)
          ? Object.fromEntries(Object.entries(value).filter(([name, field]) => !isRemoved(name, field)))
          : value
      )
  }
}

/**
 * Blames the username for an invalid `email` if the registration has no field `email`, because the username must then
 * be an email address.
 */
export function aboutUsername(error: OAuthError, names: readonly string[]): OAuthError {
  if (error.field !== 'email' || names.includes('email')) return error
  return new OAuthError(error.error, 'username: It must be an email address here.', {
    field: 'username',
    reason: 'email_form'
  })
}
