import { attributes, focusAtTop, type Html, html, type HtmlValue, markupOf, safeUrl } from './html.ts'
import { directionOf, format, type Messages, spaceOf, timeOf, withoutHyphens } from './texts.ts'
import type { CommonModel, PageError, ShownScope } from './common-model.ts'
import { carry } from './ways.ts'
import type { IconName } from './stylesheet.ts'

const LOGO_HEIGHT = 40

/** A logo as a host gives it. */
export interface Logo {
  url: string
  dark?: string | undefined
  height?: number | undefined
  alt?: string | undefined
}

/** The logo as pages and mails show it. `title`: the alternative text, if the host gives none. */
export function logoOf(
  { url, dark, height = LOGO_HEIGHT, alt }: Logo,
  title: string
): NonNullable<CommonModel['logo']> {
  return { url, dark: dark ?? null, height, alt: alt ?? title }
}

/**
 * The logo of a page or a mail. With the color scheme `auto`, the browser chooses the image for light or dark mode.
 * Mail programs that don't know `picture` show the image for light mode.
 */
export function logoImage(
  { url, dark, height, alt }: NonNullable<CommonModel['logo']>,
  colorScheme: CommonModel['colorScheme'],
  own: Readonly<Record<string, string>> = {}
): Html {
  const image = (src: string): Html => html`<img${attributes({ ...own, src, alt, height: String(height) })}>`
  if (dark === null || colorScheme !== 'auto') return image(colorScheme === 'dark' && dark !== null ? dark : url)
  // A comma in `srcset` would start another image.
  const source = attributes({ srcset: dark.replaceAll(',', '%2C'), media: '(prefers-color-scheme:dark)' })
  return html`<picture><source${source}>${image(url)}</picture>`
}

interface Layout {
  heading: string
  /** The heading with markup, instead of `heading`. */
  headline?: Html
  /** A text before the heading in the title of the document, if several views have the same heading. */
  part?: string | null
  /** Below the heading, inside the page's head. */
  lead?: HtmlValue
  /** Above the heading: an icon, hidden from screen readers because the heading says the same. */
  icon?: IconName | Html | null
  content: HtmlValue
  /** Below the content: links to other pages. */
  links?: HtmlValue
  error?: PageError | null
  /** The URL of the passkey script, on pages that ask for a passkey. */
  passkeyScript?: string | null | undefined
  /** On account and administration pages, which are wide and without a card: the parts around the content. */
  wide?: { bar: Html; column: Html; end: Html }
  /** True if the last form succeeded. The title of the document then says so. */
  isDone?: boolean
  /** Above the heading, and before the content in tab order. */
  before?: HtmlValue
  /** True if the content has the form `named`. The choice of a language then keeps the typed username. */
  isNamed?: boolean
}

/** Renders a whole HTML document. */
export function layout(
  model: CommonModel,
  {
    heading,
    headline,
    part = null,
    lead,
    icon = null,
    content,
    links,
    error = null,
    passkeyScript = null,
    wide,
    isDone,
    before,
    isNamed = false
  }: Layout
): string {
  const { title, lang, dir, messages, styleUrl, scriptUrl, stylesheetUrl, faviconUrl, colorScheme } = model
  const about = withoutHyphens(
    [part, heading, heading.includes(title) ? null : title].filter((words) => words !== null).join(' – ')
  )
  return `${markupOf(html`<!doctype html>
<html lang="${lang}" dir="${dir}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${colorScheme === 'auto' ? 'light dark' : colorScheme}">
<meta name="robots" content="noindex">
<title>${
    error !== null
      ? format(messages.errorInTitle, { title: about })
      : isDone === true
        ? format(messages.doneInTitle, { title: about })
        : about
  }</title>
${
  faviconUrl !== null &&
  html`<link rel="icon" href="${safeUrl(faviconUrl)}">
`
}<link rel="stylesheet" href="${styleUrl}">
${
  stylesheetUrl !== null &&
  html`<link rel="stylesheet" href="${safeUrl(stylesheetUrl)}">
`
}<script src="${scriptUrl}" defer></script>${
    passkeyScript !== null &&
    html`
<script src="${passkeyScript}" defer></script>`
  }
</head>
<body data-working="${messages.working}">
<div class="page${wide !== undefined && ' wide'}">
<header class="top"><div class="brand">${brand(model)}</div>${wide?.bar}</header>
${wide?.column}<main class="card">
${before}<div class="head">
${typeof icon === 'string' ? html`<span class="icon" data-icon="${icon}" aria-hidden="true"></span>` : icon}
<h1>${headline ?? heading}</h1>
${lead}
</div>
${error === null ? focusAtTop(content) : content}
${links !== undefined && links !== null && links !== false && html`<div class="links">${links}</div>`}
</main>
${wide?.end}${footer(model, isNamed)}
</div>
</body>
</html>`)}\n`
}

/** The logo, or the first letter and the name of a service without a logo. */
function brand({ title, logo, colorScheme }: CommonModel): Html {
  return logo === null
    ? html`<span class="mark" aria-hidden="true">${monogram(title)}</span><p><bdi>${title}</bdi></p>`
    : logoImage(logo, colorScheme)
}

