import type { MessageKey, Messages } from './texts.ts'

/** Every hosted page. `form_post` is the one that carries an answer back to a client by a form. */
export type PageName = keyof PageModels

/** What went wrong, on the page where it did. `text` is in the page's language. */
export interface PageError {
  /** The wire code of the same error elsewhere, such as `invalid_grant`. */
  error: string
  text: string
  /** The field it is about; `null`: the whole form. */
  field: string | null
}

/** What every page knows. */
export interface CommonModel {
  /** The name of the service: the option `pages.title`. */
  title: string
  logoUrl: string | null
  /** The logo where the page is dark; `null`: the same. */
  logoUrlDark: string | null
  faviconUrl: string | null
  colorScheme: 'light' | 'dark' | 'auto'
  /** The host's own stylesheet, after `styleUrl`. */
  stylesheetUrl: string | null
  /** For the footer. */
  footer: { terms: string | null; privacy: string | null; support: string | null }
  /** The same page in each language, for the footer; empty where it can't be opened again. `name`: in that language. */
  languages: Array<{ lang: string; name: string; url: string }>
  /** What the log calls the request. */
  requestId: string
  /** BCP 47, for `<html lang>`. */
  lang: string
  /** Which way it is written, for `<html dir>`. */
  dir: 'ltr' | 'rtl'
  messages: Messages
  styleUrl: string
  scriptUrl: string
  /** The client that the person came from, where there is one. */
  clientName: string | null
}

/** A field of the sign-up page that the host added by `registration.fields`. */
export interface ProfileField {
  name: string
  label: string
  type: 'text' | 'email' | 'number' | 'date' | 'url' | 'checkbox'
  required: boolean
  value: string
}

/** A form posts to `action`, which holds whatever has to be carried on. No value of a password is ever in a model. */
/** What every page with a form has. */
export interface FormModel extends CommonModel {
  action: string
  error: PageError | null
}

/**
 * What the form of an account page has just done. `nothing`: somebody signed in anew in this browser since the page was
 * opened.
 */
export type AccountNote =
  | 'profile'
  | 'email_sent'
  | 'email_resent'
  | 'email_waiting'
  | 'password'
  | 'session'
  | 'others'
  | 'access'
  | 'factor_added'
  | 'factor_removed'
  | 'factor_renamed'
  | 'passkey_added'
  | 'passkey_removed'
  | 'devices_forgotten'
  | 'unlinked'
  | 'password_link'
  | 'nothing'

/**
 * What the pages of a person's own account have. `username` is who is signed in; `accountUrl` leads to the page
 * `account`.
 */
export interface AccountModel extends FormModel {
  username: string
  accountUrl: string
  done: AccountNote | null
}

/** A sign-in of the person. */
export interface AccountSession {
  /** Goes back as `session`, by a submit button. */
  id: string
  /** The one that this browser has. */
  current: boolean
  /** The client that has its tokens; `null` for a browser, and for tokens of no client. */
  clientName: string | null
  /** As the browser or the app called itself when it signed in. */
  userAgent: string | null
  /** Milliseconds since the epoch. */
  createdAt: number
  lastUsedAt: number
}

/** A scope, for people. */
export interface ShownScope {
  name: string
  /** A message key where the scope is a standard one. */
  description: MessageKey | null
  /** What the option `scopes` says of it, and in which language; before `description`. */
  own: { text: string; lang: string } | null
}

/** What the person allowed a client of somebody else's. */
export interface AccountAccess {
  /** Goes back as `client`, by a submit button. */
  clientId: string
  name: string
  scopes: ShownScope[]
  /** Milliseconds since the epoch. */
  grantedAt: number
}

/** An account at another provider that the person signs in with. */
export interface AccountLink {
  id: string
  /** Of the connection. */
  name: string
  /** What the provider verified and said last. */
  email: string | null
  /** Milliseconds since the epoch, both. */
  linkedAt: number
  lastUsedAt: number
}

