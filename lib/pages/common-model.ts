import type { MessageKey, Messages } from './texts.ts'

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
  type: 'text' | 'email' | 'number' | 'date' | 'url' | 'checkbox' | 'select'
  required: boolean
  value: string
  /** What a `select` offers; empty for every other type. */
  choices: Array<{ value: string; label: string }>
}

/**
 * What every page with a form has. It posts to `action`, which holds whatever has to be carried on. No value of a
 * password is ever in a model.
 */
export interface FormModel extends CommonModel {
  action: string
  error: PageError | null
}

/** A scope, for people. */
export interface ShownScope {
  name: string
  /** A message key where the scope is a standard one. */
  description: MessageKey | null
  /** What the option `scopes` says of it, and in which language; before `description`. */
  own: { text: string; lang: string } | null
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
