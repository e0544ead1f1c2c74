import { Kind, type TObject, Type } from '@sinclair/typebox'
import { objectFromJsonSchema } from '../json-schema.ts'
import { filled, flag, type Given, oneOf, option, orFalse, section } from '../schema-words.ts'

const REGISTRATION = {
  /**
   * `"email"`: the username is the email address, is stored as `email` too, and the pages call it so. `"any"`: that, or
   * a name of 3 to 64 characters.
   */
  username: oneOf(['email', 'any'], { default: 'email' }),
  /**
   * Schema of extra profile fields: a `Type.Object(…)` of `@sinclair/typebox`, or an object in plain JSON Schema
   * (TypeBox 1, `z.toJSONSchema(…)` of Zod). Of JSON Schema it knows types, `const`, `enum`, `anyOf`, `oneOf` and the
   * bounds of each type; any other keyword stops the start.
   */
  fields: option<TObject | Readonly<Record<string, unknown>>>(Type.Any({ takes: 'an object' })),
  /**
   * Requires a confirmed email address for sign-in. Registration then answers 202 for taken and free names alike.
   * Requires `sendMessage`.
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