/**
 * A link to sign in with another provider. `brand`: a mark that the pages have. `label` in place of "Continue with" and
 * the name.
 */
export interface ConnectButton {
  id: string
  name: string
  label: string | null
  brand: string | null
  logoUrl: string | null
  url: string
}

/** An authenticator app of the person. */
export interface AccountFactor {
  /** Goes back in a hidden field `factor`. */
  id: string
  name: string | null
  /** Milliseconds since the epoch. */
  createdAt: number
  lastUsedAt: number | null
  /** After too many wrong codes. */
  disabled: boolean
}

/** What the pages tell the browser of passkeys, by the script at `scriptUrl`. */
export interface PasskeySignals {
  scriptUrl: string
  /** Methods of `PublicKeyCredential`, and what each is called with where the browser has it. Empty: none. */
  signals: Record<string, object>
}

/**
 * A form with the field `credential`. It is `hidden` until the script shows it, which asks the browser for a passkey.
 */
export interface PasskeyForm extends PasskeySignals {
  /** Of `navigator.credentials.get`, and on pages that make a passkey of `create`. What is binary is base64url. */
  options: object
  /** JSON with other `options` before these are too old; `null`: there are none. */
  renewUrl: string | null
}

/** A passkey of the person. */
export interface AccountPasskey extends Omit<AccountFactor, 'disabled'> {
  /** Whether it is on more than one device, or in a backup. */
  synced: boolean
}

/**
 * An authenticator app that is about to be added. `token` goes back in a hidden field `enrolment`. `qr`: the `d` of a
 * path in a square of `size`.
 */
export interface ShownEnrolment {
  token: string
  secret: string
  uri: string
  qr: { size: number; path: string }
}

