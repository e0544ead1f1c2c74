import type { ConnectButton, FormModel, PasskeyForm, ProfileField } from './common-model.ts'

/** Pages that lead to a session: sign-in, registration, and the links of messages. */
export interface SignInModels {
  /**
   * `again`: a user is signed in, and the target requires a more recent or stronger sign-in.
   * `passwordLater`: the password may stay empty, because an address may lead to another sign-in page. `tellsPasskeys`:
   * the hidden field `passkeys` is `yes` if the browser can make one, here and on the page `second_factor`. Without it
   * the page `passkey_prompt` never shows.
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
   * For the signed-in user: `current_password` with `asksPassword`, `credential` with `passkey`, a button `decision`
   * with the value `email` with `sendsCode`, and the user's provider accounts. `loginUrl` leads to the sign-in page for
   * any other way.
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
   * A message is on its way, whether the account exists or not; with `unconfirmed` only a press sends it. A button
   * `decision` with the value `resend` sends it again, and `resent` reports it. `hasCode`: the page also has the field
   * `code`, for the code of the message. `otherUrl`: the way to type another name.
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
   * The account that signed up, and the time of the message (milliseconds since the epoch). `canDisown`: a button
   * `decision` with the value `not_me` ends the account's password, for a person who did not sign up. `newAddress`: the
   * future address of `username`; `null` if the account has it already. `done`: the address is confirmed; `continueUrl`
   * is for a person who is signed in. `disowned`: the password has ended.
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
  /** Takes back the first factor of `username`, or a change of the address. `done`: it is taken back. */
  undo: FormModel & { token: string; what: 'factor' | 'email'; username: string; done: boolean }
}
