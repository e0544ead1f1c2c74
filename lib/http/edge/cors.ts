import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, onSendHookHandler } from 'fastify'
import type { ClientLookup, Client, Clients } from '../../ports/client-store.ts'
import { callableBy } from './callers.ts'
import type { RequestLimiter } from './limit.ts'
import { originOfUrl, originsOf } from '../../clients/rights.ts'
import { isLoopbackHost } from '../../protocol/redirect-uri.ts'
import { clientCredentials } from '../../protocol/client-authentication.ts'

/**
 * A policy applies to every route that is registered in `child` afterwards. All policies but `noOriginBesides` add an
 * OPTIONS route to each path that has none.
 */
export type CorsPolicy = (child: FastifyInstance) => void

/**
 * The policies for pages of other origins. No policy allows credentials. Only `anyOrigin` allows the origin `null`.
 * Each policy removes the headers of a host's own CORS plugin, so that only one policy applies to a route.
 * @see RFC 9700 §2.6, https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export interface Cors {
  /**
   * For endpoints where clients authenticate: the origins of listed clients, and of any other client that the request
   * names.
   */
  ofClients: CorsPolicy
  /**
   * For endpoints that take an access token: the origins of listed clients, and of any other client to which the token
   * was issued.
   */
  ofAccessTokens: CorsPolicy
  /** Any origin, for public documents. */
  anyOrigin: CorsPolicy
  /** No other origin, for pages and for endpoints that servers call. */
  noOrigin: CorsPolicy
  /** Like `noOrigin`, for a path that another group has too. That group answers the preflights. */
  noOriginBesides: CorsPolicy
}

type AllowsOrigin = (request: FastifyRequest, origin: string) => boolean | Promise<boolean>
/** Sets the headers of an answer. Synchronous if no client has to be looked up. */
type Apply = (request: FastifyRequest, reply: FastifyReply, methods: ReadonlySet<string>) => void | Promise<void>

const PREFLIGHT_MAX_AGE_SECONDS = 600
/**
 * Headers that scripts could not read otherwise: the reason of a refusal, the DPoP nonce, and the state of the rate
 * limit.
 */
const EXPOSED_HEADERS =
  'WWW-Authenticate, DPoP-Nonce, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset'
/**
 * All CORS response headers, and the header of Private Network Access, a draft that some browsers followed.
 * @see https://fetch.spec.whatwg.org/#http-responses
 */
const CORS_HEADERS = ['origin', 'credentials', 'methods', 'headers', 'private-network']
  .map((name) => `access-control-allow-${name}`)
  .concat('access-control-expose-headers', 'access-control-max-age')
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]+)*$/

/** Keeps a route out of the document of @fastify/swagger. */
const NOT_IN_DOCS: FastifySchema & { hide: boolean } = { hide: true }

/** The id of the proven client of each request. */
const provenClientIds = new WeakMap<FastifyRequest, string>()

/**
 * Remembers the client that a request proved, by client authentication or an access token. The policy `ofAccessTokens`
 * learns the client only by this call.
 */
export function rememberClient(request: FastifyRequest, clientId: string): void {
  provenClientIds.set(request, clientId)
}

/**
 * Makes the policies. Computes the origins of `listed` clients once. `others`: clients of a store, and unknown clients.
 * With them, any web origin may preflight, because a preflight names no client. The preflight exposes nothing: only the
 * client's origins may read the answer to the request that follows.
 */
export function createCors(listed: readonly Client[], others: ClientsOf | null = null): Cors {
  const known = new Set(listed.flatMap(originsOf))
  const policyOf = (clientIdOf: (request: FastifyRequest) => string | undefined): CorsPolicy => {
    const byOthers = others === null ? () => false : byClient(others, clientIdOf)
    return allowedOrigins((request, origin) => known.has(origin) || byOthers(request, origin))
  }
  return {
    ofClients: policyOf(claimedClientId),
    ofAccessTokens: policyOf(() => undefined),
    anyOrigin,
    noOrigin,
    noOriginBesides
  }
}

function anyOrigin(child: FastifyInstance): void {
  onRoutes(child, (request, reply, methods) => {
    removeCorsHeaders(reply)
    reply.header('access-control-allow-origin', '*')
    if (request.method === 'OPTIONS') allowRequest(request, reply, methods)
  })
}

/** Only our own origin, whatever the host's CORS plugin has set. @see RFC 9700 §2.6 */
function noOrigin(child: FastifyInstance): void {
  onRoutes(child, (_request, reply) => {
    removeCorsHeaders(reply)
  })
}

function allowedOrigins(allows: AllowsOrigin): CorsPolicy {
  return (child) => {
    onRoutes(child, (request, reply, methods) => {
      removeCorsHeaders(reply)
      // Sets `Vary` even if the request has no `Origin`, because a cache could otherwise reuse the answer for a request
      // with `Origin`.
      addVary(reply, ['Origin'])
      const { origin } = request.headers
      if (origin === undefined) return
      const answer = (isAllowed: boolean): void => {
        if (!isAllowed) return
        reply.header('access-control-allow-origin', origin)
        if (request.method === 'OPTIONS') allowRequest(request, reply, methods)
        else reply.header('access-control-expose-headers', EXPOSED_HEADERS)
      }
      const isAllowed = allows(request, origin)
      return typeof isAllowed === 'boolean' ? answer(isAllowed) : isAllowed.then(answer)
    })
  }
}

/**
 * Adds an OPTIONS route to each path that has none. Sets an `onSend` hook on each route: route hooks run after all
 * instance hooks, even those that the host registers later. `cors: false` in the config keeps @fastify/cors away.
 * `apply` removes CORS headers of the host, except on the raw response and in the host's own OPTIONS route of the path.
 */
