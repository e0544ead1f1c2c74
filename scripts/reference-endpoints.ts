import { generateKeyPairSync } from 'node:crypto'
import { type TSchema, Type } from '@sinclair/typebox'
import Fastify, { type FastifySchema, type RouteOptions } from 'fastify'
import { github } from '../lib/connections/index.ts'
import { authPlugin, memoryApiKeyStore, memoryAudit, memoryFactorStore, memoryUserStore } from '../lib/index.ts'
import { type Callers, type CallersConfig, type Declaration, plainUrl } from '../lib/http/edge/callers.ts'
import { errorsOf } from '../lib/http/edge/operations.ts'
import { MOVABLE } from '../lib/settings/paths.ts'

export interface Endpoint {
  method: string
  url: string
  callers: Callers
  /** In the host's OpenAPI document. */
  operationId: string
  schema: FastifySchema & { hide?: boolean; consumes?: string[]; security?: unknown[] }
  /** The name in the option `paths`; `null`: it follows `prefix` alone. */
  pathName: string | null
  what: string
  /** The success of pages and redirects, whose schema has no answers. */
  success?: string
  failures: string
}

/** A field of the host. The forms of pages have it without its description. */
const EXAMPLE = { name: 'city', note: 'An example of what `registration.fields` declares.' }

/** The routes that the plugin registers where the host offers everything, JSON endpoints first. */
export async function endpoints(): Promise<Endpoint[]> {
  // Moved by the option `paths`, the same routes in the same order tell their names.
  const [plain, moved] = [
    await registered({}),
    await registered(Object.fromEntries(MOVABLE.map((name) => [name, `/${name}`])))
  ]
  const all = plain.map((route, index): Endpoint => {
    const method = String(route.method)
    const declared = (route.config as CallersConfig).fastifyAuthority
    const schema = (route.schema ?? {}) as Endpoint['schema']
    return {
      method,
      url: plainUrl(route.url),
      callers: declared.callers,
      operationId: operationIdOf(route),
      schema,
      pathName: moved[index]?.url === route.url ? null : (moved[index]?.url.split('/')[1] ?? null),
      what: declared.what ?? '',
      ...(schema.hide === true
        ? { success: '200, or 304', failures: 'none of its own' }
        : schema.response === undefined
          ? { success: '200, a page; 303 onward', failures: failuresOf(declared, method, true) }
          : { failures: failuresOf(declared, method, false) })
    }
  })
  const isJson = ({ schema }: Endpoint): boolean => schema.response !== undefined
  return [...all.filter(isJson), ...all.filter((one) => !isJson(one))]
}

/** The explanations of errors that declarations need not explain. */
const NOTES: Partial<Record<string, string>> = {
  insufficient_user_authentication: 'the sign-in is not fresh, or lacks the second factor of the account; RFC 9470'
}

/** The errors of an operation in words. A failure of the service itself needs none. */
function failuresOf(declared: Declaration, method: string, isPage: boolean): string {
  const errors = errorsOf({ method, declared, isPage })
  const rows = Object.entries(errors).flatMap(([status, codes]) => {
    const said = declared.errors?.[Number(status)]
    const notes = (typeof said === 'object' && !Array.isArray(said) ? said : {}) as Partial<Record<string, string>>
    const words = codes.map((code) => {
      const note =
        notes[code] ??
        (code === 'access_denied' && declared.callers === 'own_page' ? 'a form of another site' : NOTES[code]) ??
        ''
      return `\`${code}\`${note === '' ? '' : ` (${note})`}`
    })
    return status === '500' ? [] : [{ status, words: words.join(', ') }]
  })
  const statuses = new Map(rows.map(({ words }) => [words, [] as string[]]))
  for (const { status, words } of rows) statuses.get(words)?.push(status)
  return [...statuses].map(([words, alike]) => `${alike.join(', ')} ${words}`).join('; ')
}

function operationIdOf(route: RouteOptions): string {
  const { swaggerTransform } = route.config as {
    swaggerTransform?: false | ((given: object) => { schema: { operationId: string } })
  }
  return typeof swaggerTransform === 'function'
    ? swaggerTransform({ schema: route.schema, url: route.url, route, openapiObject: {} }).schema.operationId
    : ''
}

/** A key of the one algorithm, so that none has to be made in the background. */
const KEY = { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }), alg: 'ES256' }

async function registered(paths: Record<string, string>): Promise<RouteOptions[]> {
  const routes: RouteOptions[] = []
  const app = Fastify({ exposeHeadRoutes: false, logger: false })
  // Preflights and refused methods are in no document, and HEAD is GET without a body.
  app.addHook('onRoute', (route) => {
    const { hide = false } = (route.schema ?? {}) as Endpoint['schema']
    const isRefused = hide && route.url.includes(':first(')
    if (!['OPTIONS', 'HEAD'].includes(String(route.method)) && !isRefused) routes.push(route)
  })
  try {
    await app.register(authPlugin, {
      issuer: 'http://localhost:3000',
      users: memoryUserStore(),
      factors: memoryFactorStore(),
      apiKeys: memoryApiKeyStore(),
      audit: memoryAudit(),
      admin: { allow: () => [] },
      par: true,
      deviceGrant: true,
      clientRegistration: true,
      emailSignIn: {},
      passkeys: { relatedOrigins: ['https://app.example.com'] },
      keys: [KEY],
      clients: [{ clientId: 'app', redirectUris: ['http://localhost:3000/cb'], idTokenSignedResponseAlg: 'ES256' }],
      sendMessage: () => {},
      secret: 'a secret that seals nothing which is kept',
      connections: [github({ clientId: 'app', clientSecret: 'secret' })],
      registration: {
        fields: Type.Object({
          [EXAMPLE.name]: Type.Optional(Type.String({ description: EXAMPLE.note }))
        })
      },
      paths
    })
    await app.ready()
  } finally {
    await app.close()
  }
  return routes
}

/** The fields of a body or an answer as a table; nothing where there are none. */
export function fieldTable(schema: unknown, requiredHeading: string): string[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, TSchema>
    required?: string[]
  }
  const rows = Object.entries(properties).map(
    ([name, field]) => `| \`${name}\` | ${typeOf(noted(name, field))} | ${required.includes(name) ? 'yes' : 'no'} |`
  )
  return rows.length === 0 ? [] : [`| field | type | ${requiredHeading} |`, '| --- | --- | --- |', ...rows]
}

const noted = (name: string, field: TSchema): TSchema =>
  name === EXAMPLE.name && field['type'] === 'string' ? { ...field, description: EXAMPLE.note } : field

const membersOf = (properties: Record<string, TSchema>): string =>
  `{ ${Object.entries(properties)
    .map(([name, field]) => `\`${name}\`: ${typeOf(field)}`)
    .join(', ')} }`

function typeOf(schema: TSchema): string {
  const text = (value: unknown): string => (typeof value === 'string' ? value : '')
  const alternatives = (schema['anyOf'] ?? []) as TSchema[]
  const properties = (schema['properties'] ?? {}) as Record<string, TSchema>
  const type =
    'const' in schema
      ? `\`${String(schema['const'])}\``
      : alternatives.length > 0
        ? alternatives.map(typeOf).join(' or ')
        : Object.keys(properties).length > 0
          ? membersOf(properties)
          : text(schema['type'])
  const nested = schema['items'] as { properties?: Record<string, TSchema> } | undefined
  const inner = nested?.properties === undefined ? '' : ` of ${membersOf(nested.properties)}`
  const description = text(schema['description'])
  return `${type}${inner}${description === '' ? '' : ` (${description.replace(/\.$/, '')})`}`
}
