import type { FastifyInstance, FastifySchema } from 'fastify'
import { Type } from '@sinclair/typebox'
import type { Callers, CallersConfig } from './callers.ts'
import { ErrorResponse } from './schemas.ts'

/** What @fastify/swagger reads of a route, where the host has it. */
interface DocumentedSchema extends FastifySchema {
  operationId?: string
  security?: ReadonlyArray<Readonly<Record<string, readonly string[]>>>
}

interface Documents { openapiObject?: { components?: { securitySchemes?: Record<string, unknown> } } }

const PAGE = { description: 'A page.', content: { 'text/html': { schema: Type.String() } } }
const ANY = Type.Object({}, { additionalProperties: true })
const ONWARD = Type.Null({ description: 'Onward: where the request came from, or back to the client.' })

/** The schemes of a host's document that our operations name. A host that has one under the same name keeps its own. */
const SCHEMES = {
  accessToken: { type: 'http', scheme: 'bearer', description: 'An access token.' },
  refreshToken: { type: 'http', scheme: 'bearer', description: 'A refresh token.' },
  clientSecret: { type: 'http', scheme: 'basic', description: 'The id and the secret of a client, form-encoded.' }
} as const
type Scheme = keyof typeof SCHEMES

/**
 * Completes what the host's OpenAPI document says of every route that is registered in `child` after it: a name of its own, who may
 * call it, and the answers that all routes of its kind have.
 */
export function useDocuments (child: FastifyInstance, { pages, refreshUrl }: { pages: boolean, refreshUrl: string }): void {
  child.addHook('onRoute', (route) => {
    const { fastifyAuthority }: Partial<CallersConfig> = route.config ?? {}
    const method = [route.method].flat()[0] ?? 'GET'
    const shared = pages ? { [method === 'POST' ? '2xx' : 200]: PAGE, 303: ONWARD, '4xx': PAGE, 503: PAGE } : { ...(route.schema?.response === undefined ? { 200: ANY } : {}), '4xx': ErrorResponse, 503: ErrorResponse }
    const schema: DocumentedSchema = { operationId: idOf(method, route.url), ...route.schema, response: { ...shared, ...route.schema?.response as object } }
    const schemes = route.url.endsWith(refreshUrl) ? ['refreshToken' as const] : schemesOf(fastifyAuthority?.callers)
    if (schemes.length > 0) {
      schema.security = schemes.map((name) => ({ [name]: [] }))
      // The document must define the schemes that it names, and only here can they be added to it.
      Object.assign(route, { config: { ...route.config, swaggerTransform: ({ schema, url, openapiObject }: Documents & { schema: DocumentedSchema, url: string }) => ({ schema: withSchemes(schema, schemes, openapiObject), url }) } })
    }
    route.schema = schema
  })
}

/** `postAuthPasswordResetConfirm`: by the address, which is a route's own, also where the plugin is there twice. */
function idOf (method: string, url: string): string {
  return method.toLowerCase() + url.split(/[^A-Za-z0-9]+/).filter((word) => word !== '').map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`).join('')
}

function schemesOf (callers: Callers | undefined): Scheme[] {
  if (callers === 'account' || typeof callers === 'object') return ['accessToken']
  return callers === 'client' ? ['clientSecret'] : []
}

function withSchemes (schema: DocumentedSchema, names: Scheme[], document: Documents['openapiObject']): FastifySchema {
  if (document === undefined) {
    const { security: _security, ...rest } = schema
    return rest
  }
  document.components ??= {}
  const schemes = document.components.securitySchemes ??= {}
  for (const name of names) schemes[name] ??= SCHEMES[name]
  return schema
}
