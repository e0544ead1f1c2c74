import { Type } from '@sinclair/typebox'
import type { RefreshTokenPolicy } from '../../oauth/deps.ts'
import { oneOf, optional, seconds, section, words } from '../schema-words.ts'

/** How long tokens, codes and browser sessions live, in seconds, and what they are like. */
export interface TokenOptions {
  accessToken?:
    | {
        expiresIn?: number | undefined
        audience?: string | string[] | undefined
        typ?: 'at+jwt' | 'JWT' | undefined
        alg?: 'ES256' | 'RS256' | undefined
      }
    | undefined
  refreshToken?:
    | {
        expiresIn?: number | undefined
        idleTimeout?: number | undefined
        rotate?: 'oauth' | 'always' | 'never' | undefined
        reuseGraceSeconds?: number | undefined
      }
    | undefined
  idToken?: { expiresIn?: number | undefined; claims?: 'requested' | 'scopes' | undefined } | undefined
  authorizationCode?: { expiresIn?: number | undefined } | undefined
  session?: { expiresIn?: number | undefined; idleTimeout?: number | undefined } | undefined
}

export interface TokenSettings {
  /** `alg` is that of managed keys: the host's own say theirs. */
  accessToken: { expiresInSeconds: number; audience: string | string[]; typ: 'at+jwt' | 'JWT'; alg: 'ES256' | 'RS256' }
  refreshToken: RefreshTokenPolicy
  idToken: { expiresInSeconds: number; claims: 'requested' | 'scopes' }
  authorizationCode: { expiresInMs: number }
  session: { expiresInMs: number; idleTimeoutMs: number }
}

export const TOKEN_DEFAULTS = {
  accessToken: { expiresIn: 900, typ: 'at+jwt', alg: 'ES256' },
  refreshToken: { expiresIn: 2_592_000, idleTimeout: 1_209_600, rotate: 'oauth', reuseGraceSeconds: 10 },
  idToken: { expiresIn: 900, claims: 'requested' },
  authorizationCode: { expiresIn: 60 },
  session: { expiresIn: 43_200, idleTimeout: 7200 }
} as const

export const TOKEN_SCHEMAS = {
  accessToken: optional(
    section(
      {
        expiresIn: optional(
          seconds(1, 86_400, {
            default: TOKEN_DEFAULTS.accessToken.expiresIn,
            description: 'Lifetime of an access token.'
          })
        ),
        audience: optional(
          Type.Union([Type.String({ minLength: 1 }), words({ minItems: 1, takes: 'an array of strings' })], {
            default: 'the issuer',
            takes: 'a string or an array of strings',
            description: 'Who the token is for.'
          })
        ),
        typ: optional(
          oneOf(['at+jwt', 'JWT'], {
            default: TOKEN_DEFAULTS.accessToken.typ,
            description:
              'The type in its header. `"JWT"`: for APIs whose library takes no other. An ID token is no ' +
              'access token in either case, nor the reverse; tokens of the type `at+jwt` that are still ' +
              'alive go on.'
          })
        ),
        alg: optional(
          oneOf(['ES256', 'RS256'], {
            default: TOKEN_DEFAULTS.accessToken.alg,
            description:
              'What managed keys sign access tokens with. `"RS256"`: for APIs that know nothing else. ' +
              'With the option `keys`, the first of them signs.'
          })
        )
      },
      'RFC 9068 JWT.'
    )
  ),
  refreshToken: optional(
    section(
      {
        expiresIn: optional(
          seconds(1, 31_536_000, {
            default: TOKEN_DEFAULTS.refreshToken.expiresIn,
            description: 'Absolute lifetime of a sign-in; no refresh extends it.'
          })
        ),
        idleTimeout: optional(
          seconds(1, 31_536_000, {
            default: TOKEN_DEFAULTS.refreshToken.idleTimeout,
            description: 'How long it lives without a refresh.'
          })
        ),
        rotate: optional(
          oneOf(['oauth', 'always', 'never'], {
            default: TOKEN_DEFAULTS.refreshToken.rotate,
            description:
              '`"oauth"`: the token endpoint rotates and `POST /auth/refresh` does not; `"always"`: both ' +
              'do; `"never"`: none does.'
          })
        ),
        reuseGraceSeconds: optional(
          seconds(0, 300, {
            default: TOKEN_DEFAULTS.refreshToken.reuseGraceSeconds,
            description: 'How long the replaced token still brings the same successor. 0: not at all.'
          })
        )
      },
      'Opaque; only a digest is kept.'
    )
  ),
  idToken: optional(
    section(
      {
        expiresIn: optional(
          seconds(1, 86_400, { default: TOKEN_DEFAULTS.idToken.expiresIn, description: 'Lifetime of an ID token.' })
        ),
        claims: optional(
          oneOf(['requested', 'scopes'], {
            default: TOKEN_DEFAULTS.idToken.claims,
            description:
              '`"requested"`: of the user, only what the `claims` parameter names; the rest is at ' +
              'userinfo. `"scopes"`: also the claims of the granted scopes, for clients that never ask ' +
              'userinfo. For one client: `clients[].idTokenClaims`. An ID token travels in URLs as a ' +
              'hint.'
          })
        )
      },
      'OpenID Connect ID tokens.'
    )
  ),
  authorizationCode: optional(
    section(
      {
        expiresIn: optional(
          seconds(1, 600, {
            default: TOKEN_DEFAULTS.authorizationCode.expiresIn,
            description: 'How long a code can be redeemed.'
          })
        )
      },
      'Single use; only a digest is kept.'
    )
  ),
  session: optional(
    section(
      {
        expiresIn: optional(
          seconds(1, 31_536_000, {
            default: TOKEN_DEFAULTS.session.expiresIn,
            description:
              'Absolute lifetime of a browser session, from the oldest proof that it rests on: a new ' +
              'sign-in begins it anew, a second factor alone does not.'
          })
        ),
        idleTimeout: optional(
          seconds(1, 31_536_000, {
            default: TOKEN_DEFAULTS.session.idleTimeout,
            description: 'How long it lives without a use.'
          })
        )
      },
      'The browser session of the hosted pages.'
    )
  )
}

