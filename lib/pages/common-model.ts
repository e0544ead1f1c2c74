import type { MessageKey, Messages } from './texts.ts'

/** An error, as a page shows it. `text` is in the language of the page. */
export interface PageError {
  /** The code that the same error has in JSON responses, such as `invalid_grant`. */
  error: string
  text: string
  /** The field with the error. `null`: the whole form. */
  field: string | null
  /** After too many attempts, the seconds until the next attempt is allowed. `text` contains this time in words. */
  waitSeconds?: number
}

/** Options of `pages` that every page has as its fields. */
export interface ShownOptions {
  faviconUrl: string | null
  /** The ways to sign in that come first. */
  order: 'password-first' | 'providers-first'
  colorScheme: 'light' | 'dark' | 'auto'
  /** The host's own stylesheet, linked after `styleUrl`. */
  stylesheetUrl: string | null
}

/** Fields of every page. */
export interface CommonModel extends ShownOptions {
  /**
   * The name at the top: the client's own title (`clients[].pages.title`), else the option `pages.title`, else the host
   * name of the issuer.
   */
  title: string
  /** `null`: pages show the title instead. `dark`: the URL in dark mode, `null` for the same URL. */
  logo: { url: string; dark: string | null; height: number; alt: string } | null
  /** Links of the footer. */
  footer: { terms: string | null; privacy: string | null; support: string | null }
  /**
   * The address of this page in each language, for the footer. Empty if the page offers no choice, as an error page or
   * the result of a form. `name` is the language's name for itself.
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
  /** The name of the client that sent the user here. `null`: no client. */
  clientName: string | null
}

/** A field that the host added by `registration.fields`, as a form shows it. */
export interface ProfileField {
  name: string
  /** The page replaces `{terms}` and `{privacy}` by the links of the footer, or by their names without such a link. */
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
  /** The language of label and hint, if the page has another language. */
  lang?: string | null
}

/**
 * Fields of every page with a form. The form posts to the URL `action`. Use it unchanged, because it contains state
 * such as the authorization request. A model never contains a password.
 */
export interface FormModel extends CommonModel {
  action: string
  error: PageError | null
}

/** A scope with its description for people. */
export interface ShownScope {
  name: string
  /** The message key of a standard scope. `null`: another scope. */
  description: MessageKey | null
  /** The host's description, with its language. Takes precedence over `description`. */
  own: { text: string; lang: string } | null
}

/**
 * A link to sign in with another provider. `mark`: the paths of the provider's built-in logo, by their color. `label`:
 * the text of the link, instead of "Continue with" and the name.
 */
export interface ConnectButton {
  id: string
  name: string
  label: string | null
  brand: string | null
  mark: Readonly<Record<string, string>> | null
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
 * A form with the field `credential`. The form is `hidden` until the script finds that the browser supports passkeys.
 */
export interface PasskeyForm extends PasskeySignals {
  /**
   * Options of `navigator.credentials.get`, or of `create` on pages that make a passkey. Binary values are base64url.
   */
  options: object
  /** Address of JSON with new `options`, to fetch before the current ones expire. `null`: none. */
  renewUrl: string | null
}

/**
 * An authenticator app to be added. The form returns `token` in a hidden field `enrolment`. `qr.path`: the attribute
 * `d` of an SVG path in a square of `qr.size` units.
 */
export interface ShownEnrolment {
  token: string
  secret: string
  uri: string
  qr: { size: number; path: string }
}
