import { html, type Html } from './html.ts'

/** The content of every page of the host. */
interface Page {
  title: string
  body: Html
  /** The address of the page's own module, where it has one. */
  script?: string
  /** The page's place among the demos, for the switch between them. Absent: no switch. */
  here?: string
  /** At the end of the bar: who is signed in, or the ways to sign in. */
  person?: Html
  /** The site: the host's, or the demo of another company's, which looks otherwise. */
  site?: 'host' | 'other'
}

/** A keyhole, as in assets/logo.svg. */
const MARK = html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="9"/><path d="M16 7.5a5.5 5.5 0 0 1 2.6 10.35l1.5 5.2a1 1 0 0 1-.96 1.28h-6.28a1 1 0 0 1-.96-1.28l1.5-5.2A5.5 5.5 0 0 1 16 7.5z"/></svg>`
const PARCEL = html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="16"/><path d="M16 7l8 4.2v9.6L16 25l-8-4.2v-9.6zm0 2.6l-4.9 2.5L16 14.7l4.9-2.6z"/></svg>`

const DEMOS: ReadonlyArray<[string, string]> = [
  ['/', 'Start'],
  ['/app', 'Demo app'],
  ['/third-party', 'Third-party demo']
]

const switchAt = (here: string): Html =>
  html`<nav class="switch" aria-label="Demos">${DEMOS.map(([url, name]) => (url === here ? html`<a href="${url}" aria-current="page">${name}</a>` : html`<a href="${url}">${name}</a>`))}</nav>`

/** A whole document. */
export function document({ title, body, script, here, person, site = 'host' }: Page): string {
  const name =
    site === 'host'
      ? html`<a class="brand" href="/">${MARK}<span>fastify-authority</span></a>`
      : html`<a class="brand" href="/third-party">${PARCEL}<span>Third-party demo</span></a>`
  return html`<!doctype html>
<html lang="en" class="${site}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/logo.svg" type="image/svg+xml">
<link rel="stylesheet" href="/style.css">
${script === undefined ? '' : html`<script src="${script}" type="module"></script>`}
</head>
<body>
<header class="bar"><div>${name}${here === undefined ? '' : switchAt(here)}${person ?? ''}</div></header>
${body}
</body>
</html>
`.markup
}
