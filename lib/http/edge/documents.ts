import type { FastifyInstance, FastifySchema } from 'fastify'
import { type TSchema, Type } from '@sinclair/typebox'
import type { PathName } from '../../settings/paths.ts'
import { logLine } from '../../ports/log.ts'
import { type CallersConfig, plainUrl } from './callers.ts'
import { errorsOf, type Operation, type OperationErrors, type SecuritySchemes } from './operations.ts'
import { ErrorResponse } from './schemas.ts'

/** The part of a route that @fastify/swagger reads, if the host has it. */
interface RouteSchema extends FastifySchema {
  hide?: boolean
  response?: Record<string, TSchema>
}

/** The document to complete, in the form of OpenAPI 3 or of Swagger 2.0. At most one of the two is set. */
interface Documents {
  openapiObject?: { tags?: Tag[]; components?: { securitySchemes?: Record<string, unknown> } }
  swaggerObject?: { tags?: Tag[]; securityDefinitions?: Record<string, unknown> | null }
}
interface Tag {
  name: string
  description?: string
}
interface Transformed extends Documents {
  schema: RouteSchema
  url: string
  route: { method: string | string[] }
}

interface DocumentsDeps {
  /** True if the routes are pages. */
  pages: boolean
  schemes: SecuritySchemes
  /** The names of paths, as `namesOf` returns them. */
  names: ReadonlyMap<string, PathName>
  /** The path of each named route if no option moves it. */
  usualPaths: Readonly<Record<PathName, string>>
}

const PAGE = { content: { 'text/html': { schema: Type.String() } } }
const ANY = Type.Object({}, { additionalProperties: true, description: 'A JSON object.' })
const LOCATION = { Location: { type: 'string', description: 'The address of the next GET of the browser.' } }
const CHALLENGE = {
  'WWW-Authenticate': { type: 'string', description: 'The challenge of RFC 6750 §3 or RFC 7617 §2.' }
}
const RETRY = { 'Retry-After': { type: 'string', description: 'Seconds.' } }
const CHALLENGED = ['invalid_token', 'invalid_client', 'insufficient_scope', 'insufficient_user_authentication']
const TAGS = {
  auth: 'Tokens, by OAuth 2.0 and OpenID Connect.',
  'auth account': 'Actions of users on their own account.',
  'auth pages': 'The hosted pages, for browsers.'
} as const

/** The operation ids in use on a server, each with the URL of its route. */
const ids = new WeakMap<object, Map<string, string>>()

/**
 * Adds a `swaggerTransform` to every route that is registered in `child` afterwards. The transform gives the route a
 * stable operation id, its security and its answers in the document that @fastify/swagger makes for the host. The
 * host's own `transform` is not called for these routes, because most transforms know only one kind of schema.
 */
export function useDocuments(child: FastifyInstance, deps: DocumentsDeps): void {
  child.addHook('onRoute', (route) => {
    const { hide } = (route.schema ?? {}) as RouteSchema
    const config: Partial<CallersConfig> = route.config ?? {}
    const own = plainUrl(route.url).slice(child.prefix.length)
    const parameters = parametersOf(own)
    const name = deps.names.get(own.slice(0, own.length - parameters.length)) ?? null
    const declared = config.fastifyAuthority?.path
    const usual =
      name === null
        ? declared?.startsWith('/') === true
          ? `/auth${declared}`
          : null
        : `${deps.usualPaths[name]}${parameters}`
    const claim = (method: string): string => operationId(child.server, method, plainUrl(route.url), usual)
    const id = hide === true ? '' : claim([route.method].flat()[0] ?? 'GET')
    const transform = ({
      schema,
      url,
      route: { method },
      ...documents
    }: Transformed): { schema: object; url: string } => {
      const verb = [method].flat()[0] ?? 'GET'
      const operation: Operation = {
        method: verb,
        declared: config.fastifyAuthority ?? {},
        isPage: deps.pages
      }
      return {
        schema: described({ schema, operation, id: verb === 'HEAD' ? claim(verb) : id }, deps.schemes, documents),
        url: plainUrl(url)
      }
    }
    Object.assign(route, { config: { ...route.config, swaggerTransform: hide === true ? false : transform } })
  })
}

/** The name of each path. If two names have the same path, the first name counts. */
export function namesOf(names: readonly PathName[], path: (name: PathName) => string): ReadonlyMap<string, PathName> {
  return new Map(names.map((name) => [path(name), name] as const).reverse())
}

/**
 * Warns if the host registers @fastify/swagger after us: its document would have none of our routes, without any sign.
 */
export function tellOfLateDocuments(host: FastifyInstance): void {
  if (host.hasDecorator('swagger')) return
  host.addHook('onReady', async () => {
    if (host.hasDecorator('swagger'))
      host.log.warn(
        ...logLine(
          'FST_AUTHORITY_UNDOCUMENTED',
          '@fastify/swagger was registered after this plugin, so its document has none of the routes ' +
            'of this plugin. Register @fastify/swagger first.'
        )
      )
  })
}

