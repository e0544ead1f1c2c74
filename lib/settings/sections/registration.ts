import { Kind, type TObject, Type } from '@sinclair/typebox'
import { objectFromJsonSchema } from '../json-schema.ts'
import { flag, oneOf, optional } from '../schema-words.ts'

export interface RegistrationOptions {
  /** `email`: the username is the email address. `any`: that, or a name of 3 to 64 characters. */
  username?: 'email' | 'any' | undefined
  /** Schema of extra profile fields: a `Type.Object` of TypeBox, or plain JSON Schema of an object. */
  fields?: TObject | Readonly<Record<string, unknown>> | undefined
  /** Requires a confirmed email address for sign-in. */
  verifyEmail?: boolean | undefined
}

export interface RegistrationSettings {
  username: 'email' | 'any'
  fields: TObject | null
  verifyEmail: boolean
}

export const REGISTRATION_DEFAULTS = { username: 'email', verifyEmail: false } as const

export const REGISTRATION_SCHEMA = optional(
  Type.Union(
    [
      Type.Literal(false),
      Type.Object(
        {
          username: optional(
            oneOf(['email', 'any'], {
              default: REGISTRATION_DEFAULTS.username,
              description:
                '`email`: the username is the e-mail address, is stored as `email` too, and the pages call ' +
                'it so. `any`: that, or a name of 3 to 64 characters.'
            })
          ),
          fields: optional(
            Type.Any({
              takes: 'an object',
              description:
                'Extra profile fields: a `Type.Object(…)` of @sinclair/typebox, or an object in plain JSON ' +
                'Schema (TypeBox 1, `z.toJSONSchema(…)` of Zod). Of JSON Schema it knows types, `const`, `enum`, ' +
                '`anyOf`, `oneOf` and the bounds of each type; any other keyword stops the start.'
            })
          ),
          verifyEmail: optional(
            flag({
              takes: 'true or false',
              description:
                'Whether an account must confirm its e-mail address before it can sign in. Registration ' +
                'then answers 202 whoever asks. Needs `sendMessage`.'
            })
          )
        },
        { additionalProperties: false }
      )
    ],
    {
      default: 'on when `users.create` exists',
      takes: 'false or { username, fields, verifyEmail }',
      description:
        '`username`: what a username may be; `fields`: object schema of extra profile ' +
        'fields; `verifyEmail`: whether an account must confirm its e-mail before it can sign in.'
    }
  )
)

export function resolveRegistration(given: RegistrationOptions = {}): RegistrationSettings {
  const { username = REGISTRATION_DEFAULTS.username, fields, verifyEmail = REGISTRATION_DEFAULTS.verifyEmail } = given
  return { username, fields: fields === undefined ? null : schemaOf(fields), verifyEmail }
}

const schemaOf = (fields: Exclude<RegistrationOptions['fields'], undefined>): TObject =>
  (fields as Partial<TObject> | null)?.[Kind] === 'Object'
    ? (fields as TObject)
    : objectFromJsonSchema(fields, 'registration.fields')
