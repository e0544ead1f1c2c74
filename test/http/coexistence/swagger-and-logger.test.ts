import Fastify, { type FastifyInstance } from 'fastify'
import swagger from '@fastify/swagger'
import t from '../../support/tap.ts'
import authPlugin, { memoryFactorStore } from '../../../lib/index.ts'
import { bearer } from '../../support/app.ts'
import { CLIENTS, KEYS } from '../../support/openid.ts'
import { authJourney, ownOptions } from './support/host.ts'

interface Operation {
  tags?: string[]
  summary?: string
  parameters?: Array<{ name: string; in: string }>
  requestBody?: { content: Record<string, { schema: { properties?: object } }> }
  responses?: object
  description?: string
}
/** `types`: content types of the body. `success`: the statuses with a response schema; pages have none. */
interface Expected {
  fields?: string[]
  types?: number
  query?: string[]
  secured?: boolean
  success?: string
}

const AUTHORIZATION = [
  'acr_values',
  'claims',
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'connection',
  'id_token_hint',
  'login_hint',
  'max_age',
  'nonce',
  'prompt',
  'redirect_uri',
  'response_mode',
  'response_type',
  'scope',
  'screen_hint',
  'state',
  'ui_locales'
]
const JOURNEY = [...AUTHORIZATION, 'return_to'].sort()
const LOGOUT = [
  'client_id',
  'id_token_hint',
  'logout_hint',
  'post_logout_redirect_uri',
  'returnTo',
  'state',
  'ui_locales'
]
const TOKEN_QUERY = ['client_id', 'client_secret', 'token', 'token_type_hint']
const EXPECTED: Record<string, Expected> = {
  'post /auth/token': {
    fields: [
      'client_id',
      'client_secret',
      'code',
      'code_verifier',
      'connection',
      'credential',
      'grant_type',
      'mfa_token',
      'nonce',
      'otp',
      'password',
      'recovery_code',
      'redirect_uri',
      'refresh_token',
      'requested_token_type',
      'scope',
      'subject_token',
      'subject_token_type',
      'username'
    ],
    types: 2,
    success: '200'
  },
  'post /auth/refresh': { success: '200' },
  'post /auth/revoke': { fields: TOKEN_QUERY, types: 2, success: '200' },
  'post /auth/introspect': { fields: TOKEN_QUERY, types: 2, success: '200' },
  'post /auth/register': { fields: ['password', 'username'], success: '201' },
  'post /auth/password': { fields: ['current_password', 'new_password'], secured: true, success: '204' },
  'post /auth/password-reset': { fields: ['username'], success: '202' },
  'post /auth/password-reset/confirm': { fields: ['password', 'token'], success: '204' },
  'post /auth/email/verify': { fields: ['token'], success: '204' },
  'get /auth/profile': { secured: true, success: '200' },
  'post /auth/email': { fields: ['email', 'password'], secured: true, success: '202' },
  'post /auth/email/resend': { secured: true, success: '202' },
  'delete /auth/account': { fields: ['password'], secured: true, success: '204' },
  'get /auth/sessions': { secured: true, success: '200' },
  'delete /auth/sessions/{id}': { secured: true, success: '204' },
  'get /auth/factors': { secured: true, success: '200' },
  'post /auth/factors/totp': { secured: true, success: '200' },
  'post /auth/factors/totp/confirm': { fields: ['code', 'enrolment', 'name'], secured: true, success: '201' },
  'post /auth/factors/passkeys/options': { fields: ['kind'], secured: true, success: '200' },
  'post /auth/factors/passkeys': { fields: ['credential', 'name'], secured: true, success: '201' },
  'get /auth/passkey-challenge': { success: '200' },
  'post /auth/factors/recovery-codes': { secured: true, success: '200' },
  'post /auth/factors/two-step': { fields: ['on'], secured: true, success: '200' },
  'patch /auth/factors/{id}': { fields: ['name'], secured: true, success: '204' },
  'delete /auth/factors/{id}': { secured: true, success: '204' },
  'get /auth/session': { success: '200' },
  'post /auth/session': { success: '200' },
  'delete /auth/session': { success: '200' },
  'get /auth/userinfo': { secured: true, success: '200' },
  'post /auth/userinfo': { secured: true, success: '200' },
  'get /auth/authorize': { query: AUTHORIZATION },
  'post /auth/authorize': { fields: AUTHORIZATION },
  'get /auth/login': { query: JOURNEY },
  'post /auth/login': { fields: ['credential', 'password', 'username'], query: JOURNEY },
  'get /auth/second-factor': { query: JOURNEY },
  'post /auth/second-factor': { fields: ['code', 'credential', 'recovery_code', 'remember'], query: JOURNEY },
  'get /auth/reauthenticate': { query: JOURNEY },
  'post /auth/reauthenticate': { fields: ['credential', 'current_password', 'decision'], query: JOURNEY },
  'get /auth/second-factor/link': { query: ['token'] },
  'post /auth/second-factor/link': { fields: ['token'] },
  'get /auth/second-factor/set-up': { query: JOURNEY },
  'post /auth/second-factor/set-up': {
    fields: ['code', 'credential', 'decision', 'enrolment', 'name'],
    query: JOURNEY
  },
  'get /auth/security': {},
  'post /auth/security': { fields: ['decision', 'factor', 'name'] },
  'get /auth/passkey-prompt': { query: JOURNEY },
  'post /auth/passkey-prompt': { fields: ['credential', 'name'], query: JOURNEY },
  'get /auth/security/passkeys': {},
  'post /auth/security/passkeys': { fields: ['credential', 'name'] },
  'get /auth/security/totp': {},
  'post /auth/security/totp': { fields: ['code', 'enrolment', 'name'] },
  'get /auth/account': {},
  'get /auth/account/email': {},
  'post /auth/account/email': { fields: ['current_password', 'decision', 'email'] },
  'get /auth/account/remove': {},
  'post /auth/account/remove': { fields: ['current_password'] },
  'get /auth/account/password': {},
  'post /auth/account/password': { fields: ['current_password', 'decision', 'password'] },
  'get /auth/account/sessions': {},
  'post /auth/account/sessions': { fields: ['decision', 'session'] },
  'get /auth/account/access': {},
  'post /auth/account/access': { fields: ['client'] },
  'get /auth/signup': { query: JOURNEY },
  'post /auth/signup': { fields: ['password', 'username'], query: JOURNEY },
  'get /auth/forgot-password': { query: JOURNEY },
  'post /auth/forgot-password': { fields: ['username'], query: JOURNEY },
  'get /auth/reset-password': { query: ['token'] },
  'post /auth/reset-password': { fields: ['password', 'token'] },
  'get /auth/undo': { query: ['token'] },
  'post /auth/undo': { fields: ['token'] },
  'get /auth/verify-email': { query: ['token'] },
  'post /auth/verify-email': { fields: ['decision', 'token'] },
  'get /auth/consent': { query: AUTHORIZATION },
  'post /auth/consent': { fields: ['decision'], query: AUTHORIZATION },
  'get /auth/logout': { query: LOGOUT },
  'post /auth/logout': {},
  'get /.well-known/jwks.json': { success: '200' },
  'get /.well-known/oauth-authorization-server': { success: '200' },
  'get /.well-known/openid-configuration': { success: '200' }
}

