import type { ProfileField } from './common-model.ts'
/** HTML in which every value is escaped. Only the functions of this file can make it. */
export interface Html {
  readonly [MARKUP]: string
}

/** A value in a template. Text is escaped. `null`, `undefined` and `false` are left out. */
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

/** A template whose values are escaped for text and for quoted attributes. Templates quote every attribute. */
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
 * Renders ` name="value"` for each value that is not `null`, `undefined` or `false`. `true` is an attribute without a
 * value. Names are not escaped, so they must come from our code.
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
 * Removes `autofocus` if a link, button or picture comes before it, because the browser would scroll the heading out of
 * sight. Searches for ` autofocus>`: `autofocus` is always the last attribute, and in text `>` is escaped.
 */
export function focusAtTop(content: HtmlValue): Html {
  const markup = markupOf(content)
  const [before = ''] = markup.split(' autofocus>', 1)
  return { [MARKUP]: /<(?:a|button|summary|svg)[ >]/.test(before) ? markup.replaceAll(' autofocus>', '>') : markup }
}

/**
 * Fills the `{name}` placeholders of a message with markup, for names that stand out or have their own writing
 * direction.
 */
export function formatHtml(message: string, values: Readonly<Record<string, HtmlValue>>): Html {
  // Pieces with an odd index are the names between the braces.
  const pieces = message.split(/\{(\w+)\}/)
  return html`${pieces.map((piece, index) => {
    if (index % 2 === 0) return piece
    return Object.hasOwn(values, piece) ? values[piece] : `{${piece}}`
  })}`
}

const SCRIPTED = new Set(['javascript:', 'data:', 'vbscript:', 'blob:', 'file:', 'filesystem:', 'about:'])

/**
 * Returns the URL of a link, or `#` for a URL that would run code or load content, or that can't be parsed.
 * @see OWASP ASVS 5.0 1.2.2
 */
export function safeUrl(url: string): string {
  try {
    // Parse as a browser does, because a browser drops white space and controls that would hide a scheme.
    return SCRIPTED.has(new URL(url, 'https://page.invalid').protocol) ? '#' : url
  } catch {
    return '#'
  }
}

/** A list of choices. It starts with an empty choice, unless the field is required and has one of the choices. */
export function select(
  given: Html,
  choices: ProfileField['choices'],
  { value = '', required }: { value: string | undefined; required: boolean }
): Html {
  const none = required && choices.some((choice) => choice.value === value) ? [] : [{ value: '', label: '' }]
  return html`<select${given}>${[...none, ...choices].map(
    (choice) =>
      html`<option${attributes({ value: choice.value, selected: choice.value === value })}>${choice.label}</option>`
  )}</select>`
}
