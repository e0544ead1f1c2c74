import Fastify, { type FastifyInstance } from 'fastify'
import swagger from '@fastify/swagger'
import t from '../support/tap.ts'
import authPlugin, { type AuthorityOptions } from '../../lib/index.ts'
import { authAs, sessionAs } from '../../lib/testing/index.ts'
import { signUp } from '../support/app.ts'
import { basic, CLIENTS, KEYS, SECRET } from '../support/openid.ts'
import { ownOptions } from './coexistence/support/host.ts'
import { type Document, documented, operationsOf, type Schema } from './support/openapi.ts'

// covers H9
t.test('gives every operation a unique id, its security schemes and its responses', async (t) => {
  const { document, operations } = await documented(t)
  t.ok(operations.length > 30)
  t.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length)
  for (const { operationId, path, parameters = [], security, tags, responses } of operations) {
    t.match(operationId, /^[a-z][A-Za-z0-9]+$/)
    t.strictSame(
      parameters.filter((one) => one.in === 'path').map(({ name }) => name),
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      operationId
    )
    t.ok(
      security?.flatMap((one) => Object.keys(one)).every((name) => name in document.components.securitySchemes),
      `${operationId}: its schemes are defined`
    )
    t.ok(
      tags.every((tag) => document.tags.some(({ name, description = '' }) => name === tag && description !== '')),
      `${operationId}: its tags are described`
    )
    for (const [status, { description, headers = {} }] of Object.entries(responses)) {
      t.match(description, /./)
      if (status === '303') t.ok(headers['Location'] !== undefined, `${operationId}: where a 303 leads`)
      if (['429', '503'].includes(status))
        t.ok(headers['Retry-After'] !== undefined, `${operationId}: when to try again`)
    }
  }
  const schemesOf = (id: string): string[] =>
    (operations.find(({ operationId }) => operationId === id)?.security ?? [{ missing: [] }]).map((one) =>
      Object.entries(one).flat(2).join(' ')
    )
  t.strictSame(
    {
      postAuthToken: schemesOf('postAuthToken'),
      postAuthRefresh: schemesOf('postAuthRefresh'),
      postAuthIntrospect: schemesOf('postAuthIntrospect'),
      postAuthRegister: schemesOf('postAuthRegister'),
      deleteAuthSessionsId: schemesOf('deleteAuthSessionsId'),
      getAuthSession: schemesOf('getAuthSession'),
      getAuthUserinfo: schemesOf('getAuthUserinfo'),
      getAuthAuthorize: schemesOf('getAuthAuthorize')
    },
    {
      postAuthToken: ['clientSecret', ''],
      postAuthRefresh: ['refreshToken'],
      postAuthIntrospect: ['clientSecret'],
      postAuthRegister: [],
      deleteAuthSessionsId: ['accessToken', 'oauth2', 'browserSession'],
      getAuthSession: ['browserSession'],
      getAuthUserinfo: ['accessToken', 'oauth2 openid', 'openId openid'],
      getAuthAuthorize: ['browserSession', '']
    }
  )
  t.notOk(
    operations.some(({ path }) => /\.(?:css|js)$/.test(path)),
    'what pages load is no endpoint'
  )
  const authorize = operations.find(({ operationId }) => operationId === 'getAuthAuthorize')
  t.strictSame(Object.keys(authorize?.responses ?? {}), ['200', '303', '400', '500', '503'])
  t.strictSame(
    (authorize?.parameters ?? []).filter(({ required }) => required === true).map(({ name }) => name),
    ['client_id', 'redirect_uri', 'response_type']
  )
  t.ok(
    (operations.find(({ operationId }) => operationId === 'getAuthLogin')?.parameters ?? []).every(
      ({ required }) => required !== true
    ),
    'the sign-in page needs no authorization request'
  )
})

t.test('defines only the security schemes, tags and flows of the configuration', async (t) => {
  const namesOf = ({ components: { securitySchemes } }: Document): object => ({
    schemes: Object.keys(securitySchemes),
    flows: Object.keys(securitySchemes['oauth2']?.flows ?? {})
  })
  t.strictSame(namesOf((await documented(t)).document), {
    schemes: ['accessToken', 'refreshToken', 'clientSecret', 'browserSession', 'oauth2', 'openId'],
    flows: ['authorizationCode', 'password', 'clientCredentials']
  })
  t.strictSame(namesOf((await documented(t, { pages: false, passwordGrant: false })).document), {
    schemes: ['accessToken', 'refreshToken', 'clientSecret', 'oauth2'],
    flows: ['clientCredentials']
  })
  const moved = (
    await documented(t, { issuer: 'https://id.example/tenant', prefix: '/id', paths: { token: '/oauth/token' } })
  ).document.components.securitySchemes
  t.match(moved, {
    oauth2: {
      flows: {
        authorizationCode: {
          authorizationUrl: 'https://id.example/id/authorize',
          tokenUrl: 'https://id.example/oauth/token'
        }
      }
    },
    openId: { openIdConnectUrl: 'https://id.example/tenant/.well-known/openid-configuration' },
    browserSession: { type: 'apiKey', in: 'cookie', name: /^__Host-authority_session_/ }
  })
})