function onRoutes(child: FastifyInstance, apply: Apply): void {
  const methodsOfPaths = new Map<string, Set<string>>()
  child.addHook('onRoute', (route) => {
    const { constraints = {} } = route
    const path = `${route.url} ${JSON.stringify(constraints)}`
    const known = methodsOfPaths.get(path)
    const methods = known ?? new Set()
    methodsOfPaths.set(path, methods)
    route.config = Object.assign({}, route.config, { cors: false })
    const onSend: onSendHookHandler = (request, reply, payload, done) => {
      const applied = apply(request, reply, methods)
      if (applied === undefined) done(null, payload)
      else
        applied.then(() => {
          done(null, payload)
        }, done)
    }
    route.onSend = [route.onSend ?? [], onSend].flat()
    if (route.method === 'OPTIONS') return
    for (const method of [route.method].flat()) methods.add(method)
    // Adds no OPTIONS route if the path has one already: ours, or the host's own.
    if (known !== undefined || child.hasRoute({ method: 'OPTIONS', url: route.url, constraints })) return
    child.route({
      ...callableBy('anyone'),
      method: 'OPTIONS',
      url: route.routePath,
      constraints,
      schema: NOT_IN_DOCS,
      handler: async (_request, reply) =>
        await reply
          .code(204)
          .header('allow', [...methods].join(', '))
          .send()
    })
  })
}

/** Like `noOrigin`, but adds no OPTIONS route. */
function noOriginBesides(child: FastifyInstance): void {
  child.addHook('onRoute', (route) => {
    const onSend: onSendHookHandler = (_request, reply, payload, done) => {
      removeCorsHeaders(reply)
      done(null, payload)
    }
    route.onSend = [route.onSend ?? [], onSend].flat()
  })
}

/** Allows a preflight, with any header that it asks for. */
function allowRequest(request: FastifyRequest, reply: FastifyReply, methods: ReadonlySet<string>): void {
  const { 'access-control-request-headers': headers = '' } = request.headers
  reply.header('access-control-allow-methods', [...methods].join(', '))
  if (HEADER_NAMES.test(headers)) reply.header('access-control-allow-headers', headers)
  reply.header('access-control-max-age', String(PREFLIGHT_MAX_AGE_SECONDS))
}

/** Removes the headers of a host's CORS plugin. */
export function removeCorsHeaders(reply: FastifyReply): void {
  for (const name of CORS_HEADERS) if (reply.hasHeader(name)) reply.removeHeader(name)
}

/** Adds names to the `Vary` header, and keeps those that the host's hooks have set. */
export function addVary(reply: FastifyReply, names: readonly string[]): void {
  const before = [reply.getHeader('vary') ?? []]
    .flat()
    .flatMap((value) => String(value).split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '')
  const known = before.map((name) => name.toLowerCase())
  if (known.includes('*')) return
  const missing = names.filter((name) => !known.includes(name.toLowerCase()))
  if (missing.length > 0) reply.header('vary', [...before, ...missing].join(', '))
}

function byClient(clientsOf: ClientsOf, clientIdOf: (request: FastifyRequest) => string | undefined): AllowsOrigin {
  return async (request, origin) => {
    if (request.method === 'OPTIONS') return isWebOrigin(origin)
    const known = provenClientIds.get(request) ?? clientIdOf(request)
    if (known === undefined) return false
    try {
      const client = await clientsOf(request).findById(known)
      return client !== null && originsOf(client).includes(origin)
    } catch {
      // Denies the origin. The answer is already made, and its handler has logged the failure of the client store.
      return false
    }
  }
}

/** True for `https:`, or `http:` on a loopback host, in the form that browsers send. */
function isWebOrigin(origin: string): boolean {
  if (originOfUrl(origin) !== origin) return false
  const { protocol, hostname } = new URL(origin)
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname))
}

/** Makes the lookup of clients for a request of an unknown sender: fetches count under the rule `clientMetadata`. */
export const byStranger = (
  request: FastifyRequest,
  { countWork }: Pick<RequestLimiter, 'countWork'>
): ClientLookup => ({
  fetching: async (work) => await countWork(request, 'clientMetadata', work)
})

/** The clients as one request sees them. */
export type ClientsOf = (request: FastifyRequest) => Clients

/** Looks up each client once per request. Each registration of the plugin has its own cache. */
export function oncePerRequest(clients: Clients, limiter: Pick<RequestLimiter, 'countWork'>): ClientsOf {
  const views = new WeakMap<FastifyRequest, Clients>()
  return (request) => {
    const view = views.get(request) ?? remembering(clients, byStranger(request, limiter))
    views.set(request, view)
    return view
  }
}

function remembering(clients: Clients, asking: ClientLookup): Clients {
  const known = new Map<string, Promise<Client | null>>()
  return {
    findById(clientId) {
      const client = known.get(clientId) ?? clients.findById(clientId, asking)
      known.set(clientId, client)
      return client
    }
  }
}

/**
 * The id of the client that the request names. The id needs no proof, because the page must also have an origin of that
 * client.
 */
export function claimedClientId({ body, headers }: FastifyRequest): string | undefined {
  const { client_id: clientId } = typeof body === 'object' && body !== null ? (body as { client_id?: unknown }) : {}
  try {
    return clientCredentials(headers.authorization, typeof clientId === 'string' ? { client_id: clientId } : {})
      ?.clientId
  } catch {
    return undefined
  }
}
