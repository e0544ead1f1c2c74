/** Markup that is safe to send: a piece of a page whose values are escaped. */
export interface Html {
  readonly markup: string
}

type Value = string | Html | readonly Html[]

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
}

/** A template: text is escaped, what came of this function is not. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return { markup: String.raw({ raw: strings }, ...values.map(markupOf)) }
}

function markupOf(value: Value): string {
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('\n')
}

/** Names and values, such as those of a token. */
export function claimList(claims: Readonly<Record<string, unknown>>): Html {
  return html`<dl class="claims">
${Object.entries(claims).map(([name, value]) => html`<div><dt>${name}</dt><dd>${typeof value === 'string' ? value : JSON.stringify(value)}</dd></div>`)}
</dl>`
}
