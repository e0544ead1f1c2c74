import type { CommonModel, ConnectButton } from './common-model.ts'
import { attributes, html, type Html, type HtmlValue, safeUrl } from './html.ts'
import type { IconName } from './stylesheet.ts'
import { format } from './texts.ts'

/** The mark of a provider. The link text names the provider, so the mark is hidden from screen readers. */
const markOf = (paths: Readonly<Record<string, string>>): Html =>
  html`<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false">${Object.entries(paths).map(
    ([fill, path]) => html`<path fill="${fill}" d="${path}"></path>`
  )}</svg>`

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
 * form. Their buttons belong to the form, and on Enter browsers press the first button of a form.
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
${others}${connections.map(({ brand, mark, label, logoUrl, name: provider, url }) => {
      const whole = label ?? format(messages.connectWith, { name: provider })
      return html`<a${attributes({
        href: safeUrl(url),
        'data-brand': brand,
        'aria-label': isOnly || label !== null ? null : whole
      })}>${[
        mark === null ? logoUrl !== null && html`<img src="${logoUrl}" alt="" width="20" height="20">` : markOf(mark),
        html`<span>${isOnly ? whole : (label ?? provider)}</span>`
      ]}</a>
`
    })}</div>
`
  }`
}
