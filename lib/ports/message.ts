/** The user as a message shows it: without the password hash. */
export interface MessageUser {
  id: string
  username: string
  email?: string
  emailVerified?: boolean
  disabled?: boolean
  [claim: string]: unknown
}

/** What every message has. */
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
  /** Whether the account has a password. Who has none is not told to set a new one. Absent: it has. */
  hasPassword?: boolean | undefined
  /** Whether people can set a new password by a mail here. Where they can't, nobody is told to. Absent: they can. */
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
  /** Where the link leads. It bears the token. */
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
   * Whether that provider alone decides who is in the account from now on (`enforce`): password, passkeys and other
   * links have ended.
   */
  tookOver: boolean
}

/** A link for whoever did not do what the message tells of: it takes that back. Absent where that can't be. */
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

/** Somebody signed in in a browser in which the account never had a session. Once an hour at the most. */
export interface NewSignInMessage extends MessageCommon {
  kind: 'new_sign_in'
  /**
   * The account page or the security page, for whoever it was not; absent where there is none (`pages`). It bears no
   * token.
   */
  url?: string | undefined
  token?: undefined
  expiresAt?: undefined
  at: Date
  /** The address that the request came from; `null` where it is none. */
  ip: string | null
  /**
   * What the browser called itself, which may be any text: show what you recognise in it, and not the text. `null`:
   * nothing.
   */
  userAgent: string | null
}

/** A code to sign in with, for whoever asked for it. `user.id` is `''` where nobody has the address yet. */
export interface CodeMessage extends MessageCommon {
  kind: 'sign_in_code'
  /** Eight digits, as people read them: `1234 5678`. */
  code: string
  /** Where the link leads, where there is one; it works in the browser alone that asked. */
  url?: string
  /** What the link bears. */
  token?: string
  /** When code and link stop working. */
  expiresAt: Date
  /** When somebody asked for it. */
  askedAt: Date
  /** What the browser called itself that asked. Anybody can call themselves anything. */
  userAgent: string | null
}

/** What `sendMessage` gets: `kind` tells which fields there are. */
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