export interface PageModels {
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
    endsOthers: boolean
    hasPassword: boolean
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
  /** Two submit buttons, named `decision` with the values `allow` and `deny`. */
  consent: FormModel & {
    /** `continue`: an app of the host's own asks for no more than that the person goes on; then `scopes` is empty. */
    asks: 'consent' | 'continue'
    username: string
    client: { name: string; id: string; redirectHost: string }
    scopes: ShownScope[]
    /** How long the access lasts, in seconds. */
    lifetimeSeconds: number
    /** As the client is registered. Its logo may come from where it says, and from nowhere else. */
    clientLogoUri: string | null
    clientUri: string | null
  }
  /** A person's own account, and the ways to its other pages; `null`: what can't be done here. */
  account: CommonModel & {
    username: string
    /** `null`: none, or it is the username. */
    email: string | null
    /** `null`: there is no address. */
    emailVerified: boolean | null
    links: Record<
      'profile' | 'email' | 'password' | 'security' | 'connections' | 'sessions' | 'access' | 'remove',
      string | null
    >
    logoutUrl: string
    /** Where the person came from, or the host's home page. */
    backUrl: string
  }
  /** The fields of `registration.fields` that people may change by themselves. */
  account_profile: AccountModel & { fields: ProfileField[] }
  /**
   * `email`: the new address, and `current_password` where `askPassword`; or a button named `decision` with the value
   * `resend`. `signInUrl`: the person has no password and signs in again before the address can be changed.
   */
  account_email: AccountModel & {
    currentEmail: string | null
    emailVerified: boolean
    email: string
    canChange: boolean
    canResend: boolean
    askPassword: boolean
    signInUrl: string | null
  }
  /**
   * `current_password` and `password`, the new one. `hasPassword` false: a button named `decision` with the value
   * `first` sends a link that sets one.
   */
  account_password: AccountModel & { minLength: number; hasPassword: boolean }
  /**
   * A form for each factor, with `factor`, `name`, and buttons named `decision` with the values `rename` and `remove`;
   * one with the `decision` `codes`. `signInUrl`: the person signs in again before anything can be changed. `enrolUrl`
   * leads to the page `account_totp`. `recoveryCodesLeft` is `null` where there is no factor. `hasPassword`: whether a
   * password alone is enough once the last is removed. `mustKeepOne`: the last one can't be removed. `factors` are the
   * apps; `addPasskeyUrl` leads to the page `account_passkey`, and is `null` where passkeys are off. `canForget`:
   * browsers may be remembered; a button with the `decision` `forget` ends that for all.
   */
  account_security: AccountModel & {
    factors: AccountFactor[]
    hasPassword: boolean
    mustKeepOne: boolean
    recoveryCodesLeft: number | null
    enrolUrl: string
    canForget: boolean
    signInUrl: string | null
    passkeys: AccountPasskey[]
    addPasskeyUrl: string | null
    passkeySignals: PasskeySignals | null
  }
  /**
   * `credential` and `name`. `passkey` is `null` where the person signs in again before, or confirms the address of the
   * account, by `confirmUrl`.
   */
  account_passkey: AccountModel & {
    passkey: PasskeyForm | null
    name: string
    signInUrl: string | null
    confirmUrl: string | null
    endsOthers: boolean
    hasPassword: boolean
  }
  /**
   * `code` and `name`, and `enrolment` in a hidden field. `enrolment` is `null` where the person signs in again before,
   * or confirms the address of the account, by `confirmUrl`.
   */
  account_totp: AccountModel & {
    enrolment: ShownEnrolment | null
    name: string
    signInUrl: string | null
    confirmUrl: string | null
    endsOthers: boolean
  }
  /**
   * Shown once: they are in no other answer. `signedIn` is `false` where a sign-in that had to set a factor up failed
   * after that.
   */
  account_recovery_codes: CommonModel & { username: string; signedIn: boolean; codes: string[]; backUrl: string }
  /**
   * Submit buttons named `session` with the id of a sign-in, and named `decision` with the values `end_others` (all but
   * this browser's own) and `end_all`.
   */
  account_sessions: AccountModel & { sessions: AccountSession[] }
  /** Submit buttons named `client` with the id of a client. */
  account_access: AccountModel & { clients: AccountAccess[] }
  /**
   * Submit buttons named `link` with the id of a link, and `current_password` where `askPassword`. `signInUrl`: the
   * person has no password and signs in again before. `ways`: a form without fields, posted to each `url`, begins to
   * connect another account.
   */
  account_connections: AccountModel & {
    links: AccountLink[]
    ways: ConnectButton[]
    askPassword: boolean
    signInUrl: string | null
  }
  /** `current_password` where `askPassword`. `signInUrl`: the person has no password and signs in again before. */
  account_remove: AccountModel & { askPassword: boolean; signInUrl: string | null }
  account_removed: CommonModel & { homeUrl: string }
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
  connect_link: FormModel & { name: string; username: string; skipUrl: string }
  /**
   * `fields`: what a new account must have and the provider did not say. `email`: the address that it is for; `null`:
   * none.
   */
  connect_finish: FormModel & { name: string; email: string | null; fields: ProfileField[]; loginUrl: string }
  /** Asks whether to sign out. A submit button named `decision` with the value `sign_out`. */
  logout: FormModel & { username: string | null }
  /** `ended`: whether anybody was signed in until now. */
  signed_out: CommonModel & { ended: boolean; homeUrl: string; loginUrl: string | null }
  /** `newLink`: the link of a message is no good any more; where the person gets another. */
  error: CommonModel & { error: PageError; homeUrl: string; newLink: { url: string; by: 'request' | 'sign_in' } | null }
  /** A form that leaves at once where scripts run, and by its button where they don't. */
  form_post: CommonModel & { action: string; params: Record<string, string> }
}

/** The option `pages.render`. In it, `page` tells which `model` it is: `if (page === 'login') model.forgotUrl`. */
export type RenderPage = (
  ...args: { [Name in PageName]: [page: Name, model: PageModels[Name]] }[PageName]
) => string | undefined | Promise<string | undefined>
