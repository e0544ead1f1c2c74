import Fastify, { type FastifyInstance } from 'fastify'
import swagger from '@fastify/swagger'
import authPlugin, { type AuthorityOptions } from '../../../lib/index.ts'
import { isRefusal, plainUrl } from '../../support/app.ts'
import { CLIENTS, KEYS } from '../../support/openid.ts'
import { ownOptions } from '../coexistence/support/host.ts'

export interface Schema {
  type?: string
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean
  minLength?: number
  maxLength?: number
  items?: Schema
  format?: string
}
interface Answer {
  description: string
  headers?: Record<string, unknown>
  content?: Record<string, { schema: Schema }>
}
export interface Operation {
  operationId: string
  description?: string
  tags: string[]
  security?: Array<Record<string, string[]>>
  parameters?: Array<{ name: string; in: string; required?: boolean; description?: string; schema: Schema }>
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, Answer>
}
export interface Document {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  tags: Array<{ name: string; description?: string }>
  components: { securitySchemes: Record<string, { type: string; flows?: Record<string, object> }> }
}
export type Listed = Operation & { method: string; path: string }
interface Test {
  teardown(task: () => Promise<void>): void
}

/** An app with a document, and the routes that were really registered: `GET /auth/login`. */
export async function documented(
  t: Test,
  options: Partial<AuthorityOptions> = {},
  settings: object = { openapi: {} }
): Promise<{ app: FastifyInstance; document: Document; operations: Listed[]; routes: string[] }> {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  const routes: string[] = []
  app.addHook('onRoute', ({ method, url, schema }) => {
    if (method !== 'OPTIONS' && method !== 'HEAD' && !isRefusal(url, schema))
      routes.push(`${String(method)} ${plainUrl(url)}`)
  })
  await app.register(swagger, settings)
  await app.register(authPlugin, ownOptions({ rateLimit: false, keys: KEYS, clients: CLIENTS, ...options }))
  await app.ready()
  const document = app.swagger() as unknown as Document
  return { app, document, operations: operationsOf(document), routes }
}

export function operationsOf(document: Document): Listed[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path }))
  )
}
