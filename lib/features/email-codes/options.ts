import type { FormModel, ProfileField } from '../../pages/common-model.ts'

export interface EmailCodeOptions {
  /** Sign-in by a code that is sent by e-mail. Default: `false`. */
  emailSignIn?: false | EmailSignInOptions | undefined
}

/** Sign-in by a code that is sent by e-mail. */
export interface EmailSignInOptions {
  /**
   * True to send a code also to an address without a user, and to create an account once the code was right. Default:
   * `false`.
   */
  signUp?: boolean | undefined
  /** True to put a link next to the code in the message. Default: `true`. */
  link?: boolean | undefined
  /** Seconds that a code is good for. Default and at most: 600. */
  expiresIn?: number | undefined
}

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
