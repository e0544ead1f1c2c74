import { Kind, type SchemaOptions, type TObject, type TSchema, Type } from '@sinclair/typebox'
import { filled, flag, type Given, oneOf, option, orFalse, section } from '../schema-words.ts'
import { badOption, invalid } from '../option-error.ts'
import { isObject } from '../../protocol/json.ts'

const REGISTRATION = {
  /**
   * `"email"`: the username is the email address, is stored as `email` too, and the pages call it the email address.
   * `"any"`: an email address, or a name of 3 to 64 characters.
   */
  username: oneOf(['email', 'any'], { default: 'email' }),
  /**
   * Schema of extra profile fields: a `Type.Object(…)` of `@sinclair/typebox`, or an object in plain JSON Schema
   * (TypeBox 1, `z.toJSONSchema(…)` of Zod). The supported JSON Schema is types, `const`, `enum`, `anyOf`, `oneOf` and
   * the bounds of each type. Any other keyword stops the start. `title` and `description` are label and hint: a text,
   * or texts by language. A field with `'x-sign-up-only': true` can't be changed later.
   */
  fields: option<TObject | Readonly<Record<string, unknown>>>(Type.Any({ takes: 'an object' })),
  /**
   * Requires a confirmed email address for sign-in. Registration then answers 202 for taken and free names alike.
   * Requires `sendMessage` and `users.setEmailVerified`.
   */
  verifyEmail: flag({ default: false })
}

export interface RegistrationOptions extends Given<typeof REGISTRATION> {}

/** The registration of new users. `false`: nobody can register. */
export const REGISTRATION_OPTION = orFalse(section<RegistrationOptions>(REGISTRATION), {
  otherwise: 'on if `users.create` exists',
  takes: 'false or { username, fields, verifyEmail }'
})

export function resolveRegistration(given: RegistrationOptions | undefined) {
  const { fields, ...settings } = filled(REGISTRATION, given)
  return { ...settings, fields: fields === null ? null : schemaOf(fields) }
}

const schemaOf = (fields: NonNullable<RegistrationOptions['fields']>): TObject =>
  (fields as Partial<TObject> | null)?.[Kind] === 'Object'
    ? (fields as TObject)
    : objectFromJsonSchema(fields, 'registration.fields')

type JsonSchema = Readonly<Record<string, unknown>>
type Convert = (schema: JsonSchema, options: SchemaOptions, path: string) => TSchema

/** Annotations, which do not restrict values. */
const ANNOTATIONS = [
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  'x-sign-up-only'
]
const IGNORED = ['$schema', '$id', '$comment']

/** The supported keywords of each type, and how to make its TypeBox schema. */
const TYPES: Readonly<Record<string, { keywords: readonly string[]; convert: Convert }>> = {
  string: {
    keywords: ['minLength', 'maxLength', 'pattern', 'format'],
    convert: (_, options) => Type.String(options)
  },
  number: {
    keywords: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
    convert: (_, options) => Type.Number(options)
  },
  integer: {
    keywords: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
    convert: (_, options) => Type.Integer(options)
  },
  boolean: { keywords: [], convert: (_, options) => Type.Boolean(options) },
  null: { keywords: [], convert: (_, options) => Type.Null(options) },
  array: {
    keywords: ['items', 'minItems', 'maxItems', 'uniqueItems'],
    convert: ({ items = {} }, options, path) => Type.Array(typeOf(items, `${path}.items`), options)
  },
  object: { keywords: ['properties', 'required', 'additionalProperties'], convert: objectOf }
}

/** The keywords that need no `type` next to them, and how to make their TypeBox schemas. */
const WITHOUT_TYPE: Readonly<Record<string, Convert>> = {
  const: ({ const: value }, options, path) => literalOf(value, options, path),
  enum: ({ enum: values }, options, path) =>
    unionOf(
      listOf(values, `${path}.enum`).map((value) => literalOf(value, {}, `${path}.enum`)),
      options
    ),
  anyOf: ({ anyOf }, options, path) => unionOfTypes(anyOf, options, `${path}.anyOf`),
  oneOf: ({ oneOf }, options, path) => unionOfTypes(oneOf, options, `${path}.oneOf`)
}

/**
 * Converts the plain JSON Schema of an object to a TypeBox schema.
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` for a schema that is not supported, with the path of the mistake
 */
