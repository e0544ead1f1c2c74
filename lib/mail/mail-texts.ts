import type { LinkKind, NoticeKind } from '../ports/message.ts'

/** Kinds whose message says by whom it was, or what it was: each of these has texts of its own. */
type Particular =
  | `account_removed_${'user' | 'host'}`
  | 'identity_linked_takeover'
  | `factor_added_${'totp' | 'passkey' | 'recovery_codes' | 'two_step'}`
  | `factor_removed_${'totp' | 'passkey' | 'two_step' | 'all'}`
type Plain = Exclude<NoticeKind, 'account_removed' | 'factor_added' | 'factor_removed'>

/** What a mail can be about. */
export type MailSubject = LinkKind | 'sign_in_code' | 'new_sign_in' | Plain | Particular

interface NoticeTexts {
  /** The subject, too. */
  heading: string
  text: string
  /** For whoever has not done what it is about, where it is not `secure`. */
  otherwise?: string
}

interface LinkTexts extends NoticeTexts {
  button: string
}

/**
 * Everything that mails say in one language. A kind of message that lacks its texts does not compile. `{name}` is
 * filled in.
 */
export type MailTexts = Readonly<
  { [Kind in LinkKind | 'sign_in_code']: LinkTexts } & { [Kind in Plain | Particular]: NoticeTexts } & {
    new_sign_in: LinkTexts
  } & {
    /**
     * For whoever has not done what most mails are about: that they set a new password, or what else they do where the
     * account has none.
     */
    secure: string
    secureWithoutPassword: string
    /** The same, of what a button takes back. */
    undo: string
    /** The same, of what the host did. */
    notAsked: string
    signInTime: string
    signInDevice: string
    signInAddress: string
    /** `{duration}` is a span such as "30 minutes". */
    validity: string
    /** Of a code to sign in with. */
    codeValidity: string
    /** `{time}` is when, and `{browser}` what the browser calls itself. */
    codeAsked: string
    /** Above the address that the button leads to. */
    hint: string
    account: string
  }
>