// covers H9
t.test('keeps the schemes and tags of the host, and gives two plugins distinct operation ids', async (t) => {
  const accessToken = { type: 'http', scheme: 'bearer', bearerFormat: 'opaque' }
  const tags = [{ name: 'auth', description: 'Of the host.' }]
  const openapi = {
    tags,
    components: { securitySchemes: { accessToken, other: { type: 'apiKey', in: 'header', name: 'x-api-key' } } }
  }
  const { document } = await documented(t, {}, { openapi })
  t.match(document.components.securitySchemes, {
    accessToken,
    other: { name: 'x-api-key' },
    refreshToken: { scheme: 'bearer' },
    clientSecret: { scheme: 'basic' }
  })
  t.strictSame(
    document.tags.map(({ name, description }) => (name === 'auth' ? description : name)),
    ['Of the host.', 'auth account', 'auth pages']
  )
  t.strictSame(
    [tags.length, Object.keys(openapi.components.securitySchemes).length],
    [1, 2],
    'what the host gave is not changed'
  )
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  await app.register(swagger, { openapi: {} })
  await app.register(authPlugin, ownOptions({ rateLimit: false, keys: KEYS, clients: CLIENTS }))
  await app.register(
    authPlugin,
    ownOptions({
      issuer: 'http://localhost:3000/two',
      rateLimit: false,
      keys: KEYS,
      clients: CLIENTS,
      prefix: '/two',
      decorators: {
        authenticate: 'a2',
        requireScope: 's2',
        requireAuth: 'q2',
        authority: 'y2',
        auth: 'r2',
        authSession: 'z2',
        authenticateOptional: 'o2',
        requireFirstParty: 'f2'
      } as AuthorityOptions['decorators']
    })
  )
  await app.ready()
  const ids = operationsOf(app.swagger() as unknown as Document).map(({ operationId }) => operationId)
  t.equal(new Set(ids).size, ids.length)
  t.ok(ids.includes('postAuthToken') && ids.includes('postTwoToken'))
})

t.test('keeps operation ids when routes move', async (t) => {
  const idsOf = async (options: Partial<AuthorityOptions>): Promise<string[]> =>
    (await documented(t, options)).operations.map(({ operationId }) => operationId).sort()
  const usual = await idsOf({})
  t.strictSame(await idsOf({ prefix: '/identity' }), usual)
  t.strictSame(
    await idsOf({
      paths: { token: '/oauth/token', login: '/sign-in', jwks: '/keys' }
    }),
    usual
  )
})

t.test('gives exposed HEAD routes their own operation ids', async (t) => {
  const { operations } = await documented(t, {}, { openapi: {}, exposeHeadRoutes: true })
  const ids = operations.map(({ operationId }) => operationId)
  t.ok(ids.includes('headAuthProfile'))
  t.equal(new Set(ids).size, ids.length)
})

t.test('calls transformObject of the host for our routes, but not its transform', async (t) => {
  const transform = (): never => {
    throw new TypeError('no schema of mine')
  }
  const { document } = await documented(
    t,
    {},
    {
      openapi: {},
      transform,
      transformObject: ({ openapiObject }: { openapiObject: Document }) => ({
        ...openapiObject,
        paths: { '/auth/token': openapiObject.paths['/auth/token'] }
      })
    }
  )
  t.strictSame(Object.keys(document.paths), ['/auth/token'])
})

for (const [order, warns] of [
  ['before', false],
  ['after', true],
  ['never', false]
] as const) {
  t.test(
    `@fastify/swagger registered ${order}: ` +
      (warns ? 'logs once that the document lacks our routes' : 'logs nothing'),
    async (t) => {
      const lines: Array<{ code?: string; msg: string }> = []
      const app = Fastify({
        logger: {
          level: 'warn',
          stream: {
            write: (line: string) => {
              lines.push(JSON.parse(line) as { msg: string })
            }
          }
        }
      }) as unknown as FastifyInstance
      t.teardown(async () => {
        await app.close()
      })
      if (order === 'before') await app.register(swagger, { openapi: {} })
      await app.register(async (child) => {
        await child.register(authPlugin, ownOptions({ rateLimit: false, keys: KEYS }))
      })
      if (order === 'after') await app.register(swagger, { openapi: {} })
      await app.ready()
      t.strictSame(
        lines
          .filter(({ code }) => code === 'FST_AUTHORITY_UNDOCUMENTED')
          .map(({ msg }) => /Register @fastify\/swagger first/.test(msg)),
        warns ? [true] : []
      )
      if (order !== 'never') t.equal('/auth/token' in (app.swagger() as unknown as Document).paths, order === 'before')
    }
  )
}