export function objectFromJsonSchema(schema: unknown, path: string): TObject {
  if (!isObject(schema) || schema['type'] !== 'object')
    throw invalid(
      path,
      schema,
      'an object schema: a Type.Object(…) of @sinclair/typebox, or JSON Schema with type "object" (of Zod, what ' +
        'z.toJSONSchema(…) makes)'
    )
  return typeOf(schema, path) as TObject
}

function typeOf(schema: unknown, path: string): TSchema {
  if (!isObject(schema)) throw badOption(path, 'it takes a schema')
  const { type } = schema
  if (Array.isArray(type)) return ofSeveral(type.map(String), schema, path)
  // `const`, `enum`, `anyOf` and `oneOf` need no `type`.
  const [exact] = Object.keys(WITHOUT_TYPE).filter((keyword) => keyword in schema)
  const known = exact === undefined ? TYPES[String(type)] : { keywords: [exact, 'type'], convert: WITHOUT_TYPE[exact] }
  if (known?.convert === undefined)
    throw badOption(
      path,
      `it takes a schema with a type (${Object.keys(TYPES).join(', ')}), const, enum, anyOf or oneOf`
    )
  const allowed = ['type', ...known.keywords, ...ANNOTATIONS, ...IGNORED]
  const unknown = Object.keys(schema).find((keyword) => !allowed.includes(keyword))
  if (unknown !== undefined)
    throw badOption(`${path}.${unknown}`, `this keyword is not known here. There are: ${allowed.join(', ')}`)
  const options = Object.fromEntries(
    Object.entries(schema).filter(
      ([keyword]) =>
        ANNOTATIONS.includes(keyword) || (exact === undefined && keyword !== 'type' && !IGNORED.includes(keyword))
    )
  )
  return known.convert(schema, options, path)
}

/**
 * Makes a union of one schema per type. Each gets the keywords of its type, and the unknown keywords, which `typeOf`
 * rejects.
 */
function ofSeveral(types: readonly string[], schema: JsonSchema, path: string): TSchema {
  const keywordsOf = (type: string): readonly string[] => TYPES[type]?.keywords ?? []
  const known = types.flatMap(keywordsOf)
  return unionOf(
    types.map((type) => {
      const kept = Object.entries(schema).filter(
        ([keyword]) =>
          !ANNOTATIONS.includes(keyword) && (!known.includes(keyword) || keywordsOf(type).includes(keyword))
      )
      return typeOf({ ...Object.fromEntries(kept), type }, path)
    }),
    Object.fromEntries(Object.entries(schema).filter(([keyword]) => ANNOTATIONS.includes(keyword)))
  )
}

function objectOf({ properties = {}, required = [] }: JsonSchema, options: SchemaOptions, path: string): TSchema {
  if (!isObject(properties)) throw badOption(`${path}.properties`, 'it takes an object of schemas')
  const names = Array.isArray(required) ? (required as unknown[]) : listOf(required, `${path}.required`)
  const missing = names.find((name) => !Object.hasOwn(properties, String(name)))
  if (missing !== undefined)
    throw badOption(`${path}.required`, `it names ${JSON.stringify(missing)}, which properties lacks`)
  const { properties: _, required: __, ...others } = options
  return Type.Object(
    Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => {
        const type = typeOf(schema, `${path}.${name}`)
        return [name, names.includes(name) ? type : Type.Optional(type)]
      })
    ),
    others
  )
}

const unionOfTypes = (schemas: unknown, options: SchemaOptions, path: string): TSchema =>
  unionOf(
    listOf(schemas, path).map((schema, at) => typeOf(schema, `${path}[${at}]`)),
    options
  )

const unionOf = (types: TSchema[], options: SchemaOptions): TSchema =>
  types.length === 1 && types[0] !== undefined ? { ...types[0], ...options } : Type.Union(types, options)

function literalOf(value: unknown, options: SchemaOptions, path: string): TSchema {
  if (value === null) return Type.Null(options)
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return Type.Literal(value, options)
  throw badOption(path, 'it takes texts, numbers, true, false and null')
}

function listOf(values: unknown, path: string): unknown[] {
  if (!Array.isArray(values) || values.length === 0) throw badOption(path, 'it takes a list')
  return values
}
