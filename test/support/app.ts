// The plugin loads it with the first count. Here it is loaded before, so that a few turns are enough for the work
// behind an answer.
import '@fastify/rate-limit'
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions
} from 'fastify'
import authPlugin, {
  type AuthorityEventName,
  type AuthorityOptions,
  memoryUserStore,
  type Message,
  OAuthError
} from '../../lib/index.ts'
import { plainUrl } from '../../lib/http/edge/callers.ts'
import { SERVICES } from '../../lib/composition/services.ts'
import { EVENT_NAMES } from '../../lib/events.ts'
import {
  capturedMessages,
  type CapturedMessages,
  fastHasher,
  type FastHasher,
  steppedClock,
  type SteppedClock
} from '../../lib/testing/index.ts'

export type LightMyRequestResponse = Awaited<ReturnType<FastifyInstance['inject']>>

export const ISSUER = 'http://localhost:3000'
export const PASSWORD = 'correct horse battery'

export interface TestApp {
  app: FastifyInstance
  clock: SteppedClock
  hasher: FastHasher
  messages: CapturedMessages<Message>
  /** Every event so far. */
  events: Array<{ name: AuthorityEventName; payload: Record<string, unknown> }>
  /** Resolves when the work behind the answers is done. */
  idle(): Promise<void>
  close(): Promise<void>
}

/**
 * An app with the plugin on a stepped clock, a fast hasher, captured messages; no limits unless the test asks for them.
 */
export async function testApp(
  options: Partial<AuthorityOptions> = {},
  server: FastifyServerOptions = {},
  before?: (app: FastifyInstance) => unknown
): Promise<TestApp> {
  // Longer than Fastify's 10 s, because the first start of a process loads the whole library.
  const app = Fastify({ pluginTimeout: 120_000, ...server }) as unknown as FastifyInstance
  const clock = steppedClock()
  const hasher = fastHasher()
  const messages = capturedMessages()
  await before?.(app)
  await app.register(authPlugin, {
    issuer: ISSUER,
    users: memoryUserStore(),
    clock,
    rateLimit: false,
    sendMessage: messages.send,
    ...options,
    // Most tests use short names. The default has its own tests.
    ...(options.registration === false ||
    (options.registration === undefined && options.users !== undefined && options.users.create === undefined)
      ? {}
      : { registration: { username: 'any', ...options.registration } }),
    password: { hasher, ...options.password }
  })
  const events: TestApp['events'] = []
  // Leaves out events of keys, which arrive in the background: test/http/events-beside-sign-in tests them.
  for (const name of EVENT_NAMES.filter((each) => !each.startsWith('key_')))
    app.authority.on(name, (payload) => {
      events.push({ name, payload: payload as unknown as Record<string, unknown> })
    })
  const errorHandler = tellCode
  app.get('/me', { onRequest: [app.authenticate], errorHandler }, async (request) => request.auth)
  app.get('/admin', { onRequest: [app.authenticate, app.requireScope('admin')], errorHandler }, async () => 'admin')
  await app.ready()
  return {
    app,
    clock,
    hasher,
    messages,
    events,
    idle: async () => {
      await SERVICES.get(app.authority)?.grants.accounts.background.idle()
    },
    close: async () => {
      await app.close()
    }
  }
}

/** The error handler of a route of the host's, so that a test sees the code of a refusal by a hook. */
export function tellCode(error: FastifyError, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (!(error instanceof OAuthError)) throw error
  return reply
    .code(error.statusCode)
    .headers(error.headers)
    .send({ error: error.error, error_description: error.message, code: error.code })
}

export interface Tokens {
  access_token: string
  token_type: string
  expires_in: number
  refresh_token: string
  scope: string
}

export async function signUp(
  app: FastifyInstance,
  username = 'ann',
  password = PASSWORD
): Promise<{ sub: string; username: string }> {
  const reply = await app.inject({ method: 'POST', url: '/auth/register', payload: { username, password } })
  if (reply.statusCode !== 201) throw new Error(`register: ${reply.statusCode} ${reply.body}`)
  return reply.json()
}

export async function signIn(
  app: FastifyInstance,
  username = 'ann',
  password = PASSWORD,
  extra: Record<string, unknown> = {}
): Promise<Tokens> {
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'password', username, password, ...extra }
  })
  if (reply.statusCode !== 200) throw new Error(`token: ${reply.statusCode} ${reply.body}`)
  return reply.json()
}

/** The path of a route that gives way to a route of the host, such as the refusal of other methods (405). */
export { plainUrl }

/** True for a route that refuses other methods of an endpoint. */
export const isRefusal = (url: string, schema: { hide?: boolean } | undefined): boolean =>
  plainUrl(url) !== url && schema?.hide === true

export const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` })
