import { Type } from '@sinclair/typebox'
import { flag, optional, seconds } from '../schema-words.ts'

/** Sign-in by a code that is sent by e-mail. */
export interface EmailSignInOptions {
  /** Whether an address that nobody has gets a code too, which makes an account once it was right. Default: `false`. */
  signUp?: boolean | undefined
  /** Whether the message has a link beside the code. Default: `true`. */
  link?: boolean | undefined
  /** Seconds that a code is good for. Default and at most: 600. */
  expiresIn?: number | undefined
}

export interface EmailSignInSettings {
  signUp: boolean
  link: boolean
  expiresInMs: number
}

/** @see NIST SP 800-63B-4 §3.1.3.2, OWASP ASVS 5.0 6.5.5 */
const MAX_SECONDS = 600

export const EMAIL_SIGN_IN_DEFAULTS = { signUp: false, link: true, expiresIn: MAX_SECONDS } as const

export const EMAIL_SIGN_IN_SCHEMA = optional(
  Type.Union(
    [
      Type.Literal(false),
      Type.Object(
        {
          signUp: optional(
            flag({
              default: EMAIL_SIGN_IN_DEFAULTS.signUp,
              takes: 'true or false',
              description:
                'Whether an address that nobody has gets a code too. The account is made once the code was ' +
                'right, and not before.'
            })
          ),
          link: optional(
            flag({
              default: EMAIL_SIGN_IN_DEFAULTS.link,
              takes: 'true or false',
              description: 'Whether the message has a link beside the code.'
            })
          ),
          expiresIn: optional(
            seconds(60, MAX_SECONDS, {
              default: EMAIL_SIGN_IN_DEFAULTS.expiresIn,
              description: 'Seconds that a code is good for.'
            })
          )
        },
        { additionalProperties: false }
      )
    ],
    {
      default: false,
      takes: 'false or { signUp, link, expiresIn }',
      description:
        'Sign-in by a code that is sent to the address of the account, in place of the password. ' +
        'Takes `sendMessage`, `pages`, and a user store with `setPasswordHash` and ' +
        '`setEmailVerified`; where the state outlives the process, `secret` too. It is worth less ' +
        'than a password (`acr` is `email`), and whoever has a second factor is asked for it. The ' +
        'guide on e-mail codes says what it proves.'
    }
  )
)

/** `null`: there is no sign-in by e-mail. */
export function resolveEmailSignIn(given: EmailSignInOptions | false = false): EmailSignInSettings | null {
  if (given === false) return null
  const {
    signUp = EMAIL_SIGN_IN_DEFAULTS.signUp,
    link = EMAIL_SIGN_IN_DEFAULTS.link,
    expiresIn = EMAIL_SIGN_IN_DEFAULTS.expiresIn
  } = given
  return { signUp, link, expiresInMs: expiresIn * 1000 }
}
