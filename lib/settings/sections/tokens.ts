import { Type } from '@sinclair/typebox'
import { filled, type Given, oneOf, option, seconds, section, words } from '../schema-words.ts'

const ACCESS_TOKEN = {
  /** Lifetime of an access token in seconds. */
  expiresIn: seconds(1, 86_400, { default: 900 }),
  /** The APIs that the token is for (`aud`). */
  audience: option<string | string[]>(
    Type.Union([Type.String({ minLength: 1 }), words({ minItems: 1, takes: 'an array of strings' })], {
      otherwise: 'the issuer',
      takes: 'a string or an array of strings'
    })
  ),
  /**
   * The type in the token's header. `"JWT"` is for APIs whose library accepts no other type. An ID token never passes
   * as an access token, nor the reverse. Tokens of the type `at+jwt` that are still alive stay valid after a change.
   */
  typ: oneOf(['at+jwt', 'JWT'], { default: 'at+jwt' }),
  /**
   * The algorithm with which managed keys sign access tokens. `"RS256"` is for APIs that know no other. With the option
   * `keys`, the first of them signs.
   */
  alg: oneOf(['ES256', 'RS256'], { default: 'ES256' })
}

const REFRESH_TOKEN = {
  /** Absolute lifetime of a sign-in in seconds. No refresh extends it. */
  expiresIn: seconds(1, 31_536_000, { default: 2_592_000, to: 'Ms' }),
  /** Seconds after which a sign-in without a refresh ends. */
  idleTimeout: seconds(1, 31_536_000, { default: 1_209_600, to: 'Ms' }),
  /**
   * `"oauth"`: the token endpoint rotates and `POST /auth/refresh` does not. `"always"`: both rotate. `"never"`:
   * neither rotates.
   */
  rotate: oneOf(['oauth', 'always', 'never'], { default: 'oauth' }),
  /**
   * Seconds in which a replaced refresh token still works and returns the same new token. Time in which the state is
   * out of reach does not count. 0: the token stops working at once. For clients that nobody registered, the time is at
   * least 120 seconds.
   */
  reuseGraceSeconds: seconds(0, 300, { default: 10, to: 'Ms' })
}

const ID_TOKEN = {
  /** Lifetime of an ID token in seconds. */
  expiresIn: seconds(1, 86_400, { default: 900 }),
  /**
   * `"requested"`: of the claims about the user, only those that the `claims` parameter names. Userinfo has the others.
   * `"scopes"`: also the claims of the granted scopes, for clients that never call userinfo. ID tokens also appear in
   * URLs, as `id_token_hint`. For one client: `clients[].idTokenClaims`.
   */
  claims: oneOf(['requested', 'scopes'], { default: 'requested' })
}

const AUTHORIZATION_CODE = {
  /** Seconds in which a code can be redeemed. */
  expiresIn: seconds(1, 600, { default: 60, to: 'Ms' })
}

const SESSION = {
  /**
   * Absolute lifetime of a browser session in seconds. It counts from the oldest authentication of the session: a new
   * sign-in starts it again, a second factor alone does not.
   */
  expiresIn: seconds(1, 31_536_000, { default: 43_200, to: 'Ms' }),
  /** Seconds after which an unused browser session ends. */
  idleTimeout: seconds(1, 31_536_000, { default: 7200, to: 'Ms' })
}

export const TOKEN_OPTIONS = {
  /** Access tokens are JWTs (RFC 9068). */
  accessToken: section<Given<typeof ACCESS_TOKEN>>(ACCESS_TOKEN),
  /** Refresh tokens are opaque. Only their digests are stored. */
  refreshToken: section<Given<typeof REFRESH_TOKEN>>(REFRESH_TOKEN),
  /** OpenID Connect ID tokens. */
  idToken: section<Given<typeof ID_TOKEN>>(ID_TOKEN),
  /** Authorization codes work once. Only their digests are stored. */
  authorizationCode: section<Given<typeof AUTHORIZATION_CODE>>(AUTHORIZATION_CODE),
  /** The browser session of the hosted pages. */
  session: section<Given<typeof SESSION>>(SESSION)
}

/** Lifetimes of tokens, codes and browser sessions in seconds, and their form. */
export interface TokenOptions extends Given<typeof TOKEN_OPTIONS> {}

export function resolveTokens({ issuer, ...given }: TokenOptions & { issuer: string }) {
  const session = filled(SESSION, given.session)
  return {
    // `alg` applies to managed keys only. Each JWK of the host has its own algorithm.
    accessToken: filled(ACCESS_TOKEN, given.accessToken, { audience: issuer }),
    refreshToken: filled(REFRESH_TOKEN, given.refreshToken),
    idToken: filled(ID_TOKEN, given.idToken),
    authorizationCode: filled(AUTHORIZATION_CODE, given.authorizationCode),
    session: {
      ...session,
      // The default idle time does not exceed the lifetime of the session.
      idleTimeoutMs:
        given.session?.idleTimeout === undefined
          ? Math.min(session.expiresInMs, session.idleTimeoutMs)
          : session.idleTimeoutMs
    }
  }
}
