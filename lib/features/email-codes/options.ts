import { MAX_CODE_SECONDS } from '../../protocol/bounds.ts'
import type { FormModel, ProfileField } from '../../pages/common-model.ts'
import { flag, type Given, orFalse, seconds, section } from '../../settings/schema-words.ts'

export const EMAIL_SIGN_IN = {
  /**
   * True to also send a code to an address without a user, and to create an account if the person enters the code.
   * Requires `create` of the user store. `registration` must not be `false`.
   */
  signUp: flag({ default: false }),
  /** True to put a link next to the code in the message. */
  link: flag({ default: true }),
  /** Seconds until a code expires. */
  expiresIn: seconds(60, MAX_CODE_SECONDS, { default: MAX_CODE_SECONDS, to: 'Ms' })
}

/** Sign-in by a code that is sent by email. */
export interface EmailSignInOptions extends Given<typeof EMAIL_SIGN_IN> {}

export const EMAIL_CODE_OPTIONS = {
  /**
   * Sign-in with an emailed code instead of the password. Requires `sendMessage`, `pages`, and a user store with
   * `setPasswordHash` and `setEmailVerified`. Also requires `secret` if the state outlives the process. A code counts
   * less than a password (`acr` is `email`). A user with two-step sign-in must use the second factor too. See the guide
   * on email codes.
   */
  emailSignIn: orFalse(section<EmailSignInOptions>(EMAIL_SIGN_IN), {
    default: false,
    takes: 'false or { signUp, link, expiresIn }'
  })
}

export interface EmailCodeOptions extends Given<typeof EMAIL_CODE_OPTIONS> {}

/** The models of the pages of sign-in by email. */
export interface EmailCodeModels {
  /**
   * The fields of the form depend on `step`. `ask`: `username`. `enter`: `code`, or a button `decision` with the value
   * `resend` or `other` (another address). `finish`: the `fields` of a new account. `hasLink`: the message also has a
   * link. `tellsPasskeys`: the forms of `enter` and `finish` have the hidden field `passkeys`, as on the page `login`.
   */
  email_code: FormModel & {
    step: 'ask' | 'enter' | 'finish'
    username: string
    fields: ProfileField[]
    hasLink: boolean
    tellsPasskeys: boolean
    loginUrl: string
  }
  /**
   * The form sends `token` in a hidden field. In a browser that did not ask for the link, `username` is `null` and the
   * page has no button.
   */
  email_link: FormModel & { token: string; username: string | null; tellsPasskeys: boolean; codeUrl: string }
}
