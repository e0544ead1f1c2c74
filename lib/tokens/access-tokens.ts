import { OAuthError } from '../errors.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { issuedTokens, signedPayload, type VerifiedTokenCache } from './verified-token-cache.ts'
import type { Clock } from '../ports/clock.ts'
import type { LoadedKey, Random } from '../ports/cryptography.ts'
import type { AuthenticationContext } from '../protocol/authentication.ts'
import {
  ACCESS_TOKEN_CLAIMS,
  type AccessTokenClaims,
  type ActClaim,
  type AccessTokenPolicy,
  checkAccessTokenClaims,
  deepFreeze,
  tokenHeaderReader
} from '../protocol/access-token.ts'
import type { AdmittedScopes } from '../protocol/scope.ts'
import { bearerCredential, bearerToken, invalidToken, MAX_TOKEN_LENGTH, missingToken } from '../protocol/bearer.ts'
import { boundKey, boundToken, type Proof } from '../protocol/dpop.ts'
import { audiencesOf, type Resource } from '../protocol/resource.ts'
import type { Revocations } from '../sessions/sessions.ts'

/** The input for a new token. `iss`, `aud`, `exp`, `iat` and `jti` are added. */
interface AccessTokenSubject {
  sub: string
  /** Empty: the token has no scope. */
  scopes: AdmittedScopes
  sid?: string
  client_id?: string
  /**
   * The authentication of the user. A client's own token has none.
   * @see RFC 9068 §2.2.1
   */
  authentication?: AuthenticationContext
  /** The key that the token is bound to. `null`: none. @see RFC 9449 §6 */
  jkt?: string | null
  /** Host claims. They never replace a registered claim. */
  extra?: Record<string, unknown> | undefined
  /** The API that the token is for. `null`: the service's own audience. */
  target?: Resource | null
  /** The actor of a token that acts in the name of its user. @see RFC 8693 §4.1 */
  act?: ActClaim
  /** Ends the token earlier than its lifetime would. */
  mostSeconds?: number
}

/** The audience that a reader asks for: an API, `null` for the service's own, or any of them. */
export type Reader = Pick<Resource, 'resource'> | null | 'any'

export interface AccessTokens {
  /** The lifetime of a token for this API. `null`: for the service's own audience. */
  secondsFor(target: Pick<Resource, 'expiresInSeconds'> | null): number
  /**
   * Resolves when a signing key is available for tokens for this API. At the start it may still be generated. Left out:
   * for all tokens.
   */
  ready(target?: Pick<Resource, 'alg'> | null): Promise<void>
  /** @throws OAuthError `temporarily_unavailable` before `ready` */
  mint(subject: AccessTokenSubject): string
  /**
   * Verifies the Bearer token of an `Authorization` header. Nearly every request comes this way: a header that was
   * verified before is found by its text without parsing, and a token that this process made needs no signature check.
   * Returns common refusals, because a throw costs as much as the call: no token, a token that is bound to a key, and
   * a cached token that has expired or was revoked.
   * @param reader the audience that the token must have
   * @throws OAuthError any other refusal
   */
  authenticate(
    authorization: string | undefined,
    reader: Exclude<Reader, 'any'>
  ): AccessTokenClaims | OAuthError | Promise<AccessTokenClaims | OAuthError>
  /**
   * The frozen claims of a good token, also of one that is bound to a key: at once if the token was seen before or its
   * signing key is known, otherwise by a promise.
   * @throws OAuthError `invalid_token`; `temporarily_unavailable` if its key is unknown and the key store is
   * unreachable
   */
  verify(token: string, reader: Reader): AccessTokenClaims | Promise<AccessTokenClaims>
}

interface AccessTokenDeps {
  ring: KeyRing
  cache: VerifiedTokenCache
  revocations: Revocations
  clock: Clock
  random: Random
  /** The APIs of the service. The array may grow until the start ends. */
  resources: readonly Resource[]
}

