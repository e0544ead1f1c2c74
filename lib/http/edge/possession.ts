import type { FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError } from '../../errors.ts'
import type { AccessTokenClaims } from '../../protocol/access-token.ts'
import { isDpop, missingToken, type SentToken, sentToken } from '../../protocol/bearer.ts'
import { type Proof, proofFor } from '../../protocol/dpop.ts'
import type { AccessTokens, Reader, Possession } from '../../tokens/access-tokens.ts'
import type { CallersConfig } from './callers.ts'
import type { Check } from './hook.ts'

interface TokenDeps {
  accessTokens: AccessTokens
  /** `null`: the option `dpop` is off. */
  possession: Possession | null
}

/**
 * Checks the access token of a request. A token that is bound to a key needs the scheme DPoP and a proof, any other
 * token the scheme Bearer.
 * @param target the API that the token must be for; `null`: the service's own audience
 * @see RFC 6750 §2.1, §3, RFC 9449 §7
 */
export function tokenCheck(
  { accessTokens, possession }: TokenDeps,
  target: Exclude<Reader, 'any'> = null
): Check<AccessTokenClaims> {
  return (request, reply) => {
    const { authorization } = request.headers
    if (possession === null || !isDpop(authorization)) return accessTokens.authenticate(authorization, target)
    const sent = sentToken(authorization)
    return sent === undefined
      ? missingToken()
      : verifiedClaims(sent, [request, reply], { accessTokens, possession }, target)
  }
}

/** Verifies a token, and uses its proof of possession up after all other checks. @throws OAuthError */
export async function verifiedClaims(
  sent: SentToken,
  [request, reply]: readonly [FastifyRequest, FastifyReply | undefined],
  { accessTokens, possession }: TokenDeps,
  target: Exclude<Reader, 'any'> = null
): Promise<AccessTokenClaims> {
  if (sent.scheme === 'DPoP' && possession === null) throw missingToken(' The header Authorization has another scheme.')
  const claims = await accessTokens.verify(sent.token, target)
  const origin = target === null ? undefined : new URL(target.resource).origin
  const proof = proofFor(claims, sent, () => possession?.read(request, sent.token, origin) ?? null)
  if (proof !== null) {
    await possession?.spend(proof)
    tellNonce(proof, reply)
  }
  return claims
}

/** Hands out the nonce for the next proof, so that the client need not be refused first. @see RFC 9449 §8.2 */
export function tellNonce({ nextNonce }: Proof, reply: FastifyReply | undefined): void {
  if (nextNonce !== null) reply?.header('dpop-nonce', nextNonce)
}

/**
 * The proof of a request for tokens; `null` if it has none, or the option is off. Returns a refusal that asks for a
 * nonce instead of throwing it, because it is no failed attempt.
 * @throws OAuthError `invalid_dpop_proof`
 */
export function readProof(request: FastifyRequest, possession: Possession | null): Proof | OAuthError | null {
  try {
    return possession?.read(request, null) ?? null
  } catch (error) {
    if (error instanceof OAuthError && error.error === 'use_dpop_nonce') return error
    throw error
  }
}

/** The additions of a guard to its challenges. */
export interface Challenging {
  /** The algorithms of proofs. Empty: no token is bound to a key. */
  dpopAlgs: readonly string[]
  /** A parameter of every challenge, such as the URL of the metadata. */
  metadata?: string
  /** The scopes that the challenge asks for if the request has no token. */
  scopes?: readonly string[]
}

/** Wraps a check, so that its refusals contain the challenges of the guard. */
export function challenged<Found>(inner: Check<Found>, how: Challenging): Check<Found> {
  const answer = (found: Found | OAuthError, request: FastifyRequest): Found | OAuthError =>
    found instanceof OAuthError ? withChallenge(found, request.headers.authorization, how) : found
  const refuse = (error: unknown, request: FastifyRequest): Found | OAuthError => {
    if (error instanceof OAuthError) return answer(error, request)
    throw error
  }
  // Stays synchronous if the check is, as for a token that was verified before.
  return (request, reply) => {
    try {
      const found = inner(request, reply)
      return found instanceof Promise
        ? found.then(
            (later) => answer(later, request),
            (error: unknown) => refuse(error, request)
          )
        : answer(found, request)
    } catch (error) {
      return refuse(error, request)
    }
  }
}

/**
 * Adds a challenge of each accepted scheme to a refusal: Bearer, then DPoP if it is on. The error is in the challenge
 * of the scheme that the request used, and an error about a proof is in the challenge of DPoP. Returns a refusal
 * unchanged if it has no Bearer challenge and is not about a proof.
 * @see RFC 9449 §7.1, RFC 9728 §5.1
 */
export function withChallenge(
  refusal: OAuthError,
  authorization: string | undefined,
  { dpopAlgs, metadata, scopes = [] }: Challenging
): OAuthError {
  const { error, message, headers, statusCode, detail, cause, code, members } = refusal
  const ofProof = error === 'invalid_dpop_proof' || error === 'use_dpop_nonce'
  const given =
    headers['www-authenticate'] ?? (ofProof ? `Bearer error="${error}", error_description="${message}"` : '')
  if (!given.startsWith('Bearer')) return refusal
  const params = given.slice('Bearer'.length).trim()
  const isMissing = params === ''
  const description =
    isMissing || metadata === undefined || params.includes('error_description=')
      ? []
      : [`error_description="${message}"`]
  const place = metadata === undefined ? [] : [metadata]
  const errors = isMissing ? [] : [params]
  const asked = isMissing && scopes.length > 0 ? [`scope="${scopes.join(' ')}"`] : []
  const algs = `algs="${dpopAlgs.join(' ')}"`
  const challenges =
    ofProof || (!isMissing && dpopAlgs.length > 0 && isDpop(authorization))
      ? [schemeWith('Bearer', place), schemeWith('DPoP', [...errors, ...description, algs])]
      : [
          schemeWith('Bearer', [...errors, ...place, ...asked, ...description]),
          ...(dpopAlgs.length === 0 ? [] : [schemeWith('DPoP', [algs])])
        ]
  return new OAuthError(error, message, {
    statusCode: ofProof ? 401 : statusCode,
    headers: { ...headers, 'www-authenticate': challenges.join(', ') },
    code,
    members,
    withoutStack: true,
    ...(detail === undefined ? {} : { detail }),
    ...(cause === undefined ? {} : { cause })
  })
}

const schemeWith = (scheme: string, params: readonly string[]): string =>
  params.length === 0 ? scheme : `${scheme} ${params.join(', ')}`

/** Adds challenges to the refusals of our own routes that take an access token. */
export function routeChallenges({ algs }: Possession): (error: OAuthError, request: FastifyRequest) => OAuthError {
  return (error, { headers, routeOptions }) => {
    const { fastifyAuthority: declared } = routeOptions.config as Partial<CallersConfig>
    const takesToken = declared?.callers === 'account' || typeof declared?.callers === 'object'
    return takesToken ? withChallenge(error, headers.authorization, { dpopAlgs: algs }) : error
  }
}
