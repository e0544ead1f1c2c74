import { OAuthError } from '../errors.ts'
import { type KeyRing } from '../keys/key-ring.ts'
import { signedPayload } from './verified-token-cache.ts'
import type { Client } from '../ports/client-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { Random } from '../ports/cryptography.ts'
import type { User } from '../ports/user-store.ts'
import type { AuthenticationContext } from '../protocol/authentication.ts'
import { parseTokenHeader } from '../protocol/access-token.ts'
import { MAX_TOKEN_LENGTH } from '../protocol/bearer.ts'
import type { ClaimsRequest } from '../protocol/user-claims.ts'
import { checkIdTokenHint, idTokenClaims, logoutTokenClaims } from '../protocol/id-token.ts'
import { releasedClaims, type ReleasePolicy } from './disclosure.ts'

interface IdTokenSubject {
  user: User
  client: Client
  scopes: string[]
  /** The authentication context of the sign-in. */
  authentication: AuthenticationContext
  sid: string | null
  nonce?: string | undefined
  claims?: ClaimsRequest | undefined
  /** For `at_hash`. */
  accessToken: string
}

/** The content of an `id_token_hint`, expired or not. */
export interface IdTokenHint {
  sub: string
  aud: string
  sid: string | undefined
}

/** @see OpenID Connect Core 1.0 §2 */
export interface IdTokens {
  /** Resolves when a key for this client's algorithm is available. */
  ready(client: Client): Promise<void>
  mint(subject: IdTokenSubject): Promise<string>
  /**
   * Reads an ID token of this service, also an expired one. `null` for any other.
   * @throws OAuthError `temporarily_unavailable` if its key is unknown and the key store is unreachable
   * @see OpenID Connect Core 1.0 §3.1.2.2
   */
  readHint(token: string): Promise<IdTokenHint | null>
  /**
   * Makes the token that notifies a client of a sign-out.
   * @see OpenID Connect Back-Channel Logout 1.0 §2.4
   */
  mintLogoutToken(of: { client: Client; userId: string; sid: string }): Promise<string>
}

interface IdTokenDeps extends ReleasePolicy {
  ring: KeyRing
  clock: Clock
  random: Random
}

/**
 * The algorithm of a client that registered none.
 * @see OpenID Connect Dynamic Client Registration 1.0 §2
 */
const DEFAULT_ALG = 'RS256'

/**
 * Makes and reads ID tokens and logout tokens. `mint` and `mintLogoutToken` wait for the key. Call `ready` only to
 * learn earlier that the key is missing.
 */
export function idTokens(
  policy: { issuer: string; expiresInSeconds: number; claims: 'requested' | 'scopes' },
  { ring, clock, random, ...release }: IdTokenDeps
): IdTokens {
  const { issuer } = policy

  /**
   * The registered algorithm of the client. A client without it gets RS256, or `undefined` (the first key of the ring)
   * if the ring has no key for RS256.
   */
  const algOf = (client: Client): string | undefined =>
    client.idTokenSignedResponseAlg ?? (ring.algs().includes(DEFAULT_ALG) ? DEFAULT_ALG : undefined)

  return {
    ready: async (client) => {
      await ring.ready(algOf(client))
    },

    async mint({
      user,
      client,
      scopes,
      authentication: { acr, amr, authenticatedAt },
      sid,
      nonce,
      claims: requested,
      accessToken
    }) {
      const released = await releasedClaims(
        {
          user,
          client,
          scopes,
          use: 'id_token',
          claims: requested,
          scopeClaims: (client.idTokenClaims ?? policy.claims) === 'scopes'
        },
        release
      )
      await ring.ready(algOf(client))
      const key = ring.signingKey(algOf(client))
      return key.sign(
        idTokenClaims(
          {
            issuer,
            userId: user.id,
            clientId: client.clientId,
            now: clock.now(),
            expiresInSeconds: policy.expiresInSeconds,
            acr,
            amr,
            authenticatedAt,
            nonce,
            sid,
            accessToken,
            alg: key.alg
          },
          released
        ),
        'JWT'
      )
    },

    async readHint(token) {
      if (token.length > MAX_TOKEN_LENGTH) return null
      try {
        const { alg, kid } = parseTokenHeader(token, 'JWT')
        if (kid === undefined) return null
        // Another instance may have made the key a moment ago.
        if ((await ring.findForHint(kid)) === undefined) await ring.refresh()
        const key = await ring.findForHint(kid)
        return key === undefined ? null : checkIdTokenHint(signedPayload(key, alg, token), issuer)
      } catch (error) {
        // An unreachable store proves nothing about the token.
        if (error instanceof OAuthError && error.error === 'invalid_token') return null
        throw error
      }
    },

    async mintLogoutToken({ client, userId, sid }) {
      await ring.ready(algOf(client))
      return ring
        .signingKey(algOf(client))
        .sign(
          logoutTokenClaims({ issuer, clientId: client.clientId, userId, sid, now: clock.now(), jti: random.id() }),
          'logout+jwt'
        )
    }
  }
}
