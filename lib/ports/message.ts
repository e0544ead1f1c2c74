/** The user as a message shows it: without the password hash. */
export interface MessageUser {
  id: string
  username: string
  email?: string
  emailVerified?: boolean
  disabled?: boolean
  [claim: string]: unknown
}

/** The fields of every message. */
export interface MessageCommon {
  /**
   * Send the message to `user.email` only. This is the stored address, never an address from a request, with these
   * exceptions: for `email_change` it is the new address, for `email_changed` and `account_removed` the former one, and
   * for `sign_in_code` without a user the address that the person typed.
   */
  user: MessageUser
  /**
   * The language of the message, as a BCP 47 tag: one of the hosted pages' languages. A requested message has the
   * language of the page or request, else the language in the user's claim `locale`. A notice uses the claim first,
   * because a stranger may have caused it. The fallback is English.
   */
  locale: string
  /** True if the account has a password. If false, the message does not advise a new password. Default true. */
  hasPassword?: boolean | undefined
  /** True if the user can reset the password by email. If false, the message does not advise a reset. Default true. */
  canReset?: boolean | undefined
  /** The time of the event that the message reports. */
  at?: Date | undefined
  /**
   * The IP address of the request that caused the message. `null`: not known, or that of another person or a server.
   */
  ip?: string | null | undefined
  /**
   * The browser's `User-Agent`, which may be any text: show only names that you recognize, never the text itself.
   * `null`: not known, or that of another person or a server.
   */
  userAgent?: string | null | undefined
  /**
   * The account page or the security page, for users who did not cause the event themselves. Contains no token. Absent
   * if there is no such page (`pages`).
   */
  accountUrl?: string | undefined
}

/** Kinds of message that always have a link. */
export type LinkKind = 'password_reset' | 'verify_email' | 'already_registered' | 'email_change' | 'invitation'
/** Kinds that report an event. Only `email_changed` and `factor_added` may have a link, which undoes the change. */
export type NoticeKind =
  | 'password_changed'
  | 'email_change_requested'
  | 'email_changed'
  | 'email_change_refused'
  | 'account_removed'
  | 'impersonated'
  | 'identity_linked'
  | 'identity_unlinked'
  | 'second_factor_failed'
  | 'factor_added'
  | 'factor_disabled'
  | 'factor_removed'
  | 'recovery_code_used'
  | 'passkey_counter_regressed'
export type MessageKind = LinkKind | NoticeKind | 'new_sign_in' | 'sign_in_code'

/** A message with a link. */
export interface LinkMessage<Kind extends LinkKind = LinkKind> extends MessageCommon {
  kind: Kind
  /** The address of the link. It contains the token. */
  url: string
  token: string
  /** When the link stops working. */
  expiresAt: Date
}

/**
 * A message that confirms an email address. If a hosted page waits for the confirmation, the message also has a code.
 * The code works only in that browser and for that account.
 */
export interface ConfirmationMessage<Kind extends 'verify_email' | 'email_change'> extends LinkMessage<Kind> {
  /** Eight digits, as people read them: `1234 5678`. */
  code?: string | undefined
  /** When the code stops working, which is before the link does. */
  codeExpiresAt?: Date | undefined
}

/** A notice without a link to act on. */
export interface NoticeMessage<Kind extends NoticeKind = NoticeKind> extends MessageCommon {
  kind: Kind
  // Always absent, so that code can read these fields before it checks `kind`.
  url?: undefined
  token?: undefined
  expiresAt?: undefined
}

/** The account has a new password. */
export interface PasswordChangedMessage extends NoticeMessage<'password_changed'> {
  /** True if the user has API keys, which a new password does not end. Default false. */
  hasApiKeys?: boolean | undefined
}

/** An account at another provider was linked. */
export interface IdentityLinkedMessage extends NoticeMessage<'identity_linked'> {
  /**
   * True if that provider alone decides who can sign in to the account (`enforce`): password, passkeys and other links
   * have ended.
   */
  tookOver: boolean
}

/**
 * A message about a change. Its link takes the change back, for a user who did not make it. The fields of the link are
 * absent if the change can't be taken back.
 */
export interface UndoableMessage<Kind extends NoticeKind> extends MessageCommon {
  kind: Kind
  url?: string | undefined
  token?: string | undefined
  /** When the link stops working. */
  expiresAt?: Date | undefined
}

/**
 * A factor was added. `two_step`: two-step sign-in was turned on. The first factor of an account can be removed by the
 * link.
 */
export interface FactorAddedMessage extends UndoableMessage<'factor_added'> {
  factor: 'totp' | 'passkey' | 'recovery_codes' | 'two_step'
}

/**
 * `factor`: `null` if the host removed all at once; `two_step` if two-step sign-in was turned off. `by`: who removed
 * it.
 */
export interface FactorRemovedMessage extends NoticeMessage<'factor_removed'> {
  factor: 'totp' | 'passkey' | 'two_step' | null
  by: 'user' | 'host'
}

/** `by`: who removed the account. */
export interface AccountRemovedMessage extends NoticeMessage<'account_removed'> {
  by: 'user' | 'host'
}

/** An administrator got a token that acts in the name of the user. */
export interface ImpersonatedMessage extends NoticeMessage<'impersonated'> {
  by: 'host'
}

/**
 * A sign-in in a browser without a cookie of an earlier session of this account with the present password. A user gets
 * at most one such message an hour, and none in the first hour after a sign-up.
 */
export interface NewSignInMessage extends MessageCommon {
  kind: 'new_sign_in'
  /** Equals `accountUrl`. */
  url?: string | undefined
  token?: undefined
  expiresAt?: undefined
  at: Date
  ip: string | null
  userAgent: string | null
}

/** A code to sign in with, for the person who asked for it. `user.id` is `''` if no user has the address yet. */
export interface CodeMessage extends MessageCommon {
  kind: 'sign_in_code'
  /** Eight digits, as people read them: `1234 5678`. */
  code: string
  /** The address of the link, if there is one. It works only in the browser that asked. */
  url?: string
  /** The token in the link. */
  token?: string
  /** When code and link stop working. */
  expiresAt: Date
  /** The time of the request. */
  askedAt: Date
  userAgent: string | null
}

/** The argument of `sendMessage`: `kind` tells which fields it has. */
export type Message =
  | { [Kind in Exclude<LinkKind, 'verify_email' | 'email_change'>]: LinkMessage<Kind> }[Exclude<
      LinkKind,
      'verify_email' | 'email_change'
    >]
  | ConfirmationMessage<'verify_email'>
  | ConfirmationMessage<'email_change'>
  | {
      [
        Kind in Exclude<
          NoticeKind,
          | 'password_changed'
          | 'identity_linked'
          | 'factor_added'
          | 'factor_removed'
          | 'account_removed'
          | 'email_changed'
          | 'impersonated'
        >
      ]: NoticeMessage<Kind>
    }[Exclude<
      NoticeKind,
      | 'password_changed'
      | 'identity_linked'
      | 'factor_added'
      | 'factor_removed'
      | 'account_removed'
      | 'email_changed'
      | 'impersonated'
    >]
  | PasswordChangedMessage
  | UndoableMessage<'email_changed'>
  | IdentityLinkedMessage
  | FactorAddedMessage
  | FactorRemovedMessage
  | AccountRemovedMessage
  | ImpersonatedMessage
  | NewSignInMessage
  | CodeMessage

/** The option `sendMessage`. */
export type SendMessage = (message: Message) => void | Promise<void>