function described(
  { schema, operation, id }: { schema: RouteSchema; operation: Operation; id: string },
  schemes: SecuritySchemes,
  { openapiObject, swaggerObject }: Documents
): object {
  const { declared, isPage } = operation
  const tag = declared.isProtocol === true ? 'auth' : isPage ? 'auth pages' : 'auth account'
  const security = schemes.of(operation)
  const complete = {
    operationId: id,
    tags: [tag],
    security,
    ...schema,
    response: { ...successes(schema, operation), ...failures(errorsOf(operation), isPage) }
  }
  const document = openapiObject ?? swaggerObject
  if (document !== undefined) document.tags = withTag(document.tags, tag)
  if (openapiObject !== undefined) {
    openapiObject.components = {
      ...openapiObject.components,
      securitySchemes: { ...schemes.openapi, ...openapiObject.components?.securitySchemes }
    }
  } else if (swaggerObject !== undefined) {
    swaggerObject.securityDefinitions = { ...schemes.swagger, ...swaggerObject.securityDefinitions }
    return forSwagger2(complete, Object.keys(swaggerObject.securityDefinitions))
  }
  return complete
}

/** Adds the tag, unless the host has described a tag of this name. */
function withTag(tags: Tag[] = [], name: keyof typeof TAGS): Tag[] {
  return tags.some((one) => one.name === name) ? tags : [...tags, { name, description: TAGS[name] }]
}

function successes({ response = {} }: RouteSchema, { method, isPage }: Operation): Record<string, object> {
  if (isPage)
    return {
      [method === 'POST' ? '2xx' : 200]: { description: 'A page.', ...PAGE },
      303: {
        type: 'null',
        description: 'Onward: where the request came from, or back to the client.',
        headers: LOCATION
      }
    }
  const declared = Object.entries(response).filter(([status]) => /^[23]/.test(status))
  if (declared.length === 0) return { 200: ANY }
  return Object.fromEntries(
    declared.map(([status, schema]) => [
      status,
      {
        ...(status.startsWith('3') ? { headers: LOCATION } : {}),
        ...schema,
        description: schema['description'] ?? 'Done.'
      }
    ])
  )
}

function failures(errors: OperationErrors, isPage: boolean): Record<string, object> {
  return Object.fromEntries(
    Object.entries(errors).map(([status, codes]: [string, readonly string[]]) => {
      const headers =
        status === '401' || status === '403'
          ? codes.some((code) => CHALLENGED.includes(code))
            ? CHALLENGE
            : null
          : status === '429' || status === '503'
            ? RETRY
            : null
      const shared = {
        description: codes.map((code) => `\`${code}\``).join(', '),
        ...(headers === null || (isPage && headers === CHALLENGE) ? {} : { headers })
      }
      const body = {
        ...ErrorResponse,
        properties: { ...ErrorResponse.properties, error: { type: 'string', enum: codes } }
      }
      return [status, isPage ? { ...PAGE, ...shared } : { ...body, ...shared }]
    })
  )
}

/**
 * Makes an operation id from the method and the default path, such as `postAuthPasswordResetConfirm`. So a generated
 * client survives a change of `prefix` or `paths`. Uses the real path if there is no default path, or if another route
 * has the id, as with a second registration of the plugin.
 */
function operationId(server: object, method: string, url: string, usualUrl: string | null): string {
  const known = ids.get(server) ?? new Map<string, string>()
  ids.set(server, known)
  const usual = usualUrl === null ? null : idOf(method, usualUrl)
  const id = usual !== null && [undefined, url].includes(known.get(usual)) ? usual : idOf(method, url)
  known.set(id, url)
  return id
}

/** The parameters at the end of a path: `/:id` for `/auth/sessions/:id`. */
function parametersOf(url: string): string {
  const at = url.indexOf('/:')
  return at === -1 ? '' : url.slice(at)
}

function idOf(method: string, url: string): string {
  return (
    method.toLowerCase() +
    url
      .split(/[^A-Za-z0-9]+/)
      .filter((word) => word !== '')
      .map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`)
      .join('')
  )
}

type Json = Record<string, unknown>

/**
 * Converts a described route to Swagger 2.0, which has no `const`, `anyOf`, `null` or `content`. `defined`: the names
 * of the security schemes in the document.
 */
function forSwagger2(schema: Json, defined: readonly string[]): Json {
  const {
    security = [],
    response = {},
    ...rest
  } = schema as { security?: Array<Record<string, unknown>>; response?: Record<string, Json> } & Json
  const answers = Object.entries(response).map(([status, { content, ...answer }]) => [
    status.toLowerCase() === '2xx' ? '200' : status,
    content === undefined ? answer : { ...answer, type: 'string' }
  ])
  const isPage = Object.values(response).some(({ content }) => content !== undefined)
  return {
    ...(plain(rest) as Json),
    ...(isPage ? { produces: ['text/html'] } : {}),
    response: plain(Object.fromEntries(answers)),
    security: security.filter((one) => Object.keys(one).every((name) => defined.includes(name)))
  }
}

/** Converts a value and all schemas in it to Swagger 2.0. `isMap`: the keys of the value are names, not keywords. */
function plain(value: unknown, isMap = false): unknown {
  if (Array.isArray(value)) return value.map((one) => plain(one))
  if (typeof value !== 'object' || value === null) return value
  const all = Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, plain(one, !isMap && name === 'properties')])
  )
  if (isMap) return all
  const { anyOf, const: only, ...simple } = all
  if (only !== undefined) return { type: typeof only, ...simple, enum: [only] }
  return Array.isArray(anyOf) ? { ...oneOf(anyOf as Json[]), ...simple } : simple
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
