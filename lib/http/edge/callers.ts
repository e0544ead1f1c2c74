import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyRequest,
  onRequestAsyncHookHandler,
  onRequestHookHandler,
  preHandlerHookHandler
} from 'fastify'
import type { OAuthErrorCode } from '../../errors.ts'
import type { AdminScope } from '../../protocol/scope.ts'

/**
 * The allowed callers of a route. A route without this declaration prevents the start. `createGuards` makes the hooks
 * that refuse all other callers.
 *
 * - `anyone`: nobody has to be signed in. The handler checks what the request brings as proof (a password, a code, a
 *   refresh token).
 * - `own_page`: a page of our own origin: a form or a script. The handler looks up who is signed in there.
 * - `account`: the user, by an access token without a client or of a first-party client, or by the browser session from
 *   one of our own pages. A token with `act` is refused.
 * - `client`: a registered confidential client, which authenticates by its secret or its key.
 * - `{ scope }`: anybody with an access token of this scope, including third-party clients.
 * - `{ admin }`: an administrator or a machine client whose access token has this scope, if the host still allows the
 *   scope.
 */
export type Callers = 'anyone' | 'own_page' | 'account' | 'client' | { scope: string } | { admin: AdminScope }

/** The hooks that let only these callers in. */
export interface Guard {
  onRequest?: onRequestHookHandler | onRequestAsyncHookHandler
  preHandler?: preHandlerHookHandler
}

/** Error codes of one status. A record gives each code a note for the reference page. */
export type Codes = OAuthErrorCode | readonly OAuthErrorCode[] | Readonly<Partial<Record<OAuthErrorCode, string>>>

/** The facts of a route that its guards, the documents, the reference page and the tests read. */
export interface Declaration {
  callers: Callers
  /**
   * Pages of any origin may make a browser send this request (see origin-guard.ts). So the request counts as no
   * attempt, and the request alone must not change anything.
   */
  fromAnyPage?: true
  /** Hides the route: to anyone who may not use it, the handler answers as the host answers an unknown path. */
  isHidden?: true
  /**
   * The proof that the handler checks by itself. `client_secret`: the secret or the key of the client, if it has one.
   */
  proof?: 'client_secret' | 'refresh_token' | 'browser_session'
  /** True for an endpoint of OAuth 2.0 or OpenID Connect. */
  isProtocol?: true
  /**
   * The path of the endpoint: a name of the option `paths`, with or without a rest such as `/:id`, or a path below
   * `prefix`, which begins with `/`.
   */
  path?: string
  /**
   * `json`: JSON that the schema `body` checks. `optional`: such JSON, or no body. `form`: a form or JSON, without a
   * schema check, because the handler reads the parameters. `nothing`: any body is dropped. Default: `json`, on pages a
   * form.
   */
  takes?: 'json' | 'optional' | 'form' | 'nothing'
  /** By status: errors besides those that follow from the callers and the body. */
  errors?: Readonly<Record<number, Codes>> | undefined
  /** The description on the reference page. */
  what?: string
}

/** Our addition to a route's `config`. A host's own `onRoute` hook can read it. */
export interface CallersConfig extends FastifyContextConfig {
  fastifyAuthority: Declaration
}

/** The caller of each request, as a guard found it. */
interface CallerFact<Fact> {
  set(request: FastifyRequest, fact: Fact): void
  /** Throws on a route that does not declare these callers, so that no handler runs without its guard. */
  of(request: FastifyRequest): Fact
}

export function callerFact<Fact extends object>(): CallerFact<Fact> {
  const facts = new WeakMap<FastifyRequest, Fact>()
  return {
    set(request, fact) {
      facts.set(request, fact)
    },
    of(request) {
      const fact = facts.get(request)
      if (fact === undefined) throw new Error('The route does not declare these callers.')
      return fact
    }
  }
}

/** Returns options that declare the callers of a route. Spread them into the route's options. */
export function callableBy(callers: Callers, declared: Omit<Declaration, 'callers'> = {}): { config: CallersConfig } {
  return { config: { fastifyAuthority: { callers, ...declared } } }
}

/**
 * Adds the guard hooks to every route that is registered in `child` afterwards. Throws for a route without declared
 * callers, which prevents the start.
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
    // Skips a hook that the route has already: Fastify copies the hooks of a GET route to its HEAD route.
    if (onRequest !== undefined && ![route.onRequest].flat().includes(onRequest))
      route.onRequest = [route.onRequest ?? [], onRequest].flat()
    if (preHandler !== undefined && ![route.preHandler].flat().includes(preHandler))
      route.preHandler = [preHandler, route.preHandler ?? []].flat()
  })
}

/**
 * Rewrites a path so that a host's own route of the same path wins, even if it is registered later. Makes the first
 * character of the last segment a parameter with one allowed value. The router prefers routes without parameters, and
 * does not take the two routes for duplicates. `null`: the last segment has fewer than two characters.
 */
export function yieldingUrl(url: string): string | null {
  const start = url.lastIndexOf('/') + 1
  const [first = '', rest] = [url[start], url.slice(start + 1)]
  if (rest === '') return null
  return `${url.slice(0, start)}:first(${first.replace(/\W/, String.raw`\$&`)})${rest.replaceAll(':', '::')}`
}

/** Undoes the parameter of `yieldingUrl`, so that the path reads as in requests. */
export const plainUrl = (url: string): string => url.replace(/:first\((.)\)/, '$1')
