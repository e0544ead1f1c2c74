import { errorCodes, type FastifyInstance } from 'fastify'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { Kind, type TSchema } from '@sinclair/typebox'
import { OAuthError } from '../../errors.ts'

/** The largest body in bytes, except on routes with a limit of their own. */
export const BODY_LIMIT = 16_384
/**
 * The maximum depth of nesting in a body. Our schemas and a host's profile fields need less, and recursive code can
 * handle more.
 */
const MAX_JSON_DEPTH = 32
/** The maximum number of parameters in a form. */
const MAX_FORM_PARAMETERS = 64

/**
 * Replaces the host's body parsers on our routes: JSON, and with `forms` also form-encoded bodies. Any other content
 * type gets 415. With `isOptional`, the body may be empty. Refuses a repeated JSON key of the outermost object, because
 * `JSON.parse` would keep only the last value. Parses a repeated form parameter as a list. `readParams` accepts a list
 * only for names that may repeat, and ignores unknown names.
 * @see RFC 6749 §3.2
 */
export function registerBodyParsers(
  child: FastifyInstance,
  { forms, isOptional = false }: { forms: boolean; isOptional?: boolean }
): void {
  child.removeAllContentTypeParsers()
  const parseJson = child.getDefaultJsonParser('error', 'error')
  child.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const text = body as string
    if (isOptional && text === '') {
      done(null, undefined)
      return
    }
    try {
      refuseOddJson(text)
    } catch (error) {
      done(error as Error)
      return
    }
    void parseJson(request, text, (error: Error | null, value?: unknown) => {
      if (error !== null) done(new OAuthError('invalid_request', unreadable(text)))
      else done(null, value)
    })
  })
  // Some HTTP clients send a content type with an empty body.
  if (isOptional)
    child.addContentTypeParser('*', { parseAs: 'string' }, ({ headers }, body, done) => {
      if (body === '') done(null, undefined)
      else done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE(headers['content-type']))
    })
  if (forms) addFormParser(child)
}

/** Reads forms in `child`. */
export function addFormParser(child: FastifyInstance): void {
  child.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, parseForm(body as string))
    } catch (error) {
      done(error as Error)
    }
  })
}

/**
 * Explains why Fastify's parser refused a body. If `JSON.parse` can read the body, the reason is a key that could
 * change a prototype.
 */
function unreadable(json: string): string {
  try {
    JSON.parse(json)
    return 'The body has a key that is not allowed: __proto__, or constructor with a prototype.'
  } catch {
    return 'The body is not valid JSON.'
  }
}

/** The parameters of a form or a query: a list if the name was sent more than once. The object has no prototype. */
export type SentParams = Readonly<Record<string, string | readonly string[]>>

/** @throws OAuthError `invalid_request` on too many parameters */
export function parseForm(body: string): SentParams {
  const params = Object.create(null) as Record<string, string | string[]>
  let count = 0
  // Adds a question mark, because URLSearchParams drops a leading one, which may belong to the first name.
  for (const [name, value] of new URLSearchParams(`?${body}`)) {
    count += 1
    if (count > MAX_FORM_PARAMETERS) throw new OAuthError('invalid_request', 'The body has too many parameters.')
    const before = params[name]
    params[name] = before === undefined ? value : [before, value].flat()
  }
  return params
}

/**
 * Refuses two things that `JSON.parse` accepts: repeated keys, and nesting deeper than `MAX_JSON_DEPTH`. Compares keys
 * only in the outermost object, because our bodies are flat apart from the host's profile fields.
 * @throws OAuthError `invalid_request`
 */
function refuseOddJson(json: string): void {
  const seen = new Set<string>()
  let depth = 0
  for (let at = 0; at < json.length; at++) {
    const char = json[at]
    if (char === '{' || char === '[') {
      depth += 1
      if (depth > MAX_JSON_DEPTH)
        throw new OAuthError('invalid_request', `The body is nested more than ${MAX_JSON_DEPTH} levels deep.`)
    } else if (char === '}' || char === ']') depth -= 1
    else if (char === '"') {
      const start = at
      for (at += 1; at < json.length && json[at] !== '"'; at++) if (json[at] === '\\') at += 1
      if (depth !== 1 || !isKey(json, at + 1)) continue
      const raw = json.slice(start, at + 1)
      // Compares keys in parsed form, because escapes allow many spellings of one key. Fastify's parser refuses a key
      // that cannot be parsed here.
      const key = raw.includes('\\') ? unescapeKey(raw) : raw
      if (seen.has(key)) throw new OAuthError('invalid_request', 'A parameter is repeated.')
      seen.add(key)
    }
  }
}

