import type { CommonModel, ConnectButton } from './common-model.ts'
import { attributes, html, type Html, type HtmlValue, safeUrl } from './html.ts'
import type { IconName } from './stylesheet.ts'
import { format } from './texts.ts'

/**
 * The marks of providers, unchanged as their brand rules require: no other colors, no cropping. `currentColor` is only
 * for brands that allow a mark in the text color. No attribute `style`, because the Content-Security-Policy forbids it.
 */
const MARKS: Readonly<Record<string, Html>> = {
  google: html`<path fill="#4285F4" d="M23.49 12.27c0-.79-.07-1.54-.19-2.27H12v4.51h6.47
    c-.29 1.48-1.14 2.73-2.4 3.58v3h3.86c2.26-2.09 3.56-5.17 3.56-8.82z"></path>
    <path fill="#34A853" d="M12 24c3.24 0 5.95-1.08 7.93-2.91l-3.86-3
    c-1.08.72-2.45 1.16-4.07 1.16-3.13 0-5.78-2.11-6.73-4.96H1.29v3.09C3.26 21.3 7.31 24 12 24z"></path>
    <path fill="#FBBC05" d="M5.27 14.29c-.25-.72-.38-1.49-.38-2.29s.14-1.57.38-2.29V6.62H1.29
    C.47 8.24 0 10.06 0 12s.47 3.76 1.29 5.38z"></path>
    <path fill="#EA4335" d="M12 4.75c1.77 0 3.35.61 4.6 1.8l3.42-3.42
    C17.95 1.19 15.24 0 12 0 7.31 0 3.26 2.7 1.29 6.62l3.98 3.09C6.22 6.86 8.87 4.75 12 4.75z"></path>`,
  apple: html`<path fill="currentColor" d="M17.05 12.54
    c-.03-2.6 2.12-3.85 2.22-3.91-1.21-1.77-3.09-2.01-3.76-2.04-1.6-.16-3.12.94-3.93.94-.81
    0-2.07-.92-3.4-.89-1.75.03-3.36 1.02-4.26 2.58-1.82 3.15-.47 7.81 1.3 10.37.87 1.25 1.9 2.66 3.26 2.6
    1.31-.05 1.8-.84 3.38-.84 1.58 0 2.02.84 3.4.82 1.41-.03 2.3-1.28 3.16-2.54 1-1.45 1.41-2.86
    1.43-2.93-.03-.01-2.75-1.05-2.8-4.16zM14.46 4.92c.72-.87 1.2-2.08 1.07-3.29-1.03.04-2.28.69-3.02
    1.56-.67.77-1.25 2-1.1 3.18 1.15.09 2.33-.58 3.05-1.45z"></path>`,
  microsoft: html`<path fill="#F25022" d="M1 1h10.5v10.5H1z"></path>
    <path fill="#7FBA00" d="M12.5 1H23v10.5H12.5z"></path><path fill="#00A4EF" d="M1 12.5h10.5V23H1z"></path>
    <path fill="#FFB900" d="M12.5 12.5H23V23H12.5z"></path>`,
  github: html`<path fill="currentColor" d="M12 .5C5.65.5.5 5.65.5 12
    c0 5.08 3.29 9.39 7.86 10.91.58.11.79-.25.79-.56v-2
    c-3.2.7-3.87-1.36-3.87-1.36-.52-1.33-1.28-1.68-1.28-1.68-1.04-.71.08-.7.08-.7 1.15.08 1.76 1.18 1.76 1.18
    1.03 1.76 2.69 1.25 3.35.96.1-.75.4-1.25.73-1.54-2.56-.29-5.25-1.28-5.25-5.69 0-1.26.45-2.28
    1.18-3.09-.12-.29-.51-1.46.11-3.05 0 0 .97-.31 3.17 1.18a10.9 10.9 0 0 1 5.77 0c2.2-1.49 3.17-1.18
    3.17-1.18.63 1.59.23 2.76.11 3.05.74.81 1.18 1.83 1.18 3.09 0 4.42-2.7 5.39-5.27 5.68.41.36.78 1.06.78
    2.14v3.17c0 .31.21.67.8.56A11.51 11.51 0 0 0 23.5 12C23.5 5.65 18.35.5 12 .5z"></path>`,
  discord: html`<path fill="#5865F2" d="M20.32 4.37A19.8 19.8 0 0 0 15.43 2.86
    a13.7 13.7 0 0 0-.63 1.28 18.4 18.4 0 0 0-5.5 0 13 13 0 0 0-.64-1.28 19.7 19.7 0 0 0-4.89 1.52
    C.68 9.02-.16 13.55.26 18.02a19.9 19.9 0 0 0 6 3.03
    c.48-.66.91-1.36 1.28-2.09-.7-.26-1.37-.59-2-.97.17-.12.33-.25.49-.38a14.2 14.2 0 0 0 11.94 0
    c.16.13.33.26.49.38-.64.38-1.31.71-2.01.98.37.73.8 1.43 1.28 2.08a19.8 19.8 0 0 0 6-3.03
    c.5-5.18-.84-9.67-3.41-13.65zM8.02 15.27c-1.17 0-2.13-1.07-2.13-2.39
    s.94-2.39 2.13-2.39 2.15 1.08 2.13 2.39c0 1.32-.94 2.39-2.13 2.39zm7.96 0c-1.17 0-2.13-1.07-2.13-2.39
    s.94-2.39 2.13-2.39 2.15 1.08 2.13 2.39c0 1.32-.94 2.39-2.13 2.39z"></path>`,
  facebook: html`<path fill="#1877F2" d="M24 12a12 12 0 1 0-13.87 11.85v-8.38H7.08V12h3.05V9.36
    c0-3.01 1.79-4.67 4.53-4.67 1.31 0 2.69.24 2.69.24v2.95h-1.52c-1.49 0-1.95.92-1.95 1.87V12h3.32l-.53 3.47
    h-2.79v8.38A12 12 0 0 0 24 12z"></path>`
}

