/** HTML that was made by the `html` tag, so that everything in it is escaped. Nothing else makes one. */
export interface Html {
  readonly [MARKUP]: string
}

/** Text is escaped; what is `null`, `undefined` or `false` is left out. */
export type HtmlValue = string | number | Html | null | undefined | false | readonly HtmlValue[]

const MARKUP = Symbol('markup')

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

/** A template whose values are escaped for text and for quoted attributes alike. Templates quote every attribute. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return {
    [MARKUP]: strings.map((string, index) => string + (index < values.length ? markupOf(values[index]) : '')).join('')
  }
}

export function markupOf(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return ''
  if (typeof value === 'object') return MARKUP in value ? value[MARKUP] : value.map(markupOf).join('')
  return escaped(String(value))
}

/**
 * ` name="value"` of each that is not `null`, `undefined` or `false`; `true` is an attribute without a value. Names are
 * ours.
 */
export function attributes(given: Readonly<Record<string, string | number | boolean | null | undefined>>): Html {
  return {
    [MARKUP]: Object.entries(given)
      .map(([name, value]) => {
        if (value === null || value === undefined || value === false) return ''
        return value === true ? ` ${name}` : ` ${name}="${escaped(String(value))}"`
      })
      .join('')
  }
}

/**
 * A message whose `{name}` are filled with markup, for names that have to stand out or keep their own writing
 * direction.
 */
export function formatHtml(message: string, values: Readonly<Record<string, HtmlValue>>): Html {
  // Odd pieces are the names between the braces.
  const pieces = message.split(/\{(\w+)\}/)
  return html`${pieces.map((piece, index) => {
    if (index % 2 === 0) return piece
    return Object.hasOwn(values, piece) ? values[piece] : `{${piece}}`
  })}`
}

const SCRIPTED = new Set(['javascript:', 'data:', 'vbscript:', 'blob:', 'file:', 'filesystem:', 'about:'])

/** An address to go to, or `#` for one that would run or load something. @see OWASP ASVS 5.0 1.2.2 */
export function safeUrl(url: string): string {
  try {
    // Parsed as a browser does, for it drops white space and controls that would hide a scheme.
    return SCRIPTED.has(new URL(url, 'https://page.invalid').protocol) ? '#' : url
  } catch {
    return '#'
  }
}
