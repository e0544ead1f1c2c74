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
