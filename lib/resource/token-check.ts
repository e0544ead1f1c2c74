/** The check of an access token at a resource server. */
import { OAuthError } from '../errors.ts'
import type { Check } from '../http/edge/hook.ts'
import type { Clock } from '../ports/clock.ts'
import type { VerifyingKey } from '../ports/cryptography.ts'
import {
  type AccessTokenClaims,
  type AccessTokenPolicy,
  checkAccessTokenClaims,
  tokenHeaderReader
} from '../protocol/access-token.ts'
import { invalidToken, missingToken, sentToken } from '../protocol/bearer.ts'
import { type Proof, proofFor, proofReader, provenUrl, usedProof } from '../protocol/dpop.ts'
import { audiencesOf } from '../protocol/resource.ts'
import { signedPayload, verifiedTokenCache } from '../tokens/verified-token-cache.ts'
import type { Issuer } from './issuer.ts'

/** How far the clocks of the issuer and of this process may differ. */
const SKEW_SECONDS = 5
const PROOF_MAX_AGE_SECONDS = 60
const KEPT_TOKENS = 10_000
/** Proofs that are remembered, so that none counts twice. One more is answered 503. */
const MAX_PROOFS = 200_000

interface TokenCheckOptions {
  issuer: string
  resource: string
  introspects: boolean
}

/** @throws OAuthError, or the error of a call to the issuer that failed */
export function resourceTokenCheck(
  { issuer, resource, introspects }: TokenCheckOptions,
  { source, clock }: { source: Issuer; clock: Clock }
): Check<AccessTokenClaims> {
  const audience = audiencesOf(resource)
  const { origin } = new URL(resource)
  const policy: AccessTokenPolicy = {
    issuer,
    audience,
    clockSkewSeconds: SKEW_SECONDS,
    expirySkewSeconds: SKEW_SECONDS
  }
  const readHeader = tokenHeaderReader('at+jwt')
  const cache = verifiedTokenCache(KEPT_TOKENS)
  const readProof = proofReader(PROOF_MAX_AGE_SECONDS)
  const spend = proofMemory(clock)

  async function verified(token: string): Promise<AccessTokenClaims> {
    const seen = cache.get(token)
    if (seen?.claims && clock.now() < (seen.exp + SKEW_SECONDS) * 1000) {
      // A key that the issuer has withdrawn verifies nothing any more.
      const current = await source.keysFor({ alg: seen.key.alg, kid: seen.key.kid === '' ? undefined : seen.key.kid })
      if (current.includes(seen.key)) return seen.claims
    }
    const { alg, kid } = readHeader(token)
    const keys = await source.keysFor({ alg, kid })
    const { key, payload } = signedBy(keys, alg, token)
    const claims = checkAccessTokenClaims(payload, policy, clock.now())
    if (claims.client_id === undefined) throw invalidToken('The token lacks a claim.', 'client_id')
    cache.set(token, { key, resource, exp: claims.exp, sid: claims.sid, claims })
    return claims
  }

  async function checkActive(token: string): Promise<void> {
    const said = await source.introspect(token)
    if (said === null) throw invalidToken('The token is not active any more.', 'introspection')
    const { iss = issuer, aud = audience } = said
    const named = Array.isArray(aud) ? aud : [aud]
    if (iss !== issuer || !audience.some((one) => named.includes(one)))
      throw invalidToken('The token is not for this resource.', 'introspection')
  }

  return async (request) => {
    const sent = sentToken(request.headers.authorization)
    if (sent === undefined) return missingToken()
    const claims = await verified(sent.token)
    const proof = proofFor(claims, sent, () =>
      readProof({
        header: request.headers['dpop'],
        method: request.method,
        url: provenUrl(origin, request),
        accessToken: sent.token,
        now: clock.now()
      })
    )
    if (proof !== null) spend(proof)
    if (introspects) await checkActive(sent.token)
    return claims
  }
}

/**
 * The key of these that signed a token, and its payload. A token without a key id is tried with each.
 * @throws OAuthError `invalid_token`
 */
function signedBy(keys: readonly VerifyingKey[], alg: string, token: string): { key: VerifyingKey; payload: unknown } {
  let refusal: unknown = invalidToken('The token is signed with an unknown key.', 'kid')
  for (const key of keys) {
    try {
      return { key, payload: signedPayload(key, alg, token) }
    } catch (error) {
      refusal = error
    }
  }
  throw refusal
}

/**
 * Remembers proofs in this process until none of them can be used again.
 * @returns records the use of a proof; throws OAuthError where it was used before, or where too many are remembered
 */
function proofMemory(clock: Clock): (proof: Proof) => void {
  /** No proof is good for longer: one from the end of the allowed future. */
  const periodMs = (2 * PROOF_MAX_AGE_SECONDS + 2) * 1000
  let [young, old] = [new Set<string>(), new Set<string>()]
  let turnedAt = clock.monotonic()
  return ({ replayKey }) => {
    const now = clock.monotonic()
    if (now - turnedAt >= periodMs) {
      old = now - turnedAt >= 2 * periodMs ? new Set() : young
      young = new Set()
      turnedAt = now
    }
    if (young.has(replayKey) || old.has(replayKey)) throw usedProof()
    if (young.size + old.size >= MAX_PROOFS)
      throw new OAuthError('temporarily_unavailable', 'Too many proofs at the moment.', {
        headers: { 'retry-after': '60' },
        withoutStack: true
      })
    young.add(replayKey)
  }
}
