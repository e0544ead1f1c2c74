import Fastify, { type FastifyInstance } from 'fastify'
import swagger from '@fastify/swagger'
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import authPlugin, { type AuthorityOptions } from '../../lib/index.ts'
import { authAs, sessionAs } from '../../lib/testing/index.ts'
import { signUp } from '../support/app.ts'
import { basic, CLIENTS, KEYS, SECRET } from '../support/openid.ts'
import { ownOptions } from './coexistence/support/host.ts'

interface Schema { type?: string, enum?: unknown[], const?: unknown, anyOf?: Schema[], properties?: Record<string, Schema>, required?: string[], additionalProperties?: boolean, minLength?: number, maxLength?: number, items?: Schema, format?: string }
interface Operation {
  operationId: string
  description?: string
  security?: Array<Record<string, string[]>>
  parameters?: Array<{ name: string, in: string, required?: boolean, schema: Schema }>
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { description: string, content?: Record<string, unknown> }>
}
interface Document { openapi: string, paths: Record<string, Record<string, Operation>>, components: { securitySchemes?: Record<string, unknown> } }
type Listed = Operation & { method: string, path: string }

async function documented (t: { teardown(task: () => Promise<void>): void }, options: Partial<AuthorityOptions> = {}, openapi: object = {}): Promise<{ app: FastifyInstance, document: Document, operations: Listed[] }> {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => { await app.close() })
  await app.register(swagger, { openapi })
  await app.register(authPlugin, ownOptions({ rateLimit: false, keys: KEYS, clients: CLIENTS, ...options }))
  await app.ready()
  const document = app.swagger() as unknown as Document
  return { app, document, operations: Object.entries(document.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path }))) }
}

// covers H9
t.test('every operation has a name of its own, its callers and its answers', async (t) => {
  const { document, operations } = await documented(t)
  t.ok(operations.length > 30)
  t.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length)
  for (const { operationId, path, parameters = [], security = [], responses, method } of operations) {
    t.match(operationId, /^[a-z][A-Za-z0-9]+$/)
    t.strictSame(parameters.filter((one) => one.in === 'path').map(({ name }) => name), [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name), operationId)
    t.ok(security.flatMap((one) => Object.keys(one)).every((name) => name in (document.components.securitySchemes ?? {})), `${operationId}: its schemes are defined`)
    t.ok(Object.keys(responses).some((status) => /^[23]/.test(status)) && '4XX' in responses, `${operationId} ${method}: ${Object.keys(responses).join(' ')}`)
    for (const { description } of Object.values(responses)) t.match(description, /./)
  }
  const secured = Object.fromEntries(operations.filter(({ security }) => security !== undefined).map(({ operationId, security = [] }) => [operationId, Object.keys(security[0] ?? {})[0]]))
  t.match(secured, { postAuthRefresh: 'refreshToken', postAuthIntrospect: 'clientSecret', postAuthPassword: 'accessToken', getAuthSessions: 'accessToken', deleteAuthSessionsId: 'accessToken', getAuthUserinfo: 'accessToken', postAuthUserinfo: 'accessToken' })
  t.notOk(operations.some(({ path }) => /\.(?:css|js)$/.test(path)), 'what pages load is no endpoint')
  const { responses } = operations.find(({ operationId }) => operationId === 'getAuthAuthorize') ?? { responses: {} }
  t.strictSame(Object.keys(responses), ['200', '303', '503', '4XX'])
})

// covers H9
t.test('a host\'s own schemes stay, and two plugins in one app name nothing twice', async (t) => {
  const accessToken = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }
  const { document } = await documented(t, {}, { components: { securitySchemes: { accessToken, other: { type: 'apiKey', in: 'header', name: 'x-api-key' } } } })
  t.match(document.components.securitySchemes, { accessToken, other: { name: 'x-api-key' }, refreshToken: { scheme: 'bearer' }, clientSecret: { scheme: 'basic' } })
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => { await app.close() })
  await app.register(swagger, { openapi: {} })
  await app.register(authPlugin, ownOptions({ rateLimit: false, keys: KEYS, clients: CLIENTS }))
  await app.register(authPlugin, ownOptions({ issuer: 'http://localhost:3000/two', rateLimit: false, keys: KEYS, clients: CLIENTS, prefix: '/two', decorators: { authenticate: 'a2', requireScope: 's2', authority: 'y2', auth: 'r2', authSession: 'z2', authenticateOptional: 'o2', requireFirstParty: 'f2' } as AuthorityOptions['decorators'] }))
  await app.ready()
  const ids = Object.values((app.swagger() as unknown as Document).paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
  t.equal(new Set(ids).size, ids.length)
  const old = Fastify() as unknown as FastifyInstance
  t.teardown(async () => { await old.close() })
  await old.register(swagger, { swagger: {} })
  await old.register(authPlugin, ownOptions({ rateLimit: false }))
  await old.ready()
  t.ok(old.swagger(), 'a document of Swagger 2.0 can be made too')
})

