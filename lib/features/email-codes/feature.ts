import { Type } from '@sinclair/typebox'
import type { Feature } from '../../feature.ts'
import { EMAIL_ACR } from '../../protocol/authentication.ts'
import { invalid } from '../../settings/option-error.ts'
import type { AuthorityOptions } from '../../settings/options.ts'
import { flag, optional, SECRET_TAKES, seconds } from '../../settings/schema-words.ts'
import type { EmailSignInSettings } from './deps.ts'
import type { EmailSignInOptions } from './options.ts'

/** @see NIST SP 800-63B-4 §3.1.3.2, OWASP ASVS 5.0 6.5.5 */
const MAX_SECONDS = 600

const DEFAULTS = { signUp: false, link: true, expiresIn: MAX_SECONDS } as const

const SCHEMA = optional(
  Type.Union(
    [
      Type.Literal(false),
      Type.Object(
        {
          signUp: optional(
            flag({
              default: DEFAULTS.signUp,
              takes: 'true or false',
              description:
                'Whether an address that nobody has gets a code too. The account is made once the code was ' +
                'right, and not before.'
            })
          ),
          link: optional(
            flag({
              default: DEFAULTS.link,
              takes: 'true or false',
              description: 'Whether the message has a link beside the code.'
            })
          ),
          expiresIn: optional(
            seconds(60, MAX_SECONDS, {
              default: DEFAULTS.expiresIn,
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
        'Sign-in by a code that is sent to the address of the account, instead of the password. ' +
        'Takes `sendMessage`, `pages`, and a user store with `setPasswordHash` and ' +
        '`setEmailVerified`; where the state outlives the process, `secret` too. It is worth less ' +
        'than a password (`acr` is `email`), and a user with a second factor is asked for it. The ' +
        'guide on e-mail codes says what it proves.'
    }
  )
)

/** Sign-in by a code that goes to the address of the account. */
export const emailCodes: Feature<EmailSignInSettings> = {
  name: 'emailCodes',
  options: { emailSignIn: SCHEMA },
  acr: [EMAIL_ACR],
  resolve(given) {
    const { emailSignIn = false } = given
    if (emailSignIn === false) return null
    check(emailSignIn, given)
    const { signUp = DEFAULTS.signUp, link = DEFAULTS.link, expiresIn = DEFAULTS.expiresIn } = emailSignIn
    return { signUp, link, expiresInMs: expiresIn * 1000 }
  },
  load: async () => await import('./create.ts')
}

function check(
  emailSignIn: EmailSignInOptions,
  { sendMessage, pages, users, registration, state, redis, secret }: AuthorityOptions
): void {
  const refuse = (takes: string): never => {
    throw invalid('emailSignIn', emailSignIn, `false, or an object only where ${takes}`)
  }
  if (sendMessage === undefined) refuse('sendMessage is set')
  if (pages === false) refuse('there are hosted pages to enter a code on')
  // Without these methods an account that a stranger made with the address could not be taken from them.
  for (const method of ['setPasswordHash', 'setEmailVerified'] as const)
    if (users[method] === undefined) refuse(`the UserStore has ${method}`)
  if (emailSignIn.signUp === true && (registration === false || users.create === undefined))
    throw invalid(
      'emailSignIn.signUp',
      true,
      'true only where people can register: the UserStore has create, and registration is not false'
    )
  if (state !== undefined && typeof state.oneTimeTokens.redeemCode !== 'function')
    refuse('the oneTimeTokens of the state have redeemCode')
  if (secret === undefined && (redis !== undefined || (state !== undefined && state.kind !== 'memory')))
    throw invalid(
      'secret',
      secret,
      `${SECRET_TAKES}, where emailSignIn is set and the state outlives the process: codes are digested with it`
    )
}
