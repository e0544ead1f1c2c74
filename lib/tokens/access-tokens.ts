import type { KeyRing } from '../keys/key-ring.ts'
import type { Clock } from '../ports/clock.ts'
import type { Random } from '../ports/random.ts'
import { type AccessTokenClaims, type AccessTokenPolicy, checkAccessTokenClaims, deepFreeze, parseTokenHeader } from '../protocol/access-token.ts'
import { invalidToken, MAX_TOKEN_LENGTH } from '../protocol/bearer.ts'
import type { Revocations } from './revocations.ts'
import { signedPayload } from './signed-payload.ts'
import type { VerifiedTokenCache } from './verified-token-cache.ts'

/** What a caller says of a new token; `iss`, `aud`, `exp`, `iat` and `jti` are added. */
export interface AccessTokenSubject {
  sub: string
  scope: string
  sid?: string
  client_id?: string
  auth_time?: number
  /** Host claims. They never replace a registered one. */
  extra?: Record<string, unknown>
}

export interface AccessTokens {
  readonly expiresInSeconds: number
  /** Resolves when there is a key to sign with: right at the start it may still be in the making. */
  ready(): Promise<void>
  /** @throws OAuthError `temporarily_unavailable` before `ready` */
  mint(subject: AccessTokenSubject): string
  /**
   * The claims of a good token, frozen; at once where it was seen before or its key is at hand, else by a promise.
   * @throws OAuthError `invalid_token`; `temporarily_unavailable` where its key is unknown and the store that may have it is out of reach
   */
  verify(token: string): AccessTokenClaims | Promise<AccessTokenClaims>
}

export interface AccessTokenDeps {
  ring: KeyRing
  cache: VerifiedTokenCache
  revocations: Revocations
  clock: Clock
  random: Random
}

const REGISTERED = new Set(['iss', 'sub', 'aud', 'exp', 'iat', 'nbf', 'jti', 'client_id', 'scope', 'sid', 'auth_time'])

/** Access tokens as JWTs. @see RFC 9068 */
export function accessTokens (policy: AccessTokenPolicy & { expiresInSeconds: number }, deps: AccessTokenDeps): AccessTokens {
  const { ring, cache, revocations, clock, random } = deps

  function check (token: string, payload: unknown): AccessTokenClaims {
    const claims = checkAccessTokenClaims(payload, policy, clock.now())
    if (revocations.has(claims.sid)) throw invalidToken('The token was revoked.', 'revoked here')
    cache.set(token, claims)
    return claims
  }

  return {
    expiresInSeconds: policy.expiresInSeconds,
    ready: async () => { await ring.ready() },

    mint ({ extra = {}, ...subject }) {
      const iat = Math.floor(clock.now() / 1000)
      const payload = {
        ...Object.fromEntries(Object.entries(extra).filter(([name]) => !REGISTERED.has(name))),
        iss: policy.issuer,
        aud: policy.audience,
        ...subject,
        iat,
        exp: iat + policy.expiresInSeconds,
        jti: random.id()
      }
      const token = ring.signingKey().sign(payload)
      // Written through: the token that this instance has just made needs no verification. Through JSON, as a reader sees it.
      cache.set(token, deepFreeze(JSON.parse(JSON.stringify(payload)) as AccessTokenClaims))
      return token
    },

    verify (token) {
      const seen = cache.get(token)
      if (seen !== undefined) {
        if (clock.now() >= seen.exp * 1000) throw invalidToken('The token has expired.', 'exp')
        if (revocations.has(seen.sid)) throw invalidToken('The token was revoked.', 'revoked here')
        return seen
      }
      if (token.length > MAX_TOKEN_LENGTH) throw invalidToken('The token is malformed.')
      const { alg, kid } = parseTokenHeader(token, 'at+jwt')
      // None of ours is without.
      if (kid === undefined) throw invalidToken('The token is signed with an unknown key.', 'kid')
      const key = ring.find(kid)
      if (key !== undefined) return check(token, signedPayload(key, alg, token))
      // Perhaps another instance made a key a moment ago.
      return ring.refresh().then(() => {
        const found = ring.find(kid)
        if (found === undefined) throw invalidToken('The token is signed with an unknown key.', 'kid')
        return check(token, signedPayload(found, alg, token))
      })
    }
  }
}
