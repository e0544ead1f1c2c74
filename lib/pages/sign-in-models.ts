import type { ConnectButton, FormModel, PasskeyForm, ProfileField, ShownEnrolment } from './common-model.ts'

export type StepWay = SignInModels['second_factor']['way']

/** The ways to give a second factor, best first. */
export const STEP_WAYS: readonly StepWay[] = ['passkey', 'code', 'recovery_code']

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
   * After a password or another provider: `way` is the one that this view asks for, in the field `code` or
   * `recovery_code`, or in `credential` with `passkey`, which is `null` otherwise. `otherWays` lead to the other views.
   * `username` is the user to be signed in. `rememberSeconds`: how long a box `remember` lets this browser skip the
   * step. `null`: no box.
   */
  second_factor: FormModel & {
    username: string
    way: 'passkey' | 'code' | 'recovery_code'
    otherWays: Array<{ way: 'passkey' | 'code' | 'recovery_code'; url: string }>
    rememberSeconds: number | null
    loginUrl: string
    passkey: PasskeyForm | null
    tellsPasskeys: boolean
  }
  /**
   * After a sign-in by password: offers to make a passkey, with `credential` and `name`. `skipUrl` continues without.
   * `endsOthers`: the first one ends all other sign-ins.
   */
  passkey_prompt: FormModel & {
    username: string
    passkey: PasskeyForm
    skipUrl: string
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
  /**
   * The link of `app.authority.startEnrolment`. The form returns `token` in a hidden field. `username` is the user of
   * the link.
   */
  second_factor_link: FormModel & { token: string; username: string }
  /**
   * A second factor to set up before the sign-in completes: `code` and `name`, with `enrolment` in a hidden field, or
   * `credential` with `passkey`. Both are `null` if the account's address has to be confirmed first. A button
   * `decision` with the value `resend` then sends the message again, and `sent` reports it. `forAccount`: the account
   * must have a factor; otherwise only the opened page requires it.
   */
  set_up_second_factor: FormModel & {
    username: string
    forAccount: boolean
    enrolment: ShownEnrolment | null
    passkey: PasskeyForm | null
    name: string
    sent: boolean
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