/**
 * Returns the mark of a provider. `null`: there is none in `MARKS`. The link text names the provider, so the mark is
 * hidden from screen readers.
 */
function brandMark(brand: string | null): Html | null {
  const mark = brand !== null && Object.hasOwn(MARKS, brand) ? MARKS[brand] : undefined
  return mark === undefined
    ? null
    : html`<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false">${mark}</svg>`
}

/** Hides the icon from screen readers, because the label says the same. */
const shown = (icon: IconName, label: string): Html =>
  html`<span data-icon="${icon}" aria-hidden="true"></span><span>${label}</span>`

/** A button to another way to sign in. Carries the typed username along. */
export function way(url: string, icon: IconName, label: string): Html {
  return carry(url, shown(icon, label))
}

/** A link to another way to sign in, on a page where no name is typed. */
export function wayLink(url: string, icon: IconName, label: string): Html {
  return html`<a href="${safeUrl(url)}">${shown(icon, label)}</a>\n`
}

/**
 * A button that sends the page's form with the typed username to another page, at `url`. The button stands after the
 * form, because browsers press the first button of a form on Enter. The other page drops the password unread.
 */
export function carry(
  url: string,
  label: HtmlValue,
  look: 'plain' | null = null,
  extra: Readonly<Record<string, string | null>> = {}
): Html {
  return html`<button${attributes({
    type: 'submit',
    class: look,
    form: 'named',
    formaction: safeUrl(url),
    formnovalidate: true,
    name: 'decision',
    value: 'carry',
    ...extra
  })}>${label}</button>
`
}

/**
 * The providers above the form, if the option `pages.order` puts them first. All other ways to sign in stay below the
 * form, because their buttons belong to it and browsers press the first button of a form on Enter.
 */
export function providersFirst(model: CommonModel, connections: readonly ConnectButton[]): Html | null {
  return model.order === 'providers-first' && connections.length > 0
    ? html`${ways(model, { connections, isAlone: true })}<p class="or"><span>${model.messages.connectOr}</span></p>\n`
    : null
}

/**
 * The other ways to sign in, in one list below the form of a page: the passkey, then `others`, then the providers in
 * their given order. Providers are links and not forms, because the Content-Security-Policy forbids a form to redirect
 * to another site.
 */
export function ways(
  { messages }: CommonModel,
  {
    passkey = null,
    others = [],
    connections = [],
    isAlone = false
  }: { passkey?: HtmlValue; others?: readonly Html[]; connections?: readonly ConnectButton[]; isAlone?: boolean }
): Html | null {
  if (passkey === null && others.length + connections.length === 0) return null
  const isOnly = others.length + connections.length === 1
  return html`${!isAlone && html`<p class="or"><span>${messages.connectOr}</span></p>\n`}${passkey}${
    others.length + connections.length > 0 &&
    html`<div class="ways">
${others}${connections.map(({ brand, label, logoUrl, name: provider, url }) => {
      const whole = label ?? format(messages.connectWith, { name: provider })
      return html`<a${attributes({
        href: safeUrl(url),
        'data-brand': brand,
        'aria-label': isOnly || label !== null ? null : whole
      })}>${[
        brandMark(brand) ?? (logoUrl !== null && html`<img src="${logoUrl}" alt="" width="20" height="20">`),
        html`<span>${isOnly ? whole : (label ?? provider)}</span>`
      ]}</a>
`
    })}</div>
`
  }`
}
