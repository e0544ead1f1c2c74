import { Kind, type TSchema } from '@sinclair/typebox'

/**
 * The host's options without those that are `undefined`, at every depth that the schema describes. A value that the
 * schema leaves open, such as a store, a function or a hasher, stays the same object. An unknown name stays too, so
 * that it is refused whatever its value.
 */
export function withoutUndefined(schema: TSchema, value: unknown): unknown {
  const described = variantOf(schema, value)
  if (described === undefined) return value
  if (Array.isArray(value)) return value.map((entry) => withoutUndefined(described['items'] as TSchema, entry))
  const given = value as Record<string, unknown>
  const known = described['properties'] as Record<string, TSchema> | undefined
  // A record has one schema for all its values.
  const [each] = Object.values((described['patternProperties'] ?? {}) as Record<string, TSchema>)
  const isKnown = (name: string): boolean => known === undefined || Object.hasOwn(known, name)
  // Ask for the names of the schema too, because getters of a class are not among an object's own keys.
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

/** The subschema of this array's or object's values, or `undefined`. */
function variantOf(schema: TSchema, value: unknown): TSchema | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const variants = schema[Kind] === 'Union' ? (schema['anyOf'] as TSchema[]) : [schema]
  return variants.find((variant) =>
    Array.isArray(value)
      ? variant[Kind] === 'Array'
      : variant[Kind] === 'Record' || (variant[Kind] === 'Object' && variant['additionalProperties'] === false)
  )
}