/** The first letter or digit of a name, as a substitute for a picture. */
export function monogram(name: string): string {
  const [first = ''] = /[\p{L}\p{N}]/u.exec(name) ?? [...name]
  return first.toLocaleUpperCase()
}

function footer(
  { messages, lang, footer: { terms, privacy, support }, languages }: CommonModel,
  isNamed: boolean
): Html | null {
  const ways = [
    [terms, messages.linkTerms],
    [privacy, messages.linkPrivacy],
    [support, messages.linkSupport]
  ] as const
  const current = languages.find((language) => language.lang === lang)
  if (current === undefined && ways.every(([url]) => url === null)) return null
  return html`<footer class="foot">
${ways.map(
  ([url, label]) =>
    url !== null &&
    html`<a href="${safeUrl(url)}">${label}</a>
`
)}${
    current !== undefined &&
    html`<details>
<summary aria-label="${messages.languageLabel}: ${current.name}">${current.name}</summary>
<ul>
${languages.map(
  (language) => html`<li>${languageChoice(language, language === current, isNamed)}</li>
`
)}</ul>
</details>
`
  }</footer>`
}

function languageChoice(
  { lang, name, url }: CommonModel['languages'][number],
  isCurrent: boolean,
  isNamed: boolean
): Html {
  const own = { lang, 'aria-current': isCurrent ? 'true' : null }
  return isNamed
    ? carry(url, name, 'plain', own)
    : html`<a${attributes({ href: safeUrl(url), hreflang: lang, ...own })}>${name}</a>`
}

/** A name that a user or a client chose, in bold. Its writing direction does not affect the sentence. */
export function name(text: string): Html {
  return html`<b><bdi>${text}</bdi></b>`
}

/** A time in UTC. The script shows it in the reader's time zone, or within a week in words such as "yesterday". */
export function time(at: number, messages: Messages): Html {
  return html`<time datetime="${new Date(at).toISOString()}">${timeOf(at, messages)}</time>`
}

/** Like `time`, but never in words such as "yesterday", for use after "on" or "until". */
export function date(at: number, messages: Messages): Html {
  return html`<time data-whole datetime="${new Date(at).toISOString()}">${timeOf(at, messages)}</time>`
}

/** An error that concerns a whole form, not one field. */
export const failure = (error: PageError): Html =>
  html`<p class="alert" role="alert" id="form-error">${said(error)}</p>`

/** The text of an error. The script adds the time of the next attempt, by the reader's clock. */
export function said({ text, waitSeconds }: PageError): HtmlValue {
  return waitSeconds === undefined ? text : html`<span>${text}<time data-wait="${waitSeconds}"></time></span>`
}

/** Joins sentences as the language separates them. Leaves out `false`. */
export function sentences(messages: Messages, ...given: HtmlValue[]): HtmlValue[] {
  const space = spaceOf(messages)
  return given.filter((one) => one !== false).flatMap((one, index) => (index === 0 ? [one] : [space, one]))
}

/** The address that a message went to, on its own line. */
export function address(text: string): Html {
  return html`<p class="address"><bdi>${text}</bdi></p>`
}

/**
 * The account that the page is about, with a link to sign in to another account. A long address is cut before its
 * domain, so that the domain stays visible.
 */
export function chip({ messages }: CommonModel, username: string, otherUrl: string | null = null): Html {
  return html`<div class="chip" title="${username}">${nameWithAvatar(username)}${
    otherUrl !== null && html`<a href="${safeUrl(otherUrl)}">${messages.notYou}</a>`
  }</div>`
}

export function nameWithAvatar(username: string): Html {
  const at = username.lastIndexOf('@')
  const [local, domain] = at < 1 ? [username, ''] : [username.slice(0, at), username.slice(at)]
  return html`<span class="avatar" aria-hidden="true">${monogram(
    username
  )}</span><bdi><span>${local}</span>${domain !== '' && html`<span>${domain}</span>`}</bdi>`
}

/** A hidden username next to a password field, for password managers. No route reads it. */
export function usernameOf(username: string): Html {
  return html`<input type="text" name="username" value="${username}" autocomplete="username" readonly hidden>\n`
}

/** `label`: the id of the heading above the list. */
export function scopeList(scopes: readonly ShownScope[], messages: Messages, label: string | null = null): Html {
  return html`<ul class="scopes"${label !== null && html` aria-labelledby="${label}"`}>
${scopes.map(
  (scope) => html`<li>${saidOf(scope, messages)}</li>
`
)}</ul>`
}

/** The description of a scope, or its name. */
export function saidOf({ name, description, own }: ShownScope, messages: Messages): Html {
  if (own !== null)
    return own.lang === messages.lang
      ? html`<span>${own.text}</span>`
      : html`<span lang="${own.lang}" dir="${directionOf(own.lang)}">${own.text}</span>`
  return html`<span>${description === null ? html`<code dir="ltr">${name}</code>` : messages[description]}</span>`
}