// covers H9
t.test('a validator finds nothing wrong with the document, of either version of OpenAPI', async (t) => {
  for (const openapi of ['3.0.3', '3.1.0']) {
    const { document } = await documented(t, {}, { openapi })
    const broken = structuredClone(document)
    for (const operation of Object.values(Object.values(broken.paths)[0] ?? {})) operation.responses = { 200: {} as { description: string } }
    t.equal(document.openapi, openapi)
    t.strictSame(await new Validator().validate({ ...document }), { valid: true }, openapi)
    t.equal((await new Validator().validate({ ...broken })).valid, false, `${openapi}: an answer without a description is found`)
  }
})

/** The same sequence in every run. */
function numbers (seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor(state / 2 ** 32 * below)
  }
}

const WORDS = ['', 'a', 'ann', 'openid', 'code', 'password', 'refresh_token', 'none', 'x'.repeat(300), 'ä€😀', '\u0000', '"\\', '../..', '__proto__', 'https://app.example/cb', 'a b', '%zz', '<script>', '-1', 'null', '[]', '{}']

function valueOf (schema: Schema, pick: (below: number) => number): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[pick(schema.enum.length)]
  if (schema.anyOf !== undefined) return valueOf(schema.anyOf[pick(schema.anyOf.length)] ?? {}, pick)
  if (schema.type === 'object') {
    const entries = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name) === true || pick(2) === 0)
    return Object.fromEntries(entries.map(([name, one]) => [name, valueOf(one, pick)]))
  }
  if (schema.type === 'array') return Array.from({ length: pick(3) }, () => valueOf(schema.items ?? {}, pick))
  if (schema.type === 'boolean') return pick(2) === 0
  if (schema.type === 'integer' || schema.type === 'number') return pick(1000)
  const text = (WORDS[pick(WORDS.length)] ?? '').slice(0, schema.maxLength ?? 1000)
  return text.padEnd(schema.minLength ?? 0, 'p')
}

// covers H9
t.test('what is made of a route\'s own schema is answered by a status that the document lists', async (t) => {
  const { app, operations } = await documented(t)
  const { sub: id } = await signUp(app, 'ann@example.com')
  const { refresh_token: refreshToken = '' } = await app.authority.issueTokens(id)
  const callers: Array<Record<string, string>> = [{}, await authAs(app, { id }), await sessionAs(app, { id }), basic('web', SECRET), { authorization: `Bearer ${refreshToken}` }, { 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }]
  const pick = numbers(20_261_122)
  const seen = new Map<string, Set<number>>()
  for (const { operationId, method, path, parameters = [], requestBody, responses } of operations) {
    const statuses = new Set<number>()
    for (let turn = 0; turn < 28; turn++) {
      const query = new URLSearchParams(parameters.filter((one) => one.in === 'query' && (one.required === true || pick(2) === 0)).map(({ name, schema }) => [name, String(valueOf(schema, pick))] as [string, string])).toString()
      const url = `${path.replace(/\{\w+\}/g, () => encodeURIComponent(['x', 'A'.repeat(27), 'ä', '%'][pick(4)] ?? ''))}${query === '' ? '' : `?${query}`}`
      const types = Object.entries(requestBody?.content ?? {})
      const [type, { schema } = { schema: {} }] = types[pick(types.length)] ?? []
      const body = type === undefined ? undefined : valueOf(schema, pick) as Record<string, string>
      const payload = body === undefined ? {} : { payload: type === 'application/json' ? JSON.stringify(body) : new URLSearchParams(body).toString() }
      const reply = await app.inject({ method: method.toUpperCase() as 'GET', url, headers: { ...callers[turn % callers.length], ...(type === undefined ? {} : { 'content-type': type }) }, ...payload })
      const { statusCode } = reply
      statuses.add(statusCode)
      if (!(String(statusCode) in responses) && !(`${String(statusCode)[0]}XX` in responses)) t.fail(`${operationId}: ${statusCode} to ${url} ${JSON.stringify(body)}`)
      if (statusCode >= 500) t.fail(`${operationId}: ${statusCode} ${reply.body}`)
      const listed = responses[String(statusCode)] ?? responses[`${String(statusCode)[0]}XX`]
      const [answered = ''] = String(reply.headers['content-type'] ?? '').split(';')
      if (listed?.content !== undefined && !(answered in listed.content)) t.fail(`${operationId}: ${statusCode} is ${answered}`)
    }
    seen.set(operationId, statuses)
  }
  t.equal(seen.size, operations.length)
  t.ok([...seen.values()].some((statuses) => statuses.has(200)) && [...seen.values()].some((statuses) => statuses.has(303)), 'some of it was good')
})
