import type { MessageKey, Messages } from './texts.ts'

/** An error on the page of its request. `text` is in the page's language. */
export interface PageError {
  /** The wire code of the same error, such as `invalid_grant`. */
  error: string
  text: string
  /** The field with the error. `null`: the whole form. */
  field: string | null
  /** Seconds until the next attempt is possible, after too many. `text` says it too. */
  waitSeconds?: number
}

/** Fields of every page. */
export interface CommonModel {
  /** The name of the service: the option `pages.title`. */
  title: string
  /** The logo; `dark`: its address in dark mode, `null`: the same. `null`: the name is shown. */
  logo: { url: string; dark: string | null; height: number; alt: string } | null
  faviconUrl: string | null
  /** Which way to sign in comes first. */
  order: 'password-first' | 'providers-first'
  colorScheme: 'light' | 'dark' | 'auto'
  /** The host's own stylesheet, linked after `styleUrl`. */
  stylesheetUrl: string | null
  /** Links of the footer. */
  footer: { terms: string | null; privacy: string | null; support: string | null }
  /**
   * The same page in each language, for the footer. Empty if the page cannot be opened again. `name` is in that
   * language.
   */
  languages: Array<{ lang: string; name: string; url: string }>
  /** The request id in the log. */
  requestId: string
  /** BCP 47, for `<html lang>`. */
  lang: string
  /** The writing direction, for `<html dir>`. */
  dir: 'ltr' | 'rtl'
  messages: Messages
  styleUrl: string
  scriptUrl: string
  /** The client that sent the person, if any. */
  clientName: string | null
}

/** A field of the sign-up page that the host added by `registration.fields`. */
export interface ProfileField {
  name: string
  /** `{terms}` and `{privacy}` stand for these links of the footer. */
  label: string
  type: 'text' | 'email' | 'tel' | 'number' | 'date' | 'url' | 'checkbox' | 'radio' | 'select'
  required: boolean
  value: string
  /** The options of a `select`, or the buttons of a `radio`. Empty for every other type. */
  choices: Array<{ value: string; label: string }>
  /** A sentence below the field. */
  hint?: string | null
  /** Attributes for checks by the browser: `minlength`, `maxlength`, `pattern`, `min`, `max`, `step`. */
  limits?: Readonly<Record<string, string | number>>
  /** The language of label and hint where it is not that of the page. */
  lang?: string | null
}

/**
 * Fields of every page with a form. It posts to `action`, which contains all state to carry on. A model never contains
 * a password.
 */
export interface FormModel extends CommonModel {
  action: string
  error: PageError | null
}

/** A scope with its description for people. */
export interface ShownScope {
  name: string
  /** The message key of a standard scope. */
  description: MessageKey | null
  /** The description from the option `scopes`, with its language. It wins over `description`. */
  own: { text: string; lang: string } | null
}

/**
 * A link to sign in with another provider. `brand`: a mark that the pages have. `label` replaces "Continue with" and
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

/** Passkey data of a page, for the script at `scriptUrl`. */
export interface PasskeySignals {
  scriptUrl: string
  /** Methods of `PublicKeyCredential` to call if the browser has them, with their arguments. May be empty. */
  signals: Record<string, object>
}

/**
 * A form with the field `credential`. It stays `hidden` until the script shows it and asks the browser for a passkey.
 */
export interface PasskeyForm extends PasskeySignals {
  /**
   * Options of `navigator.credentials.get`, or of `create` on pages that make a passkey. Binary values are base64url.
   */
  options: object
  /** Address of JSON with new `options`, to fetch before these expire. `null`: none. */
  renewUrl: string | null
}

/**
 * An authenticator app to be added. The form returns `token` in a hidden field `enrolment`. `qr` is the `d` of a path
 * in a square of `size`.
 */
export interface ShownEnrolment {
  token: string
  secret: string
  uri: string
  qr: { size: number; path: string }
}
