import type {
  CommonModel,
  ConnectButton,
  FormModel,
  PageError,
  PasskeyForm,
  ProfileField,
  ShownEnrolment
} from './common-model.ts'

/** The pages that lead to a session: of sign-in, registration and the links of messages. */
export interface SignInModels {
  /**
   * `again`: somebody is signed in, and what they are on their way to wants a sign-in that is more recent or worth
   * more. `resendToken`: after a right password for an address that is not confirmed; goes back in a hidden field
   * `token`, with the `decision` `resend`. `passwordLater`: an address is enough to be led to where its people sign in,
   * so the field for the password may stay empty. `tellsPasskeys`: a hidden field `passkeys` is `yes` where the browser
   * can make one, here and on the page `second_factor`; without it the page `passkey_prompt` is never shown.
   */
  login: FormModel & {
    again: boolean
    username: string
    resendToken: string | null
    signupUrl: string | null
    forgotUrl: string | null
    emailCodeUrl: string | null
    connections: ConnectButton[]
    passwordLater: boolean
    passkey: PasskeyForm | null
    tellsPasskeys: boolean
  }
  /**
   * After a right password or a sign-in elsewhere: `code` where `asksCode`, or `recovery_code`, or `credential` where
   * there is `passkey`. Nobody is signed in yet, or without it; `username` is who would be. `rememberSeconds`: for how
   * long a box named `remember` has this browser asked no more; `null`: no box.
   */
  second_factor: FormModel & {
    username: string
    asksCode: boolean
    rememberSeconds: number | null
    loginUrl: string
    passkey: PasskeyForm | null
    tellsPasskeys: boolean
  }
  /**
   * After a sign-in by password: a passkey can be made, with `credential` and `name`. `skipUrl` leads on without.
   * `endsOthers`: all other sign-ins end with the first one.
   */
  passkey_prompt: FormModel & {
    username: string
    passkey: PasskeyForm
    skipUrl: string
  }
  /**
   * Of who is signed in: `current_password` where `asksPassword`, `credential` where there is `passkey`, a button named
   * `decision` with the value `email` where `sendsCode`; and the accounts elsewhere that lead to them. `loginUrl` leads
   * to the sign-in page, for any other way.
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
   * `ask`: `username`. `enter`: `code`, or a button named `decision` with the value `resend` or `other` (another
   * address). `finish`: the `fields` that a new account must have. `hasLink`: the message has a link too.
   * `tellsPasskeys`: as on `login`, in the forms of `enter` and `finish`.
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
   * `token` goes back in a hidden field. `username` is `null` in a browser that did not ask for the link: there is
   * nothing to press there.
   */
  email_link: FormModel & { token: string; username: string | null; tellsPasskeys: boolean; codeUrl: string }
  /** The link of `app.authority.startEnrolment`: `token` goes back in a hidden field. `username` is who it is for. */
  second_factor_link: FormModel & { token: string; username: string }
  /**
   * Where a second factor has to be set up before somebody is signed in: `code` and `name`, and `enrolment` in a hidden
   * field, or `credential` where there is `passkey`. Both are `null` where the address of the account has to be
   * confirmed first; a button named `decision` with the value `resend` sends the message again, and `sent` says that it
   * was. `forAccount`: the account must have one; else what the person wants to open asks for it.
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
  /** `sent`: a message is on its way, whoever asked. */
  signup: FormModel & {
    username: string
    fields: ProfileField[]
    minLength: number
    loginUrl: string
    sent: boolean
    connections: ConnectButton[]
  }
  forgot_password: FormModel & { username: string; loginUrl: string; sent: boolean }
  /** `token` goes back in a hidden field. `done`: the new password works. */
  reset_password: FormModel & { token: string; minLength: number; loginUrl: string; done: boolean }
  /**
   * Who signed up, and when the message was sent (milliseconds since the epoch). `canDisown`: a button named `decision`
   * with the value `not_me` ends the account's password, for a person who did not sign up. `newAddress`: the one that
   * the account of `username` is to have; `null` where it has the address already. `done`: the address is confirmed;
   * `disowned`: the password has ended.
   */
  verify_email: FormModel & {
    token: string
    username: string
    sentAt: number
    canDisown: boolean
    newAddress: string | null
    loginUrl: string
    done: boolean
    disowned: boolean
  }
  /** Takes the first factor or a change of the address of `username` back. `done`: it is taken back. */
  undo: FormModel & { token: string; what: 'factor' | 'email'; username: string; done: boolean }
  /** Goes on to `url`, that of another provider, by the header `Refresh`, and by a link for who sees it. */
  connect_leaving: CommonModel & { name: string; url: string }
  /** A sign-in at another provider came to nothing. `loginUrl` leads to the start. */
  connect_failed: CommonModel & { error: PageError; loginUrl: string }
  /**
   * An account has the address that the provider `name` said: its owner signs in at `signInUrl`, or sets a new password
   * at `forgotUrl`.
   */
  connect_confirm: CommonModel & { name: string; email: string; signInUrl: string; forgotUrl: string | null }
  /** They have. A submit button links the two; `skipUrl` leads on without. */
  /** `identity`: the name and the address that the person has at the provider. */
  connect_link: FormModel & { name: string; username: string; identity: string; skipUrl: string }
  /**
   * `fields`: what a new account must have and the provider did not say. `email`: the address that it is for; `null`:
   * none.
   */
  connect_finish: FormModel & { name: string; email: string | null; fields: ProfileField[]; loginUrl: string }
}
