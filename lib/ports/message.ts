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
   * To be sent to `user.email`, and nowhere else. It is the stored address, never one that a request named; but that of
   * `email_change` is the one that the account is to have, and those of `email_changed` and `account_removed` are the
   * ones that it had.
   */
  user: MessageUser
  /**
   * The language to write in, as a BCP 47 tag: one of those of the hosted pages. A message that was asked for has that
   * of the page or the request, else that of the user's own claim `locale`. A notice has that of the claim first,
   * because a stranger may have caused it. English where there is none.
   */
  locale: string
  /** True if the account has a password. Users without one are not told to set a new one. Default true. */
  hasPassword?: boolean | undefined
  /** True if a mail can reset the password here. If not, no message advises it. Default true. */
  canReset?: boolean | undefined
}

/** Kinds with a link. */
export type LinkKind = 'password_reset' | 'verify_email' | 'already_registered' | 'email_change'
/** Kinds without one. */
export type NoticeKind =
  | 'password_changed'
  | 'email_change_requested'
  | 'email_changed'
  | 'email_change_refused'
  | 'account_removed'
  | 'identity_linked'
  | 'identity_unlinked'
  | 'second_factor_failed'
  | 'factor_added'
  | 'factor_disabled'
  | 'factor_removed'
  | 'recovery_code_used'
  | 'passkey_counter_regressed'
export type MessageKind = LinkKind | NoticeKind | 'new_sign_in' | 'sign_in_code'

/** A message that leads somewhere. */
export interface LinkMessage<Kind extends LinkKind = LinkKind> extends MessageCommon {
  kind: Kind
  /** The address of the link. It contains the token. */
  url: string
  token: string
  /** When the link stops working. */
  expiresAt: Date
}

/** A message that only tells what happened. */
export interface NoticeMessage<Kind extends NoticeKind = NoticeKind> extends MessageCommon {
  kind: Kind
  // None, so that the fields of both can be taken apart before `kind` is looked at.
  url?: undefined
  token?: undefined
  expiresAt?: undefined
}

/** An account at another provider leads to this one. */
export interface IdentityLinkedMessage extends NoticeMessage<'identity_linked'> {
  /**
   * True if that provider alone decides who can sign in to the account (`enforce`): password, passkeys and other links
   * have ended.
   */
  tookOver: boolean
}

/**
 * A message about a change, with a link that takes the change back for a user who did not make it. Absent if the change
 * can't be taken back.
 */
export interface UndoableMessage<Kind extends NoticeKind> extends MessageCommon {
  kind: Kind
  url?: string | undefined
  token?: string | undefined
  /** When the link stops working. */
  expiresAt?: Date | undefined
}

/**
 * Something was set up to sign in with. `two_step`: two-step sign-in was turned on. The first factor of an account can
 * be taken back.
 */
export interface FactorAddedMessage extends UndoableMessage<'factor_added'> {
  factor: 'totp' | 'passkey' | 'recovery_codes' | 'two_step'
}

/**
 * `factor`: `null` where all were removed at once, which the host does alone; `two_step` where two-step sign-in was
 * turned off. `by`: who did it.
 */
export interface FactorRemovedMessage extends NoticeMessage<'factor_removed'> {
  factor: 'totp' | 'passkey' | 'two_step' | null
  by: 'user' | 'host'
}

/** `by`: who wanted it. */
export interface AccountRemovedMessage extends NoticeMessage<'account_removed'> {
  by: 'user' | 'host'
}

/** A sign-in in a browser in which the account never had a session. Sent at most once an hour. */
export interface NewSignInMessage extends MessageCommon {
  kind: 'new_sign_in'
  /**
   * The account page or the security page, for users who did not sign in themselves. Absent if there is no such page
   * (`pages`). It contains no token.
   */
  url?: string | undefined
  token?: undefined
  expiresAt?: undefined
  at: Date
  /** The address that the request came from; `null` where it is none. */
  ip: string | null
  /**
   * The browser's name for itself, which may be any text: show what you recognise in it, and not the text. `null`:
   * nothing.
   */
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
  /** The name that the requesting browser has for itself. Browsers can claim any name. */
  userAgent: string | null
}

/** The argument of `sendMessage`: `kind` tells which fields it has. */
export type Message =
  | { [Kind in LinkKind]: LinkMessage<Kind> }[LinkKind]
  | {
      [
        Kind in Exclude<
          NoticeKind,
          'identity_linked' | 'factor_added' | 'factor_removed' | 'account_removed' | 'email_changed'
        >
      ]: NoticeMessage<Kind>
    }[Exclude<NoticeKind, 'identity_linked' | 'factor_added' | 'factor_removed' | 'account_removed' | 'email_changed'>]
  | UndoableMessage<'email_changed'>
  | IdentityLinkedMessage
  | FactorAddedMessage
  | FactorRemovedMessage
  | AccountRemovedMessage
  | NewSignInMessage
  | CodeMessage

/** The option `sendMessage`. */
export type SendMessage = (message: Message) => void | Promise<void>