/** True if a colon comes next, after any amount of white space. @see RFC 8259 §2 */
function isKey(json: string, from: number): boolean {
  let at = from
  while (at < json.length && ' \t\n\r'.includes(json[at] as string)) at += 1
  return json[at] === ':'
}

function unescapeKey(raw: string): string {
  try {
    return JSON.stringify(JSON.parse(raw))
  } catch {
    return raw
  }
}

/**
 * Checks bodies exactly as they came: nothing is coerced, nothing is dropped. The host's own validator stays as it is,
 * and is not used.
 */
export function useStrictValidation(child: FastifyInstance): void {
  // Accepts a part of the request that has no TypeBox schema. Fastify also asks for the validators of such parts.
  child.setValidatorCompiler<TSchema>(({ schema }) =>
    schema[Kind] === undefined ? () => true : strictValidator(() => TypeCompiler.Compile(schema))
  )
  // No serializer has to remove fields, because our handlers build every answer from named fields.
  child.setSerializerCompiler(
    () => (value: unknown) => JSON.stringify(value instanceof Error ? fastifyShape(value) : value)
  )
}

/** Makes the body validator of a route whose body may be absent. Accepts all other parts of the request unchecked. */
export function optionalBody(given: {
  schema: unknown
  httpPart?: string | undefined
}): (value: unknown) => true | { error: OAuthError } {
  if (given.httpPart !== 'body') return () => true
  const check = strictValidator(() => TypeCompiler.Compile(given.schema as TSchema))
  // Fastify passes `null` for an absent body.
  return (value) => (value === null ? true : check(value))
}

/**
 * Makes a validator that reports the first invalid field as `invalid_request`. Compiles the schema at the first check,
 * because compiling all schemas would delay the start.
 */
export function strictValidator(compile: () => TypeCheck<TSchema>): (value: unknown) => true | { error: OAuthError } {
  let compiled: TypeCheck<TSchema> | undefined
  return (value) => {
    compiled ??= compile()
    return compiled.Check(value) ? true : { error: fieldError(compiled.Errors(value).First()) }
  }
}

function fieldError(first: ValueError | undefined): OAuthError {
  const field = first?.path.slice(1).replaceAll('/', '.') ?? ''
  if (field === '')
    return new OAuthError('invalid_request', 'The body must be an object with the fields of this endpoint.')
  return new OAuthError('invalid_request', `${field}: ${first === undefined ? 'it does not fit' : problemOf(first)}.`)
}

function problemOf({ type, value, schema, message }: ValueError): string {
  if (type === ValueErrorType.ObjectRequiredProperty) return 'it is required'
  if (type === ValueErrorType.ObjectAdditionalProperties && schema.properties !== undefined)
    return `there is no such field. There are: ${Object.keys(schema.properties as object).join(', ')}`
  const choices = value === undefined ? null : choicesOf(schema)
  return choices === null ? message : namedChoices(choices)
}

/**
 * Converts an error of the host's own code to the shape that Fastify's error handler sends. `JSON.stringify` alone
 * would skip `message`, because it is not enumerable.
 */
function fastifyShape(error: Error & { statusCode?: number; code?: string; error?: string }): Record<string, unknown> {
  const { statusCode, code, error: reason, message } = error
  return { statusCode, code, error: reason, message }
}

/** One value of a schema that lists its values. */
interface Choice {
  value: string | number
  /** The `title` of the value: a text, or texts by language. */
  title: unknown
}

/**
 * The texts and numbers that a schema lists (`const`, or `anyOf` of constants), in its order. Omits `null`. Returns
 * `null` for a schema that also takes other values.
 */
export function choicesOf(schema: TSchema): Choice[] | null {
  const { anyOf, const: value, title, type } = schema as { anyOf?: TSchema[]; const?: unknown } & TSchema
  if (Array.isArray(anyOf)) {
    const variants = anyOf.filter((variant) => variant.type !== 'null').map(choicesOf)
    const choices = variants.flatMap((variant) => variant ?? [])
    return variants.includes(null) || choices.length === 0 ? null : choices
  }
  if (type === 'null' || (typeof value !== 'string' && typeof value !== 'number')) return null
  return [{ value, title }]
}

const MOST_NAMED = 20

/**
 * Lists the choices: "it takes 'free' or 'paid'". Uses single quotation marks, because RFC 6749 §5.2 forbids double
 * ones in an error description.
 */
export function namedChoices(choices: readonly Choice[]): string {
  const named = choices
    .slice(0, MOST_NAMED)
    .map(({ value }) => (typeof value === 'string' ? `'${value}'` : String(value)))
  const rest = choices.length - named.length
  const last = rest > 0 ? `${rest} more` : named.pop()
  return `it takes ${named.length === 0 ? '' : `${named.join(', ')} ${rest > 0 ? 'and' : 'or'} `}${last}`
}
