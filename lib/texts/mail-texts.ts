import type { LinkKind, NoticeKind } from '../ports/message.ts'

/** Parts of a kind with texts of their own: by who acted, or by the kind of factor. */
type Particular =
  | `account_removed_${'user' | 'host'}`
  | 'identity_linked_takeover'
  | `factor_added_${'totp' | 'passkey' | 'recovery_codes' | 'two_step'}`
  | `factor_removed_${'totp' | 'passkey' | 'two_step' | 'all'}`
type Plain = Exclude<NoticeKind, 'account_removed' | 'factor_added' | 'factor_removed'>

/** The subjects of mails: kinds of message, or parts of a kind. */
export type MailSubject = LinkKind | 'sign_in_code' | 'new_sign_in' | Plain | Particular

interface NoticeTexts {
  /** The heading, which is the subject too. */
  heading: string
  text: string
  /** Advice to a reader who did not do what the mail tells. Default `secure`. */
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
    /** Advice to a reader who did not do what the mail tells: with a password to change, and without one. */
    secure: string
    secureWithoutPassword: string
    /** Advice to that reader if a button takes the change back. */
    undo: string
    /** Follows the text of `password_changed` for a user with API keys. */
    apiKeysStay: string
    /** Advice to that reader if the host made the change. */
    notAsked: string
    signInTime: string
    signInDevice: string
    signInAddress: string
    /** `{duration}` is a span such as "30 minutes". */
    validity: string
    /** `validity` for a code to sign in with. */
    codeValidity: string
    /** The button of `sign_in_code` signs in the browser that asked alone. */
    onlyHere: string
    /** `{time}` is when, and `{browser}` what the browser calls itself. */
    codeAsked: string
    /** Above the address that the button leads to. */
    hint: string
    account: string
  }
>
