import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { OAuthError } from '../../errors.ts'
import type { PathName } from '../../settings/paths.ts'
import { BODY_LIMIT, registerBodyParsers, type strictValidator, optionalBody } from './body.ts'
import { callableBy, type CallersConfig, type Declaration, yieldingUrl } from './callers.ts'
import type { ClientsOf, Cors } from './cors.ts'
import { guarded, noStoreHook } from './error-reply.ts'
import { FOR_THE_ACCOUNT } from './schemas.ts'
import type { GrantDeps } from '../../oauth/deps.ts'
import type { AuthorizationParams } from '../../protocol/authorization-params.ts'
import type { KeyRing } from '../../keys/key-ring.ts'
import type { RequestLimiter } from './limit.ts'
import type { Registration } from './registration.ts'

/** The dependencies of the routes. */
export interface HttpDeps {
  grants: GrantDeps
  /** The view of `grants.clients` for a request. The view looks up each client once. */
  clientsOf: ClientsOf
  ring: KeyRing
  limiter: RequestLimiter
  registration: Registration | null
  /** Members of the metadata that features add. */
  metadata: Readonly<Record<string, unknown>>
  /** The levels that sign-ins can reach. */
  acrValues: readonly string[]
  /** `null`: clients can't send people here to sign in. */
  openid: {
    uiLocales: readonly string[]
    canSignUp: boolean
    algs(): string[]
    /** `null`: clients can't push authorization requests (RFC 9126). */
    pushed: { isRequired: boolean } | null
    /** Checks the parts of a request that do not depend on the user. @throws OAuthError */
    checkRequest(params: AuthorizationParams): Promise<void>
  } | null
  /** The path of a named endpoint, without the prefix of the host's instance. */
  path(name: PathName): string
  /** The prefix of the endpoints without a name. */
  prefix: string
  /**
   * The constraints of the well-known documents. `host`: only this host name has the document, because two
   * registrations share its path. `null`: there is no such document.
   */
  wellKnown: Readonly<Partial<Record<PathName, { host?: string } | null>>>
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/**
 * An endpoint that answers with JSON or without a body: the source of the route, its guards, the host's API document,
 * the reference page and the tables of the tests.
 */
export interface Endpoint extends Declaration {
  method: Method
  path: PathName | `${PathName}/${string}` | `/${string}`
  /** The policy for other origins. Default: the host decides. */
  cors?: keyof Cors
  bodyLimit?: number
  summary: string
  description?: string
  params?: TObject
  body?: TSchema | ((deps: HttpDeps) => TSchema)
  /** Makes the check of the body. Default: the schema `body` is the check. */
  check?(deps: HttpDeps): ReturnType<typeof strictValidator>
  /** The schema of the answer for each status. If there is one status, the handler need not set the status. */
  answers: Readonly<Record<number, TSchema>>
  what: string
  /** The answers may be cached: the handler sets `Cache-Control`. */
  isCached?: true
  /** The host's own route of this path wins, also if it is registered later. */
  yields?: true
  /** `false`: there is no HEAD route. */
  head?: false
  /** Returns `false` if the endpoint is off with these settings. Default: always on. */
  isOn?(deps: HttpDeps): boolean
  handle(request: FastifyRequest, reply: FastifyReply, deps: HttpDeps): unknown
}

interface Typed<Body extends TSchema, Params extends TObject> extends Omit<Endpoint, 'body' | 'params' | 'handle'> {
  body?: Body | ((deps: HttpDeps) => Body)
  params?: Params
  handle(
    request: FastifyRequest<{ Body: Static<Body>; Params: Static<Params> }>,
    reply: FastifyReply,
    deps: HttpDeps
  ): unknown
}

/** Gives `handle` the types of `body` and `params`. */
export function endpoint<Body extends TSchema, Params extends TObject>(declared: Typed<Body, Params>): Endpoint {
  return declared
}

/**
 * Groups the endpoints that are on: neighbors with the same body parsers and CORS policy share a child instance. A last
 * group answers 405 to other methods of protocol endpoints.
 */
export function groupsOf(
  endpoints: readonly Endpoint[],
  deps: HttpDeps
): Array<{ cors: Endpoint['cors']; register(child: FastifyInstance): void }> {
  const groups: Endpoint[][] = []
  const on = endpoints.filter((one) => placeOf(one, deps).constraints !== null && one.isOn?.(deps) !== false)
  for (const one of on) {
    const last = groups.at(-1)
    if (last !== undefined && last[0]?.cors === one.cors && last[0]?.takes === one.takes) last.push(one)
    else groups.push([one])
  }
  const ofProtocol = on.filter(({ isProtocol }) => isProtocol === true)
  return [
    ...groups.map((group) => ({
      cors: group[0]?.cors,
      register(child: FastifyInstance) {
        useParsers(child, group[0]?.takes)
        for (const one of group) register(child, one, deps)
      }
    })),
    {
      cors: 'noOriginBesides',
      register(child) {
        for (const path of new Set(ofProtocol.map(({ path }) => path)))
          refuseOtherMethods(
            child,
            placeOf({ path }, deps),
            ofProtocol.filter((one) => one.path === path).map(({ method }) => method)
          )
      }
    }
  ]
}

/**
 * Answers the other common methods of a path with 405, except OPTIONS. The host's own route for such a method still
 * wins.
 * @see RFC 9110 §15.5.6
 */
function refuseOtherMethods(
  child: FastifyInstance,
  { url, constraints }: ReturnType<typeof placeOf>,
  methods: readonly Method[]
): void {
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  const ours = yieldingUrl(url)
  if (ours === null) return
  const hidden: FastifySchema & { hide: boolean } = { hide: true }
  child.route({
    ...callableBy('anyone', { fromAnyPage: true }),
    method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => !allowed.includes(method)),
    url: ours,
    constraints: constraints ?? {},
    exposeHeadRoute: false,
    schema: hidden,
    onRequest(_request, _reply, done) {
      const allow = allowed.join(', ')
      done(
        new OAuthError('invalid_request', `This endpoint takes ${allow}.`, {
          statusCode: 405,
          headers: { allow },
          withoutStack: true
        })
      )
    },
    handler: () => undefined
  })
}

