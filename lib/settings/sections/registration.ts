import { type TObject, Type } from '@sinclair/typebox'
import { flag, oneOf, optional } from '../schema-words.ts'

export interface RegistrationOptions {
  /** `email`: the username is the e-mail address. `any`: that, or a name of 3 to 64 characters. */
  username?: 'email' | 'any' | undefined
  /** TypeBox schema of extra profile fields. */
  fields?: TObject | undefined
  /** Whether an account must confirm its e-mail before it can sign in. */
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
              description: 'Extra profile fields, as a `Type.Object(…)` of @sinclair/typebox.'
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
        '`username`: what a username may be; `fields`: TypeBox object schema of extra profile ' +
        'fields; `verifyEmail`: whether an account must confirm its e-mail before it can sign in.'
    }
  )
)

export function resolveRegistration(given: RegistrationOptions = {}): RegistrationSettings {
  const {
    username = REGISTRATION_DEFAULTS.username,
    fields = null,
    verifyEmail = REGISTRATION_DEFAULTS.verifyEmail
  } = given
  return { username, fields, verifyEmail }
}
