export interface EmailCodeOptions {
  /** Sign-in by a code that is sent by e-mail. Default: `false`. */
  emailSignIn?: false | EmailSignInOptions | undefined
}

/** Sign-in by a code that is sent by e-mail. */
export interface EmailSignInOptions {
  /** Whether an address that nobody has gets a code too, which makes an account once it was right. Default: `false`. */
  signUp?: boolean | undefined
  /** Whether the message has a link beside the code. Default: `true`. */
  link?: boolean | undefined
  /** Seconds that a code is good for. Default and at most: 600. */
  expiresIn?: number | undefined
}