/** The same sequence in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const WORDS = [
  '',
  'a',
  'ann',
  'openid',
  'code',
  'password',
  'refresh_token',
  'none',
  'x'.repeat(300),
  'ä€😀',
  '\u0000',
  '"\\',
  '../..',
  '__proto__',
  'https://app.example/cb',
  'a b',
  '%zz',
  '<script>',
  '-1',
  'null',
  '[]',
  '{}'
]

function valueOf(schema: Schema, pick: (below: number) => number): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[pick(schema.enum.length)]
  if (schema.anyOf !== undefined) return valueOf(schema.anyOf[pick(schema.anyOf.length)] ?? {}, pick)
  if (schema.type === 'object') {
    const entries = Object.entries(schema.properties ?? {}).filter(
      ([name]) => schema.required?.includes(name) === true || pick(2) === 0
    )
    return Object.fromEntries(entries.map(([name, one]) => [name, valueOf(one, pick)]))
  }
  if (schema.type === 'array') return Array.from({ length: pick(3) }, () => valueOf(schema.items ?? {}, pick))
  if (schema.type === 'boolean') return pick(2) === 0
  if (schema.type === 'integer' || schema.type === 'number') return pick(1000)
  const text = (WORDS[pick(WORDS.length)] ?? '').slice(0, schema.maxLength ?? 1000)
  return text.padEnd(schema.minLength ?? 0, 'p')
}

// covers H9
t.test('answers random requests only with a status, a type and headers that the document lists', async (t) => {
  const { app, operations } = await documented(t)
  const { sub: id } = await signUp(app, 'ann@example.com')
  const { refresh_token: refreshToken = '' } = await app.authority.issueTokens(id)
  const callers: Array<Record<string, string>> = [
    {},
    await authAs(app, { id }),
    await sessionAs(app, { id }),
    basic('web', SECRET),
    { authorization: `Bearer ${refreshToken}` },
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  ]
  const pick = numbers(20_261_122)
  const seen = new Map<string, Set<number>>()
  for (const { operationId, method, path, parameters = [], requestBody, responses } of operations) {
    const statuses = new Set<number>()
    for (let turn = 0; turn < 28; turn++) {
      const query = new URLSearchParams(
        parameters
          .filter((one) => one.in === 'query' && (one.required === true || pick(2) === 0))
          .map(({ name, schema }) => [name, String(valueOf(schema, pick))] as [string, string])
      ).toString()
      const url = `${path.replace(/\{\w+\}/g, () => encodeURIComponent(['x', 'A'.repeat(27), 'ä', '%'][pick(4)] ?? ''))}${query === '' ? '' : `?${query}`}`
      const types = Object.entries(requestBody?.content ?? {})
      const [type, { schema } = { schema: {} }] = types[pick(types.length)] ?? []
      const body = type === undefined ? undefined : (valueOf(schema, pick) as Record<string, string>)
      const payload =
        body === undefined
          ? {}
          : { payload: type === 'application/json' ? JSON.stringify(body) : new URLSearchParams(body).toString() }
      const reply = await app.inject({
        method: method.toUpperCase() as 'GET',
        url,
        headers: { ...callers[turn % callers.length], ...(type === undefined ? {} : { 'content-type': type }) },
        ...payload
      })
      const { statusCode } = reply
      statuses.add(statusCode)
      if (!(String(statusCode) in responses) && !(`${String(statusCode)[0]}XX` in responses))
        t.fail(`${operationId}: ${statusCode} to ${url} ${JSON.stringify(body)}`)
      if (statusCode >= 500) t.fail(`${operationId}: ${statusCode} ${reply.body}`)
      const listed = responses[String(statusCode)] ?? responses[`${String(statusCode)[0]}XX`]
      const [answered = ''] = String(reply.headers['content-type'] ?? '').split(';')
      if (listed?.content !== undefined && !(answered in listed.content))
        t.fail(`${operationId}: ${statusCode} is ${answered}`)
      const codes = listed?.content?.['application/json']?.schema.properties?.['error']?.enum
      if (codes !== undefined && !codes.includes(reply.json<{ error: string }>().error))
        t.fail(`${operationId}: ${statusCode} ${reply.body}`)
      for (const header of ['location', 'www-authenticate', 'retry-after'])
        if (
          header in reply.headers &&
          !Object.keys(listed?.headers ?? {}).some((name) => name.toLowerCase() === header)
        )
          t.fail(`${operationId}: ${statusCode} has ${header}`)
    }
    seen.set(operationId, statuses)
  }
  t.equal(seen.size, operations.length)
  t.ok(
    [...seen.values()].some((statuses) => statuses.has(200)) &&
      [...seen.values()].some((statuses) => statuses.has(303)),
    'some of it was good'
  )
})
