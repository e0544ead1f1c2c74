import type { TSchema } from '@sinclair/typebox'

/** One of the values of a schema that lists them. */
interface Choice {
  value: string | number
  /** The `title` of the value, or the value itself. */
  label: string
}

/**
 * The texts and numbers that a schema lists (`enum`, `const`, a union of literals), in its order. A `null` among them
 * is left out. `null` for a schema that takes other values too.
 */
export function choicesOf(schema: TSchema): Choice[] | null {
  const { anyOf, const: value, title, type } = schema as { anyOf?: TSchema[]; const?: unknown } & TSchema
  if (Array.isArray(anyOf)) {
    const variants = anyOf.filter((variant) => variant.type !== 'null').map(choicesOf)
    const choices = variants.flatMap((variant) => variant ?? [])
    return variants.includes(null) || choices.length === 0 ? null : choices
  }
  if (type === 'null' || (typeof value !== 'string' && typeof value !== 'number')) return null
  return [{ value, label: title ?? String(value) }]
}

const MOST_NAMED = 20

/** "it takes 'free' or 'paid'". A description on the wire has no other quotation mark (RFC 6749 §5.2). */
export function namedChoices(choices: readonly Choice[]): string {
  const named = choices
    .slice(0, MOST_NAMED)
    .map(({ value }) => (typeof value === 'string' ? `'${value}'` : String(value)))
  const rest = choices.length - named.length
  const last = rest > 0 ? `${rest} more` : named.pop()
  return `it takes ${named.length === 0 ? '' : `${named.join(', ')} ${rest > 0 ? 'and' : 'or'} `}${last}`
}
