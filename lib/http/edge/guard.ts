import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { OAuthError } from '../../errors.ts'
import type { AccessTokenClaims } from '../../protocol/access-token.ts'
import { insufficientScope, isBearer, missingToken } from '../../protocol/bearer.ts'
import { insufficientAuthentication, isEnough, type StepUp } from '../../protocol/step-up.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ClientStore } from '../../ports/client-store.ts'
import { requireFirstParty } from '../../oauth/require-first-party.ts'
import type { AccessTokens } from '../../tokens/access-tokens.ts'
import { guarded, sendOAuthError } from './error-reply.ts'

export type Hook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void

/** The claims that `authenticate` left on a request, under whatever name the host chose. */
export type ReadAuth = (request: FastifyRequest) => AccessTokenClaims | null

/**
 * The `onRequest` hook of protected routes. It is synchronous, without a promise, where the token was verified before.
 * It answers refusals itself, so that they are alike on every route, whatever error handler the host has.
 * @see RFC 6750 §2.1, §3
 */
export function authenticateHook(tokens: AccessTokens, name: string): Hook {
  return function authenticate(request, reply, done) {
    let claims: ReturnType<AccessTokens['authenticate']>
    try {
      claims = tokens.authenticate(request.headers.authorization)
    } catch (error) {
      refuse(error, request, reply, done)
      return
    }
    if (claims instanceof Promise) acceptLater(claims, request, reply, done)
    else if (claims instanceof OAuthError) refuse(claims, request, reply, done)
    else {
      ;(request as unknown as Record<string, unknown>)[name] = claims
      done()
    }
  }

  function acceptLater(
    claims: Promise<AccessTokenClaims>,
    request: FastifyRequest,
    reply: FastifyReply,
    done: HookHandlerDoneFunction
  ): void {
    claims.then(
      (verified) => {
        ;(request as unknown as Record<string, unknown>)[name] = verified
        done()
      },
      (error: unknown) => {
        refuse(error, request, reply, done)
      }
    )
  }
}

/** The same where a token was sent. Without one, the request goes on with nobody signed in. */
export function authenticateOptionalHook(authenticate: Hook): Hook {
  return function authenticateOptional(request, reply, done) {
    if (isBearer(request.headers.authorization)) authenticate(request, reply, done)
    else done()
  }
}

/** A hook for after `authenticate`: refuses tokens of third-party clients, by what is registered now. */
export function requireFirstPartyHook(clients: ClientStore, readAuth: ReadAuth): Hook {
  return function firstPartyOnly(request, reply, done) {
    const claims = readAuth(request)
    if (claims === null) refuse(missingToken(), request, reply, done)
    else
      guarded(async () => {
        await requireFirstParty(claims, clients)
      }).then(
        () => {
          done()
        },
        (error: unknown) => {
          refuse(error, request, reply, done)
        }
      )
  }
}

/** A hook for after `authenticate`: all of the scopes must have been granted. @see RFC 6750 §3.1 */
export function requireScopeHook(required: readonly string[], readAuth: ReadAuth): Hook {
  return function requireScope(request, reply, done) {
    const claims = readAuth(request)
    if (claims === null) {
      refuse(missingToken(), request, reply, done)
      return
    }
    const granted = claims.scope?.split(' ') ?? []
    if (required.every((scope) => granted.includes(scope))) done()
    else refuse(insufficientScope(required), request, reply, done)
  }
}

/**
 * A hook for after `authenticate`: the token's user must have signed in recently enough, and well enough. A token
 * without a user is refused for good: no sign-in would make it another.
 * @param acrValues what this configuration can give
 * @see RFC 9470 §3, §4
 */
export function requireAuthHook(
  required: StepUp,
  acrValues: readonly string[],
  readAuth: ReadAuth,
  clock: Clock
): Hook {
  return function requireAuth(request, reply, done) {
    const claims = readAuth(request)
    if (claims === null) refuse(missingToken(), request, reply, done)
    else if (claims.sid === undefined)
      refuse(
        new OAuthError('access_denied', 'A token of a user is needed.', { withoutStack: true }),
        request,
        reply,
        done
      )
    else if (
      isEnough(
        { acr: claims.acr, authenticatedAt: typeof claims.auth_time === 'number' ? claims.auth_time * 1000 : null },
        required,
        clock.now()
      )
    )
      done()
    else refuse(insufficientAuthentication(required, acrValues), request, reply, done)
  }
}

function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
  if (error instanceof OAuthError) sendOAuthError(error, request, reply)
  else done(error as Error)
}
