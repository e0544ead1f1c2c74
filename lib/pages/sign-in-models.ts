import type { ConnectButton, FormModel, PasskeyForm, ProfileField } from './common-model.ts'

/** Pages that lead to a session: sign-in, registration, and the links of messages. */
export interface SignInModels {
  /**
   * `again`: a user is signed in, and the target requires a more recent or stronger sign-in. `passwordLater`: the
   * password may stay empty, because some email addresses sign in at a provider. `tellsPasskeys`: the form needs the
   * hidden field `passkeys`, with the value `yes` if the browser supports passkeys. The pages `second_factor`,
   * `email_code` and `email_link` have it too. Without this field, the page `passkey_prompt` never shows.
   */
  login: FormModel & {
    again: boolean
    username: string
    otherUrl: string | null
    signupUrl: string | null
    forgotUrl: string | null
    emailCodeUrl: string | null
    connections: ConnectButton[]
    passwordLater: boolean
    passkey: PasskeyForm | null
    tellsPasskeys: boolean
  }
  /**
   * Asks the signed-in user for another proof. Fields: `current_password` with `asksPassword`, and `credential` with
   * `passkey`. With `sendsCode`, a button `decision` with the value `email`. `connections`: the user's accounts at
   * providers. `loginUrl`: the sign-in page, for any other way.
   */
  reauthenticate: FormModel & {
    username: string
    asksPassword: boolean
    passkey: PasskeyForm | null
    sendsCode: boolean
    connections: ConnectButton[]
    loginUrl: string
  }
  signup: FormModel & {
    username: string
    fields: ProfileField[]
    minLength: number
    loginUrl: string
    connections: ConnectButton[]
  }
  forgot_password: FormModel & { username: string; loginUrl: string }
  /**
   * Tells that a message was sent, whether the account exists or not. A button `decision` with the value `resend` sends
   * it again, and `resent` reports that. With `unconfirmed`, only this button sends a message. `hasCode`: the page also
   * has the field `code`, for the code of the message. `otherUrl`: the page to type another name.
   */
  check_email: FormModel & {
    awaits: 'signup' | 'unconfirmed' | 'forgot'
    username: string
    resent: boolean
    hasCode: boolean
    otherUrl: string
    loginUrl: string
  }
  /**
   * The form returns `token` in a hidden field, and has the `username` for password managers. `done`: the new password
   * works.
   */
  reset_password: FormModel & { token: string; username: string; minLength: number; loginUrl: string; done: boolean }
  /**
   * Asks to confirm an address. `sentAt`: the time of the message, in milliseconds since the epoch. `canDisown`: there
   * is a button `decision` with the value `not_me`. The button removes the account's password, for a person who did not
   * sign up, or stops the change to `newAddress`. `newAddress`: the future address of `username`, `null` if the account
   * has it already. `done`: the address is confirmed. `continueUrl`: the next page of a signed-in user, `null` if
   * nobody is signed in. `disowned`: the button `not_me` has worked.
   */
  verify_email: FormModel & {
    token: string
    username: string
    sentAt: number
    canDisown: boolean
    newAddress: string | null
    loginUrl: string
    continueUrl: string | null
    done: boolean
    disowned: boolean
  }
  /**
   * Asks to remove the first factor of `username`, or to revert a change of the address. `done`: the removal or the
   * reversal has happened.
   */
  undo: FormModel & { token: string; what: 'factor' | 'email'; username: string; done: boolean }
}
