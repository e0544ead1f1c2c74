import type { LinkKind, NoticeKind } from '../ports/message.ts'

/**
 * Messages of one kind whose mails differ: by the author of a removal, by the kind of the factor, or because a new link
 * takes the account over.
 */
type Particular =
  | `account_removed_${'user' | 'host'}`
  | 'identity_linked_takeover'
  | `factor_added_${'totp' | 'passkey' | 'recovery_codes' | 'two_step'}`
  | `factor_removed_${'totp' | 'passkey' | 'two_step' | 'all'}`
type Plain = Exclude<NoticeKind, 'account_removed' | 'factor_added' | 'factor_removed'>

/** The mails with texts of their own: one per kind of message, or several for a kind in `Particular`. */
export type MailSubject = LinkKind | 'sign_in_code' | 'new_sign_in' | Plain | Particular

interface NoticeTexts {
  /** The heading, which is the subject too. */
  heading: string
  text: string
  /** Advice for a reader who did not make the change that the mail reports. Left out: general advice (`adviceOf`). */
  otherwise?: string
}

interface LinkTexts extends NoticeTexts {
  button: string
}

/** Texts of mails in one language. A kind of message without texts does not compile. `{name}` stands for a value. */
export type MailTexts = Readonly<
  { [Kind in LinkKind | 'sign_in_code']: LinkTexts } & { [Kind in Plain | Particular]: NoticeTexts } & {
    new_sign_in: LinkTexts
  } & {
    /** Advice for a reader who did not make the change, by whether the reader has a password to change. */
    secure: string
    secureWithoutPassword: string
    /** Advice for a reader who did not make the change, if the mail has a button that reverts it. */
    undo: string
    /** Follows the text of `password_changed` for a user with API keys. */
    apiKeysStay: string
    /** Advice for a reader who did not ask for the change, if the host made it. */
    notAsked: string
    signInTime: string
    signInDevice: string
    signInAddress: string
    /** How long the link works. `{duration}` is a text such as "30 minutes". */
    validity: string
    /** How long the code works. */
    codeValidity: string
    /** Tells that the button of `sign_in_code` works only in the browser that asked for the mail. */
    onlyHere: string
    /** `{time}`: when the code was requested. `{browser}`: the browser that requested it. */
    codeAsked: string
    /** Introduces the URL of the button, which the mail also shows as text. */
    hint: string
    account: string
  }
>