t.test('@fastify/swagger lists every route with its schemas', async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  await app.register(swagger, { openapi: {} })
  await app.register(
    authPlugin,
    ownOptions({ rateLimit: false, keys: KEYS, clients: CLIENTS, factors: memoryFactorStore() })
  )
  await app.ready()
  const { paths = {} } = app.swagger() as { paths?: Record<string, Record<string, Operation>> }
  const operations = new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation])
    )
  )
  t.same([...operations.keys()].sort(), Object.keys(EXPECTED).sort(), 'each route has a row in EXPECTED')
  for (const [name, { fields, types = 1, query = [], secured, success }] of Object.entries(EXPECTED)) {
    const operation = operations.get(name)
    t.match(operation, { tags: [/^auth/], summary: /\w/ }, name)
    if (success !== undefined)
      t.ok(operation?.responses !== undefined && success in operation.responses, `${name} has a ${success}`)
    t.equal(/access token/.test(operation?.description ?? ''), secured === true, name)
    t.same(
      (operation?.parameters ?? [])
        .filter((one) => one.in === 'query')
        .map((one) => one.name)
        .sort(),
      query,
      name
    )
    const content = operation?.requestBody?.content ?? {}
    t.equal(Object.keys(content).length, fields === undefined ? 0 : types, name)
    for (const { schema } of Object.values(content)) t.same(Object.keys(schema.properties ?? {}).sort(), fields, name)
  }
  t.same(await authJourney(app), [], 'and the routes work')
})

t.test('writes auth requests to the logger of the host, with its request ids', async (t) => {
  const lines: Array<Record<string, unknown>> = []
  const app = Fastify({
    requestIdHeader: 'x-request-id',
    logger: {
      level: 'debug',
      stream: {
        write: (line: string) => {
          lines.push(JSON.parse(line) as Record<string, unknown>)
        }
      }
    }
  }) as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  await app.register(authPlugin, ownOptions())
  await app.inject({
    method: 'POST',
    url: '/auth/refresh',
    headers: { 'x-request-id': 'of-the-host', ...bearer('x.y') }
  })
  t.same(
    lines.filter(({ reqId }) => reqId === 'of-the-host').map(({ msg }) => msg),
    ['incoming request', 'fastify-authority: request refused', 'request completed']
  )
})

t.test('runs auth routes when the host removed its parsers or has a small body limit', async (t) => {
  for (const order of ['before', 'after'] as const) {
    const app = Fastify({ bodyLimit: 10, logger: false }) as unknown as FastifyInstance
    const strip = (): void => {
      app.removeAllContentTypeParsers()
      app.addContentTypeParser('*', (_request, _payload, done) => {
        done(new Error('the parser of the host'))
      })
    }
    if (order === 'before') strip()
    await app.register(authPlugin, ownOptions({ rateLimit: false }))
    if (order === 'after') strip()
    app.post('/host', async () => 'parsed')
    t.same(await authJourney(app), [], order)
    t.match(
      (
        await app.inject({
          method: 'POST',
          url: '/host',
          payload: '{}',
          headers: { 'content-type': 'application/json' }
        })
      ).json(),
      { message: 'the parser of the host' }
    )
    await app.close()
  }
})

t.test('app.authenticate on a host route sends the status, the challenge and the body of its schema', async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  await app.register(authPlugin, ownOptions())
  const response = { '4xx': { type: 'object', properties: { message: { type: 'string' } } } }
  app.get('/mine', { onRequest: [app.authenticate], schema: { response } }, async () => 'mine')
  const reply = await app.inject({ url: '/mine' })
  t.equal(reply.statusCode, 401)
  t.match(reply.headers, { 'www-authenticate': 'Bearer', 'content-type': 'application/json; charset=utf-8' })
  t.same(reply.json(), { message: 'A Bearer token is required.' })
})
