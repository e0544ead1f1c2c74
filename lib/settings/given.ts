import { Kind, type TSchema } from '@sinclair/typebox'

/**
 * What was given, without the options that are `undefined`, at every depth that the schema describes. What it leaves
 * open, such as a store, a function or a hasher, stays the object that it is. A name that the schema does not know
 * stays too, and is refused: it is a mistake whatever its value.
 */
export function withoutUndefined(schema: TSchema, value: unknown): unknown {
  const described = variantOf(schema, value)
  if (described === undefined) return value
  if (Array.isArray(value)) return value.map((entry) => withoutUndefined(described['items'] as TSchema, entry))
  const given = value as Record<string, unknown>
  const known = described['properties'] as Record<string, TSchema> | undefined
  // A record has one schema for all of its values.
  const [each] = Object.values((described['patternProperties'] ?? {}) as Record<string, TSchema>)
  const isKnown = (name: string): boolean => known === undefined || Object.hasOwn(known, name)
  // Getters of a class are not among an object's own keys, so the names that the schema knows are asked for too.
  const names = new Set([
    ...Object.keys(given),
    ...Object.keys(known ?? {}).filter((name) => given[name] !== undefined)
  ])
  return Object.fromEntries(
    [...names]
      .filter((name) => given[name] !== undefined || !isKnown(name))
      .map((name) => {
        const inner = known === undefined ? each : Object.hasOwn(known, name) ? known[name] : undefined
        return [name, inner === undefined ? given[name] : withoutUndefined(inner, given[name])]
      })
  )
}

/** The part of the schema that says what this array or object has in it; `undefined` where none does. */
function variantOf(schema: TSchema, value: unknown): TSchema | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const variants = schema[Kind] === 'Union' ? (schema['anyOf'] as TSchema[]) : [schema]
  return variants.find((variant) =>
    Array.isArray(value)
      ? variant[Kind] === 'Array'
      : variant[Kind] === 'Record' || (variant[Kind] === 'Object' && variant['additionalProperties'] === false)
  )
}
