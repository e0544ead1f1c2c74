import type { FastifyRequest } from 'fastify'
import { OAuthError } from '../../errors.ts'
import type { AccessTokenClaims } from '../../protocol/access-token.ts'
import {
  insufficientAuthentication,
  insufficientScope,
  isBearer,
  isEnough,
  missingToken,
  type StepUp
} from '../../protocol/bearer.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ClientStore } from '../../ports/client-store.ts'
import { requireFirstParty } from '../../oauth/require-first-party.ts'
import type { AccessTokens } from '../../tokens/access-tokens.ts'
import type { Check } from './hook.ts'

/** Requests that a guard has let in without a token. */
const anonymous = new WeakSet<FastifyRequest>()

/**
 * The access token of a request. @see RFC 6750 §2.1, §3
 */
export function tokenCheck(tokens: AccessTokens): Check<AccessTokenClaims> {
  return (request) => tokens.authenticate(request.headers.authorization)
}

/** The same where a token was sent. Without one, the request goes on with nobody signed in. */
export function optionalTokenCheck(check: Check<AccessTokenClaims>): Check<AccessTokenClaims | null> {
  return (request) => {
    if (isBearer(request.headers.authorization)) return check(request)
    anonymous.add(request)
    return null
  }
}

/**
 * The result that a guard before this one left on the request. A route without one is a mistake of the host's, which a
 * refusal of the token would hide.
 * @param auth the name of the request's decorator
 * @param hook the name of the hook that looks for it
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

/** Refuses tokens of third-party clients, by what is registered now. */
export function firstPartyCheck(claimsOf: Claims, clients: ClientStore): Check<AccessTokenClaims> {
  return async (request) => {
    const claims = claimsOf(request)
    if (!(claims instanceof OAuthError)) await requireFirstParty(claims, clients)
    return claims
  }
}

/** All of the scopes must have been granted. @see RFC 6750 §3.1 */
export function scopeCheck(claimsOf: Claims, required: readonly string[]): Check<AccessTokenClaims> {
  return (request) => {
    const claims = claimsOf(request)
    if (claims instanceof OAuthError) return claims
    const granted = claims.scope?.split(' ') ?? []
    return required.every((scope) => granted.includes(scope)) ? claims : insufficientScope(required)
  }
}

/**
 * The token's user must have signed in recently enough, and well enough.
 * @param acrValues what this configuration can give
 * @param hasUser tells the token of a user from a client's own
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

/** 403 for a token without a user, because no sign-in would make it another. */
export function withoutUser(): OAuthError {
  return new OAuthError('access_denied', 'A token of a user is needed.', { withoutStack: true })
}
