import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { OAuthError } from '../../errors.ts'
import { guarded, logRefusal, serviceError } from './error-reply.ts'
import type { AccessTokenClaims } from '../../protocol/access-token.ts'
import {
  bearerToken,
  hasToken,
  insufficientAuthentication,
  insufficientScope,
  isEnough,
  missingToken,
  type StepUp,
  withoutActor,
  withoutRole
} from '../../protocol/bearer.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ClientStore } from '../../ports/client-store.ts'
import { requireFirstParty } from '../../clients/rights.ts'

/**
 * A hook that lets a request continue only if its check succeeds. With a callback, as Fastify and @fastify/auth call
 * it, the hook passes a refusal to `done(error)`. Without a callback, as in `await app.authenticate(request, reply)`,
 * the hook returns a promise that rejects. The error is an `OAuthError`. Only `requireSession` with a callback may send
 * an answer: a redirect or an error page.
 */
export interface Hook {
  (request: FastifyRequest, reply?: FastifyReply): Promise<void>
  (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void
}

/**
 * Finds the credentials of a request. Returns a promise only if something must be looked up. A refusal may be thrown or
 * returned. Returning is cheaper: a throw costs more than the rest of the check.
 */
export type Check<Found> = (
  request: FastifyRequest,
  reply?: FastifyReply
) => Found | OAuthError | Promise<Found | OAuthError>

/** Sends the answer to a refused browser. Returns `true` if it sent one. */
type Answer = (error: OAuthError, request: FastifyRequest, reply: FastifyReply) => boolean

/**
 * Makes the hook of a check. All hooks for the host are made here. So each hook can be called with or without a
 * callback, and sends no answer without a callback.
 * @param to the name of the request's decorator that gets what the check found
 * @param answer sends a redirect or a page to a refused browser; used only with a callback
 */
export function hookOf<Found>(check: Check<Found>, to: string, answer?: Answer): Hook {
  function keep(request: FastifyRequest, found: Found): void {
    ;(request as unknown as Record<string, unknown>)[to] = found
  }

  async function go(request: FastifyRequest, reply?: FastifyReply): Promise<void> {
    keep(request, await foundBy(check, request, reply))
  }

  return function hook(request: FastifyRequest, reply?: FastifyReply, done?: HookHandlerDoneFunction) {
    if (typeof done !== 'function') return go(request, reply)
    const way = goingOn(done)
    const settle = (found: Found | OAuthError): void => {
      if (found instanceof OAuthError) {
        if (answer?.(found, request, reply as FastifyReply) === true) return
        logRefusal(found, request)
        done(found)
      } else {
        keep(request, found)
        way.open()
      }
    }
    let found: ReturnType<typeof check>
    try {
      found = check(request, reply)
    } catch (error) {
      found = refusalOf(error)
    }
    if (found instanceof Promise)
      found.then(settle, (error: unknown) => {
        settle(refusalOf(error))
      })
    else settle(found)
    return way.answer as Promise<void>
  }
}

/**
 * Lets a request continue after a hook that was called with a callback. An `async` hook of the host also gets a
 * callback from Fastify, and may pass it on to our hook and await the result. If the host awaits `answer`, `open`
 * resolves `answer` and does not call `done`, so that the later checks of the host's hook count. Otherwise `open` calls
 * `done`. After a refusal, only `done` is called, and `answer` never resolves.
 */
function goingOn(done: HookHandlerDoneFunction): { open(): void; answer: PromiseLike<void> } {
  const waiting: Array<() => void> = []
  let isOpen = false
  let isTold = false
  const tell = (): void => {
    if (waiting.length > 0) return
    isTold = true
    done()
  }
  const then = (resolve: () => void): void => {
    if (isTold) return
    waiting.push(resolve)
    if (isOpen) resolve()
  }
  return {
    open() {
      isOpen = true
      for (const resolve of waiting) resolve()
      // Waits for two microtasks, because `await` reads `then` one microtask later.
      if (waiting.length === 0)
        queueMicrotask(() => {
          queueMicrotask(tell)
        })
    },
    // eslint-disable-next-line unicorn/no-thenable -- a promise does not know whether anybody awaits it
    answer: { then } as PromiseLike<void>
  }
}

/** The result of a check. @throws OAuthError for any failure */
export async function foundBy<Found>(
  check: Check<Found>,
  request: FastifyRequest,
  reply?: FastifyReply
): Promise<Found> {
  const found = await guarded(async () => await check(request, reply))
  if (found instanceof OAuthError) throw found
  return found
}

function refusalOf(error: unknown): OAuthError {
  return error instanceof OAuthError ? error : serviceError(error)
}

/** Requests that a guard has let in without a token or an API key. */
const anonymous = new WeakSet<FastifyRequest>()

/** The methods of API keys that a guard needs. */
interface KeyReader {
  isKey(text: string): boolean
  claimsFor(key: string, resource: string | null): Promise<AccessTokenClaims>
}

/** Maximum length of an `Authorization` header with an API key, in characters. */
const MAX_KEY_CREDENTIAL = 128

/**
 * Checks an API key for this resource, sent as a Bearer token or in `x-api-key`. Without a key, runs the token check.
 * Text in `x-api-key` that is no key of this service is ignored, because a host may have keys of its own. A key in
 * `x-api-key` next to an `Authorization` header is refused with `invalid_request`.
 * @param keys `null`: API keys are off
 */
export function tokenOrKeyCheck(
  check: Check<AccessTokenClaims>,
  keys: KeyReader | null,
  resource: string | null
): Check<AccessTokenClaims> {
  if (keys === null) return check
  return (request, reply) => {
    const { authorization } = request.headers
    const sent = keyHeader(request, keys)
    if (sent !== null)
      return authorization === undefined
        ? keys.claimsFor(sent, resource)
        : new OAuthError('invalid_request', 'Send the API key alone, without the header Authorization.', {
            withoutStack: true
          })
    const bearer =
      authorization !== undefined && authorization.length <= MAX_KEY_CREDENTIAL ? bearerToken(authorization) : undefined
    return bearer !== undefined && keys.isKey(bearer) ? keys.claimsFor(bearer, resource) : check(request, reply)
  }
}

function keyHeader({ headers: { 'x-api-key': sent } }: FastifyRequest, keys: KeyReader | null): string | null {
  return typeof sent === 'string' && keys?.isKey(sent) === true ? sent : null
}

/**
 * Checks a token or key if the request has one. Without a token and a key, the request continues with nobody signed in.
 */
export function optionalTokenCheck(
  check: Check<AccessTokenClaims>,
  keys: KeyReader | null
): Check<AccessTokenClaims | null> {
  return (request, reply) => {
    if (hasToken(request.headers.authorization) || keyHeader(request, keys) !== null) return check(request, reply)
    anonymous.add(request)
    return null
  }
}

/**
 * Reads the claims that an earlier guard left on the request. If that guard let the request in without a token, returns
 * the refusal of a missing token. Without such a guard, returns `server_error`, because a refusal of the token would
 * hide the host's mistake.
 * @param auth the name of the request's decorator
 * @param hook the name of the hook that needs the claims
 */
export function claimsCheck(auth: string, hook: string): (request: FastifyRequest) => AccessTokenClaims | OAuthError {
  return (request) => {
    const claims = (request as unknown as Record<string, AccessTokenClaims | null>)[auth] ?? null
    if (claims !== null) return claims
    if (anonymous.has(request)) return missingToken()
    return new OAuthError('server_error', `No guard ran before ${hook}. Put app.authenticate before it.`, {
      code: 'FST_AUTHORITY_NO_GUARD',
      withoutStack: true
    })
  }
}

type Claims = ReturnType<typeof claimsCheck>

/** Refuses tokens of third-party clients, by the current registration of the client. */
export function firstPartyCheck(claimsOf: Claims, clients: ClientStore): Check<AccessTokenClaims> {
  return async (request) => {
    const claims = claimsOf(request)
    if (!(claims instanceof OAuthError)) await requireFirstParty(claims, clients)
    return claims
  }
}

/** Requires that all of these scopes were granted. @see RFC 6750 §3.1 */
export function scopeCheck(claimsOf: Claims, required: readonly string[]): Check<AccessTokenClaims> {
  return (request) => {
    const claims = claimsOf(request)
    if (claims instanceof OAuthError) return claims
    const granted = claims.scope?.split(' ') ?? []
    return required.every((scope) => granted.includes(scope)) ? claims : insufficientScope(required)
  }
}

/** The claims that contain what a user may do. @see RFC 9068 §2.2.3.1 */
const ROLE_CLAIMS = ['roles', 'groups', 'entitlements'] as const

/**
 * Requires all of these roles. A claim that is no array gives no role, because a text such as "no-admin" also contains
 * "admin".
 */
export function roleCheck(claimsOf: Claims, required: readonly string[]): Check<AccessTokenClaims> {
  return (request) => {
    const claims = claimsOf(request)
    if (claims instanceof OAuthError) return claims
    const given = ROLE_CLAIMS.flatMap((name): unknown[] => (Array.isArray(claims[name]) ? claims[name] : []))
    return required.every((role) => given.includes(role)) ? claims : withoutRole()
  }
}

/** Refuses tokens with the claim `act`, whatever it contains. @see RFC 8693 §4.1 */
export function noActorCheck(claimsOf: Claims): Check<AccessTokenClaims> {
  return (request) => {
    const claims = claimsOf(request)
    return claims instanceof OAuthError || claims['act'] === undefined ? claims : withoutActor()
  }
}

/**
 * Requires that the token's user signed in recently enough, and at a high enough level.
 * @param acrValues the levels that this configuration can reach
 * @param hasUser true for the token of a signed-in user. Default: the token has `sid`.
 * @see RFC 9470 §3, §4
 */
export function signInCheck(
  claimsOf: Claims,
  required: StepUp,
  acrValues: readonly string[],
  clock: Clock,
  hasUser = ({ sid }: AccessTokenClaims): boolean => sid !== undefined
): Check<AccessTokenClaims> {
  return (request) => {
    const claims = claimsOf(request)
    if (claims instanceof OAuthError) return claims
    if (!hasUser(claims)) return withoutUser()
    const { acr, auth_time: seconds } = claims
    const signIn = { acr, authenticatedAt: typeof seconds === 'number' ? seconds * 1000 : null }
    return isEnough(signIn, required, clock.now()) ? claims : insufficientAuthentication(required, acrValues)
  }
}

/** 403 for a token without a user, because a sign-in would not change that. */
export function withoutUser(): OAuthError {
  return new OAuthError('access_denied', 'A token of a user is needed.', { withoutStack: true })
}
