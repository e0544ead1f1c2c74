/** Markup that is safe to send: a piece of a page whose values are escaped. */
export interface Html { readonly markup: string }

type Value = string | Html | readonly Html[]

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** A template: text is escaped, what came of this function is not. */
export function html (strings: TemplateStringsArray, ...values: Value[]): Html {
  return { markup: String.raw({ raw: strings }, ...values.map(markupOf)) }
}

function markupOf (value: Value): string {
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('\n')
}

/** A whole document. */
export function document ({ title, body, script }: { title: string, body: Html, script?: string }): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
${script === undefined ? '' : html`<script src="${script}" type="module"></script>`}
</head>
<body>
${body}
</body>
</html>
`.markup
}

/** Names and values, such as those of a token. */
export function claimList (claims: Readonly<Record<string, unknown>>): Html {
  return html`<dl>
${Object.entries(claims).map(([name, value]) => html`<dt>${name}</dt><dd>${typeof value === 'string' ? value : JSON.stringify(value)}</dd>`)}
</dl>`
}
