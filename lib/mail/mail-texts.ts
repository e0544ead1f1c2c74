import type { LinkKind, NoticeKind } from '../ports/message.ts'

interface NoticeTexts {
  /** The subject, too. */
  heading: string
  text: string
  /** For whoever has not done what it is about. */
  otherwise: string
}

interface LinkTexts extends NoticeTexts {
  button: string
}

/** Everything that mails say in one language. A kind of message that lacks its texts does not compile. `{name}` is filled in. */
export type MailTexts = Readonly<{ [Kind in LinkKind | 'sign_in_code']: LinkTexts } & { [Kind in NoticeKind]: NoticeTexts } & { new_sign_in: LinkTexts } & {
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
}>
