type Json = Record<string, unknown>

/**
 * A described route in the words of Swagger 2.0, which knows no `const`, no alternatives, no `null` and no content of
 * an answer. `defined`: the names of the security schemes that the document has.
 */
export function forSwagger2(schema: Json, defined: readonly string[]): Json {
  const {
    security = [],
    response = {},
    ...rest
  } = schema as { security?: Array<Record<string, unknown>>; response?: Record<string, Json> } & Json
  const answers = Object.entries(response).map(([status, answer]) => [
    status.toLowerCase() === '2xx' ? '200' : status,
    answer['content'] === undefined ? answer : { ...answer, content: undefined, type: 'string' }
  ])
  const isPage = Object.values(response).some(({ content }) => content !== undefined)
  return {
    ...(plain(rest) as Json),
    ...(isPage ? { produces: ['text/html'] } : {}),
    response: plain(Object.fromEntries(answers)),
    security: security.filter((one) => Object.keys(one).every((name) => defined.includes(name)))
  }
}

/** Converts a value and all schemas in it. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const { anyOf, const: only, content: _content, ...rest } = value as Json
  const simple = Object.fromEntries(Object.entries(rest).map(([name, one]) => [name, plain(one)]))
  if (only !== undefined) return { type: typeof only, ...simple, enum: [only] }
  return Array.isArray(anyOf) ? { ...oneOf(anyOf.map(plain) as Json[]), ...simple } : simple
}

function oneOf(alternatives: Json[]): Json {
  const types = [...new Set(alternatives.map(({ type }) => type).filter((type) => type !== 'null'))]
  if (types.length !== 1) return { type: 'object' }
  const some = alternatives.filter(({ type }) => type !== 'null')
  if (some.length === 1) return { ...some[0], 'x-nullable': true }
  return some.every((one) => Array.isArray(one['enum']))
    ? { type: types[0], enum: some.flatMap((one) => one['enum']) }
    : { type: types[0] }
}