export function resolveTokens({
  issuer,
  accessToken = {},
  refreshToken = {},
  idToken = {},
  authorizationCode = {},
  session = {}
}: TokenOptions & { issuer: string }): TokenSettings {
  const {
    expiresIn: accessSeconds = TOKEN_DEFAULTS.accessToken.expiresIn,
    audience = issuer,
    typ = TOKEN_DEFAULTS.accessToken.typ,
    alg = TOKEN_DEFAULTS.accessToken.alg
  } = accessToken
  const { expiresIn: familySeconds, idleTimeout: familyIdleSeconds, rotate, reuseGraceSeconds } = refreshToken
  const {
    expiresIn: idTokenSeconds = TOKEN_DEFAULTS.idToken.expiresIn,
    claims: idTokenClaims = TOKEN_DEFAULTS.idToken.claims
  } = idToken
  const { expiresIn: codeSeconds = TOKEN_DEFAULTS.authorizationCode.expiresIn } = authorizationCode
  const { expiresIn: sessionSeconds = TOKEN_DEFAULTS.session.expiresIn } = session
  // A session that is shorter than the default idle time has none of its own.
  const { idleTimeout: sessionIdleSeconds = Math.min(sessionSeconds, TOKEN_DEFAULTS.session.idleTimeout) } = session
  return {
    accessToken: { expiresInSeconds: accessSeconds, audience, typ, alg },
    refreshToken: {
      expiresInMs: (familySeconds ?? TOKEN_DEFAULTS.refreshToken.expiresIn) * 1000,
      idleTimeoutMs: (familyIdleSeconds ?? TOKEN_DEFAULTS.refreshToken.idleTimeout) * 1000,
      rotate: rotate ?? TOKEN_DEFAULTS.refreshToken.rotate,
      graceMs: (reuseGraceSeconds ?? TOKEN_DEFAULTS.refreshToken.reuseGraceSeconds) * 1000
    },
    idToken: { expiresInSeconds: idTokenSeconds, claims: idTokenClaims },
    authorizationCode: { expiresInMs: codeSeconds * 1000 },
    session: { expiresInMs: sessionSeconds * 1000, idleTimeoutMs: sessionIdleSeconds * 1000 }
  }
}
