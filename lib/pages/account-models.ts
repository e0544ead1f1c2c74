import type {
  CommonModel,
  ConnectButton,
  FormModel,
  PasskeyForm,
  PasskeySignals,
  ProfileField,
  ShownEnrolment,
  ShownScope
} from './common-model.ts'

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
  | 'two_step_off'
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

/** A passkey of the person. */
export interface AccountPasskey extends Omit<AccountFactor, 'disabled'> {
  /** Whether it is on more than one device, or in a backup. */
  synced: boolean
}

/** The pages of a person's own account. */
export interface AccountModels {
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
   * leads to the page `account_totp`. `twoStep`: whether sign-ins take a second step, and what the `decision`
   * `two_step_on` or `two_step_off` of a button may change. `recoveryCodesLeft` is `null` where `twoStep.on` is not.
   * `hasPassword`: whether a password alone is enough once the last is removed. `mustKeepOne`: the last one can't be
   * removed. `factors` are the apps; `addPasskeyUrl` leads to the page `account_passkey`, and is `null` where passkeys
   * are off. `canForget`: browsers may be remembered; a button with the `decision` `forget` ends that for all.
   */
  account_security: AccountModel & {
    factors: AccountFactor[]
    hasPassword: boolean
    mustKeepOne: boolean
    twoStep: { on: boolean; offers: 'on' | 'off' | null }
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
  account_sessions: AccountModel & { sessions: AccountSession[]; hasMore: boolean }
  /** Submit buttons named `client` with the id of a client. */
  account_access: AccountModel & { clients: AccountAccess[]; hasMore: boolean }
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
}