/**
 * The path of an endpoint, and the constraints of its route. `host`: only this host name has the endpoint.
 * `constraints: null`: the endpoint does not exist.
 */
function placeOf(
  { path }: Pick<Endpoint, 'path'>,
  deps: Pick<HttpDeps, 'path' | 'prefix' | 'wellKnown'>
): { url: string; constraints: { host?: string } | null } {
  const slash = path.indexOf('/')
  if (slash === 0) return { url: `${deps.prefix}${path}`, constraints: {} }
  const name = (slash === -1 ? path : path.slice(0, slash)) as PathName
  const { [name]: constraints = {} } = deps.wellKnown
  return { url: `${deps.path(name)}${slash === -1 ? '' : path.slice(slash)}`, constraints }
}

function useParsers(child: FastifyInstance, takes: Endpoint['takes']): void {
  if (takes !== 'nothing') {
    registerBodyParsers(child, { forms: takes === 'form', isOptional: takes === 'optional' })
    return
  }
  // Drops any body. Some HTTP clients send a content type with an empty body.
  child.removeAllContentTypeParsers()
  child.addContentTypeParser('*', { parseAs: 'string' }, (_request, _body, done) => {
    done(null, undefined)
  })
}

function register(child: FastifyInstance, declared: Endpoint, deps: HttpDeps): void {
  const { method, takes, summary, description, params, body, check, answers, handle } = declared
  const { url, constraints } = placeOf(declared, deps)
  const config: CallersConfig = { fastifyAuthority: declared }
  const described = description ?? (declared.callers === 'account' ? FOR_THE_ACCOUNT : undefined)
  const [status, ...others] = Object.keys(answers).map(Number)
  const schema = {
    summary,
    ...(described === undefined ? {} : { description: described }),
    ...(takes === 'form' && body !== undefined
      ? { consumes: ['application/json', 'application/x-www-form-urlencoded'] }
      : {}),
    ...(params === undefined ? {} : { params }),
    ...(body === undefined ? {} : { body: typeof body === 'function' ? body(deps) : body }),
    response: answers
  }
  child.route({
    config,
    method,
    url: (declared.yields === true ? yieldingUrl(url) : null) ?? url,
    constraints: constraints ?? {},
    ...(declared.head === false ? { exposeHeadRoute: false } : {}),
    ...(method === 'GET' ? {} : { bodyLimit: declared.bodyLimit ?? BODY_LIMIT }),
    schema,
    ...(check === undefined ? {} : { validatorCompiler: () => check(deps) }),
    ...(takes === 'form' || takes === 'nothing' ? { validatorCompiler: () => () => true } : {}),
    ...(takes === 'optional' ? { validatorCompiler: optionalBody } : {}),
    ...(declared.isCached === true ? {} : { onRequest: noStoreHook }),
    handler: async (request, reply) => {
      const answer = await guarded(() => handle(request, reply, deps))
      if (status !== undefined && others.length === 0) reply.code(status)
      return answer
    }
  })
}
