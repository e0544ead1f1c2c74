import type {
  FastifyContextConfig,
  FastifyInstance,
  onRequestAsyncHookHandler,
  onRequestHookHandler,
  preHandlerHookHandler
} from 'fastify'
import type { OAuthErrorCode } from '../../errors.ts'
import type { AdminScope } from '../../protocol/scope.ts'

/**
 * The allowed callers of a route. A route without a declaration stops the start, and `createGuards` makes the hooks
 * that refuse all others.
 *
 * - `anyone`: nobody has to be signed in. The handler checks what the request brings as proof (a password, a code, a
 *   refresh token).
 * - `own_page`: a page of our own origin: a form or a script. The handler looks up who is signed in there.
 * - `account`: the person, by an access token of no client or of a first-party one, or by the browser session from a
 *   page of our own. A token with `act` is refused.
 * - `client`: a client that proves who it is by its secret.
 * - `{ scope }`: anybody with an access token of this scope, including third-party clients.
 * - `{ admin }`: an administrator, or a machine client, with an access token of this scope, which the host still gives.
 */
export type Callers = 'anyone' | 'own_page' | 'account' | 'client' | { scope: string } | { admin: AdminScope }

/** The hooks that let only these callers in. */
export interface Guard {
  onRequest?: onRequestHookHandler | onRequestAsyncHookHandler
  preHandler?: preHandlerHookHandler
}

/** Error codes of one status; with a note each, if the reference page explains them. */
export type Codes = OAuthErrorCode | readonly OAuthErrorCode[] | Readonly<Partial<Record<OAuthErrorCode, string>>>

/** The facts of a route that its guards, the documents, the reference page and the tests read. */
export interface Declaration {
  callers: Callers
  /**
   * Pages of any origin may make a browser send this (see senders.ts). So it counts under no limit, and a request
   * alone must not be enough to change anything.
   */
  fromAnyPage?: true
  /** Only the handler says that the route is there: to all others it answers as the host answers an unknown path. */
  isHidden?: true
  /** The proof that the handler checks by itself. `client_secret`: only of a client that has one. */
  proof?: 'client_secret' | 'refresh_token' | 'browser_session'
  /** True for an endpoint of OAuth 2.0 or OpenID Connect. */
  isProtocol?: true
  /** The path of the endpoint: a name of the option `paths` with the rest of the path, or the path below `prefix`. */
  path?: string
  /**
   * `json`: checked by `body`. `optional`: the same, or no body. `form`: a form or JSON, whose parameters the handler
   * reads. `nothing`: whatever is sent is dropped. Default: `json`; of pages, a form.
   */
  takes?: 'json' | 'optional' | 'form' | 'nothing'
  /** By status: errors besides those that follow from the callers and the body. */
  errors?: Readonly<Record<number, Codes>> | undefined
  /** For the reference page. */
  what?: string
}

/** Our addition to a route's `config`. A host's own `onRoute` hook can read it. */
export interface CallersConfig extends FastifyContextConfig {
  fastifyAuthority: Declaration
}

/** To be spread into the options of a route. */
export function callableBy(callers: Callers, declared: Omit<Declaration, 'callers'> = {}): { config: CallersConfig } {
  return { config: { fastifyAuthority: { callers, ...declared } } }
}

/**
 * Applies to every route that is registered in `child` afterwards: a route without declared callers stops the start.
 */
export function useCallers(child: FastifyInstance, guardOf: (callers: Callers) => Guard): void {
  child.addHook('onRoute', (route) => {
    const config: Partial<CallersConfig> | undefined = route.config
    const callers = config?.fastifyAuthority?.callers
    if (callers === undefined)
      throw new Error(
        `fastify-authority: the route ${[route.method].flat().join(', ')} ${route.url} does not say who may call it.`
      )
    const { onRequest, preHandler } = guardOf(callers)
    // Fastify's HEAD route of a GET route has its hooks already.
    if (onRequest !== undefined && ![route.onRequest].flat().includes(onRequest))
      route.onRequest = [route.onRequest ?? [], onRequest].flat()
    if (preHandler !== undefined && ![route.preHandler].flat().includes(preHandler))
      route.preHandler = [preHandler, route.preHandler ?? []].flat()
  })
}

/**
 * The same path for a route that the host's own replaces, whenever that is registered. The first letter of the last
 * segment is a parameter that takes this one value, because the router prefers routes without parameters: the route of
 * the host is no duplicate of ours. `null`: the last segment is too short.
 */
export function yieldingUrl(url: string): string | null {
  const start = url.lastIndexOf('/') + 1
  const [first = '', rest] = [url[start], url.slice(start + 1)]
  if (rest === '') return null
  return `${url.slice(0, start)}:first(${first.replace(/\W/, String.raw`\$&`)})${rest.replaceAll(':', '::')}`
}

/** The path of a route that yields as its requests have it. */
export const plainUrl = (url: string): string => url.replace(/:first\((.)\)/, '$1')