/** Access tokens as JWTs. @see RFC 9068 */
export function accessTokens(
  policy: AccessTokenPolicy & { expiresInSeconds: number; typ: 'at+jwt' | 'JWT' },
  deps: AccessTokenDeps
): AccessTokens {
  const { ring, cache, revocations, clock, random, resources } = deps
  const readHeader = tokenHeaderReader(policy.typ === 'JWT' ? 'at+jwt or JWT' : 'at+jwt')
  const issued = issuedTokens()

  function seen(credential: string, reader: Reader): AccessTokenClaims | OAuthError | undefined {
    const verified = cache.get(credential)
    // Verifies again if the token is not cached, its key has left the ring, or it was verified for another audience.
    if (verified === undefined || ring.find(verified.key.kid) !== verified.key) return undefined
    if (reader !== 'any' && verified.resource !== (reader?.resource ?? null)) return undefined
    if (clock.now() >= verified.exp * 1000) return invalidToken('The token has expired.', 'exp')
    if (revocations.has(verified.sid)) return invalidToken('The token was revoked.', 'revoked here')
    verified.claims ??= deepFreeze(payloadOf(credential))
    return verified.claims
  }

  function judge(token: string, reader: Reader): AccessTokenClaims | Promise<AccessTokenClaims> {
    if (token.length > MAX_TOKEN_LENGTH) throw invalidToken('The token is malformed.')
    const { alg, kid } = readHeader(token)
    // Every token of this service has a `kid`.
    if (kid === undefined) throw invalidToken('The token is signed with an unknown key.', 'kid')
    const key = ring.find(kid)
    if (key !== undefined) return check(token, alg, key, reader)
    // Another instance may have made a key a moment ago.
    return ring.refresh().then(() => {
      const found = ring.find(kid)
      if (found === undefined) throw invalidToken('The token is signed with an unknown key.', 'kid')
      return check(token, alg, found, reader)
    })
  }

  function check(token: string, alg: string, key: LoadedKey, reader: Reader): AccessTokenClaims {
    const audience =
      reader === null
        ? policy.audience
        : reader === 'any'
          ? [policy.audience, ...resources.map(({ resource }) => audiencesOf(resource))].flat(2)
          : audiencesOf(reader.resource)
    const payload = issued.has(key, token) ? payloadOf(token) : signedPayload(key, alg, token)
    const claims = checkAccessTokenClaims(payload, { ...policy, audience }, clock.now())
    if (revocations.has(claims.sid) || (claims.act !== undefined && revocations.hasActedFor(claims)))
      throw invalidToken('The token was revoked.', 'revoked here')
    // A cache hit checks the revocation of `sid` only, so tokens with `act` are not cached.
    if (reader !== 'any' && claims.act === undefined)
      cache.set(bearerCredential(token), {
        key,
        resource: reader?.resource ?? null,
        exp: claims.exp,
        sid: claims.sid,
        claims: null
      })
    return claims
  }

  const secondsFor: AccessTokens['secondsFor'] = (target) => target?.expiresInSeconds ?? policy.expiresInSeconds
  return {
    secondsFor,
    ready(target) {
      const own = ring.ready(target?.alg ?? undefined)
      if (target !== undefined || resources.length === 0) return own
      return own.then(async () => {
        for (const { alg } of resources) await ring.ready(alg ?? undefined)
      })
    },

    mint({ sub, scopes, sid, client_id, authentication, jkt = null, extra, target = null, act, mostSeconds }) {
      const iat = Math.floor(clock.now() / 1000)
      const exp = iat + Math.min(secondsFor(target), mostSeconds ?? Infinity)
      // The token does not contain undefined values. `nbf` is one of them, because the engine sets it on a copy of the
      // payload, and V8 adds a missing field slowly.
      const auth_time = authentication === undefined ? undefined : Math.floor(authentication.authenticatedAt / 1000)
      const acr = authentication?.acr ?? undefined
      const amr = authentication === undefined || authentication.amr.length === 0 ? undefined : authentication.amr
      const payload = {
        iss: policy.issuer,
        aud: target?.resource ?? policy.audience,
        sub,
        client_id,
        scope: scopes.length === 0 ? undefined : scopes.join(' '),
        sid,
        auth_time,
        acr,
        amr,
        iat,
        exp,
        nbf: undefined,
        jti: random.id(),
        cnf: jkt === null ? undefined : { jkt },
        act,
        ...unregistered(extra)
      }
      const key = ring.signingKey(target?.alg ?? undefined)
      const token = key.sign(payload, policy.typ)
      issued.add(key, token)
      return token
    },

    authenticate(authorization, reader) {
      if (authorization === undefined) return missingToken()
      const known = seen(authorization, reader)
      if (known !== undefined) return asBearer(known)
      const token = bearerToken(authorization)
      if (token === undefined) return missingToken(' The header Authorization has another scheme.')
      // The cache has one spelling of each credential. The header may spell the scheme or the spaces in another way.
      const credential = bearerCredential(token)
      const found = (credential === authorization ? undefined : seen(credential, reader)) ?? judge(token, reader)
      return found instanceof Promise ? found.then(asBearer) : asBearer(found)
    },

    verify(token, reader) {
      const known = seen(bearerCredential(token), reader)
      if (known instanceof OAuthError) throw known
      return known ?? judge(token, reader)
    }
  }
}

/** Refuses a token that is bound to a key, because such a token is not accepted as Bearer. @see RFC 9449 §7.2 */
function asBearer(found: AccessTokenClaims | OAuthError): AccessTokenClaims | OAuthError {
  return found instanceof OAuthError || boundKey(found) === null ? found : boundToken()
}

/** Decodes the claims of a token whose signature is known to be good. */
function payloadOf(token: string): AccessTokenClaims {
  return JSON.parse(
    Buffer.from(token.slice(token.indexOf('.') + 1, token.lastIndexOf('.')), 'base64url').toString('utf8')
  ) as AccessTokenClaims
}

/** The host's claims except those of the standards. */
function unregistered(extra: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  return extra === undefined
    ? undefined
    : Object.fromEntries(Object.entries(extra).filter(([name]) => !ACCESS_TOKEN_CLAIMS.has(name)))
}

/** The parts of a request that its proof is about. */
interface ProvingRequest {
  method: string
  /** As it was sent, with its query. */
  originalUrl: string
  headers: Readonly<Record<string, string | string[] | undefined>>
}

/** Proofs that a client has the key of its tokens. @see RFC 9449 */
export interface Possession {
  /** The signature algorithms that a proof may have. */
  algs: readonly string[]
  /**
   * The proof of a request; `null` if it has none. Its use is not recorded yet.
   * @param accessToken the token that the request sends; `null` at an endpoint that takes no access token
   * @param origin the origin of the URL in the proof. Default: that of the issuer
   * @throws OAuthError `invalid_dpop_proof`, `use_dpop_nonce`
   */
  read(request: ProvingRequest, accessToken: string | null, origin?: string): Proof | null
  /**
   * Records the use of a proof, so that no process accepts it again. Call it after all other checks.
   * @throws OAuthError `invalid_dpop_proof` if it was used before
   */
  spend(proof: Proof): Promise<void>
}
