import { type Html, type HtmlValue, html, markupOf } from './html.ts'
import { format } from './texts.ts'
import type { CommonModel, PageError } from './model.ts'

interface Layout {
  heading: string
  content: HtmlValue
  /** Below the rest: the ways to other pages. */
  links?: HtmlValue
  error?: PageError | null
}

/** A whole document. */
export function layout (model: CommonModel, { heading, content, links, error = null }: Layout): string {
  const { title, logoUrl, lang, messages, styleUrl, scriptUrl } = model
  const about = `${heading} – ${title}`
  return `${markupOf(html`<!doctype html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${error === null ? about : format(messages.errorInTitle, { title: about })}</title>
<link rel="stylesheet" href="${styleUrl}">
<script src="${scriptUrl}" defer></script>
</head>
<body>
<div class="page">
<header class="brand">${brand(title, logoUrl)}</header>
<main class="card">
<h1>${heading}</h1>
${content}
</main>
${links !== undefined && links !== null && html`<nav class="links" aria-label="${title}">${links}</nav>`}
</div>
</body>
</html>`)}\n`
}

/** The logo stands for the name where there is one. */
function brand (title: string, logoUrl: string | null): Html {
  return logoUrl === null ? html`<p>${title}</p>` : html`<img src="${logoUrl}" alt="${title}">`
}

/** A name that others chose, apart from the sentence around it whichever way it is written. */
export function name (text: string): Html {
  return html`<b><bdi>${text}</bdi></b>`
}
