import type { CommonModel, FormModel, ProfileField, ShownScope } from './common-model.ts'

/** The last result of a form on an account page. `nothing`: no change, because the page was for another session. */
export type AccountNote =
  | 'profile'
  | 'email_sent'
  | 'email_changed'
  | 'email_resent'
  | 'email_waiting'
  | 'password'
  | 'session'
  | 'others'
  | 'access'
  | 'api_key_removed'
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
 * Fields of every account page. `username` is the signed-in user; `accountUrl` leads to the page `account`. A link is
 * `null` if the action is not available.
 */
export interface AccountModel extends FormModel {
  username: string
  accountUrl: string
  accountLinks: Record<
    'profile' | 'email' | 'password' | 'security' | 'connections' | 'sessions' | 'access' | 'apiKeys' | 'remove',
    string | null
  >
  logoutUrl: string
  done: AccountNote | null
}

/** One sign-in of the user. */
export interface AccountSession {
  /** The value of the submit button `session` that ends this session. */
  id: string
  /** True for the session of this browser. */
  current: boolean
  /** The client that holds its tokens. `null` for a browser, and for tokens without a client. */
  clientName: string | null
  /** The `User-Agent` that the browser or app sent at sign-in. */
  userAgent: string | null
  /** Milliseconds since the epoch. */
  createdAt: number
  lastUsedAt: number
}

/** A consent of the user to a third-party client. */
export interface AccountAccess {
  /** The value of the submit button `client` that revokes this consent. */
  clientId: string
  name: string
  scopes: ShownScope[]
  /** Milliseconds since the epoch. */
  grantedAt: number
}

/** The models of the account pages. */
export interface AccountModels {
  /** The overview, with links to the other pages. */
  account: CommonModel & {
    username: string
    /** `null` without an address, or if the address is the username. */
    email: string | null
    /** `null` without an address. */
    emailVerified: boolean | null
    /** The state of each row. `null`: the feature is off, or the state is not known or could not be read. */
    states: {
      /** The number of passkeys. */
      passkeys: number | null
      /** True if a sign-in takes a second step. */
      twoStep: boolean | null
      /** Milliseconds since the epoch. `null` also for a user without a password. */
      passwordChangedAt: number | null
      /** The names of the providers. */
      connections: string[] | null
      /** The number of sessions. */
      sessions: number | null
      /** The number of clients with a consent. */
      access: number | null
      /** The number of API keys. */
      apiKeys: number | null
    }
    links: AccountModel['accountLinks']
    /** The address of the overview. */
    accountUrl: string
    logoutUrl: string
    /** The page the person came from, or the host's home page. */
    backUrl: string
  }
  /** The fields of `registration.fields` that users may change. */
  account_profile: AccountModel & { fields: ProfileField[] }
  /**
   * Fields: `email` for the new address, and `current_password` with `askPassword`; or a button `decision` with the
   * value `resend`. `signInUrl`: set if a user without a password, or with a second factor, must sign in again first.
   * `awaited`: the new address, until the user has typed the code that was sent to it. The page then has the field
   * `code`, and a button `decision` with the value `other`, which starts over.
   */
  account_email: AccountModel & {
    currentEmail: string | null
    emailVerified: boolean
    email: string
    awaited: string | null
    canChange: boolean
    canResend: boolean
    askPassword: boolean
    signInUrl: string | null
  }
  /**
   * Fields: `current_password` and `password`, the new one. With `hasPassword` false, a button `decision` with the
   * value `first` sends a link that sets a password.
   */
  account_password: AccountModel & { minLength: number; hasPassword: boolean }
  /**
   * Buttons `session` with the id of a sign-in, and `decision` with the values `end_others` (all except this browser)
   * and `end_all`.
   */
  account_sessions: AccountModel & { sessions: AccountSession[]; hasMore: boolean }
  /** Buttons `client` with the id of a client. */
  account_access: AccountModel & { clients: AccountAccess[]; hasMore: boolean }
  /**
   * Field: `current_password` with `askPassword`. `signInUrl`: set if a user without a password, or with a second
   * factor, must sign in again first.
   */
  account_remove: AccountModel & { askPassword: boolean; signInUrl: string | null }
  account_removed: CommonModel & { homeUrl: string }
}

/** The states of the rows of the overview. */
export type AccountStates = AccountModels['account']['states']
