import { MAX_CODE_SECONDS } from '../../protocol/bounds.ts'
import type { FormModel, ProfileField } from '../../pages/common-model.ts'
import { flag, type Given, orFalse, seconds, section } from '../../settings/schema-words.ts'

export const EMAIL_SIGN_IN = {
  /** True to send a code also to an address without a user, and to create an account after the code was right. */
  signUp: flag({ default: false }),
  /** True to put a link next to the code in the message. */
  link: flag({ default: true }),
  /** Seconds that a code is good for. */
  expiresIn: seconds(60, MAX_CODE_SECONDS, { default: MAX_CODE_SECONDS, to: 'Ms' })
}

/** Sign-in by a code that is sent by email. */
export interface EmailSignInOptions extends Given<typeof EMAIL_SIGN_IN> {}

export const EMAIL_CODE_OPTIONS = {
  /**
   * Sign-in by a code that is sent to the address of the account, instead of the password. Requires `sendMessage`,
   * `pages`, and a user store with `setPasswordHash` and `setEmailVerified`; if the state outlives the process,
   * `secret` too. It counts less than a password (`acr` is `email`), and a user with a second factor is asked for it.
   * The guide on email codes explains what it proves.
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
   * `ask`: `username`. `enter`: `code`, or a button `decision` with the value `resend` or `other` (another address).
   * `finish`: the `fields` of a new account. `hasLink`: the message also has a link. `tellsPasskeys`: as on `login`, in
   * the forms of `enter` and `finish`.
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
   * The form returns `token` in a hidden field. `username` is `null` in a browser that did not ask for the link. The
   * page has no button then.
   */
  email_link: FormModel & { token: string; username: string | null; tellsPasskeys: boolean; codeUrl: string }
}
