import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import t from '../../support/tap.ts'
import { EN, type Language } from '../../../lib/texts/en.ts'
import { LANGUAGES } from '../../../lib/texts/languages.ts'

const FOLDER = new URL('../../../lib/texts/', import.meta.url)
const MADE = new URL('languages.ts', FOLDER)

type Head = Omit<Language, 'pages' | 'byEmail' | 'mails'>

/** Prints the head of a language as the formatter writes it. */
function printed({ name, direction, space, fonts, wordBreak, tall, aliases }: Head): string {
  const value = (of: unknown): string => {
    if (Array.isArray(of)) return `[${of.map(value).join(', ')}]`
    return typeof of !== 'string' ? String(of) : of.includes("'") ? `"${of}"` : `'${of}'`
  }
  const fields = Object.entries({ name, direction, space, fonts, wordBreak, tall, aliases })
  return `{\n${fields.map(([field, of]) => `    ${field}: ${value(of)}`).join(',\n')}\n  }`
}

t.test('keeps the generated list of languages equal to the heads of the language files', async (t) => {
  const heads = new Map<string, Head>(
    readdirSync(FOLDER)
      .filter((name) => name.endsWith('.json'))
      .map((name) => [name.slice(0, -'.json'.length), JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Head])
  )
  heads.set('en', EN)
  // The languages keep their order. A new one comes last.
  const order = [...new Set([...Object.keys(LANGUAGES), ...heads.keys()])].filter((locale) => heads.has(locale))
  const quoted = (locale: string): string => (/^\w+$/.test(locale) ? locale : `'${locale}'`)
  const list = order.map((locale) => `  ${quoted(locale)}: ${printed(heads.get(locale) as Head)}`).join(',\n')
  const expected = `/**
 * The languages of pages and mails, in the order in which they are offered. Made from the head of each language's file
 * by \`UPDATE=1 npm test -- unit/texts/languages\`, so that the start reads no file. \`Language\` describes the fields.
 */
export const LANGUAGES = {
${list}
} as const

export type Locale =
${order.map((locale) => `  | '${locale}'`).join('\n')}
`
  if (process.env['UPDATE'] === '1') writeFileSync(MADE, expected)
  t.equal(readFileSync(MADE, 'utf8'), expected)
})
