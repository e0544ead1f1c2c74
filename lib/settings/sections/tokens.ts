import { Type } from '@sinclair/typebox'
import { filled, oneOf, optional, seconds, section, words } from '../schema-words.ts'

/** Lifetimes of tokens, codes and browser sessions in seconds, and their form. */
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

export const TOKEN_SCHEMAS = {
  accessToken: optional(
    section(
      {
        expiresIn: optional(
          seconds(1, 86_400, {
            default: 900,
            description: 'Lifetime of an access token.'
          })
        ),
        audience: optional(
          Type.Union([Type.String({ minLength: 1 }), words({ minItems: 1, takes: 'an array of strings' })], {
            otherwise: 'the issuer',
            takes: 'a string or an array of strings',
            description: 'Who the token is for.'
          })
        ),
        typ: optional(
          oneOf(['at+jwt', 'JWT'], {
            default: 'at+jwt',
            description:
              'The type in its header. `"JWT"`: for APIs whose library takes no other. An ID token is no ' +
              'access token in either case, nor the reverse; tokens of the type `at+jwt` that are still ' +
              'alive go on.'
          })
        ),
        alg: optional(
          oneOf(['ES256', 'RS256'], {
            default: 'ES256',
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
            default: 2_592_000,
            description: 'Absolute lifetime of a sign-in; no refresh extends it.'
          })
        ),
        idleTimeout: optional(
          seconds(1, 31_536_000, {
            default: 1_209_600,
            description: 'How long it lives without a refresh.'
          })
        ),
        rotate: optional(
          oneOf(['oauth', 'always', 'never'], {
            default: 'oauth',
            description:
              '`"oauth"`: the token endpoint rotates and `POST /auth/refresh` does not; `"always"`: both ' +
              'do; `"never"`: none does.'
          })
        ),
        reuseGraceSeconds: optional(
          seconds(0, 300, {
            default: 10,
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
        expiresIn: optional(seconds(1, 86_400, { default: 900, description: 'Lifetime of an ID token.' })),
        claims: optional(
          oneOf(['requested', 'scopes'], {
            default: 'requested',
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
            default: 60,
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
            default: 43_200,
            description:
              'Absolute lifetime of a browser session, from the oldest proof that it rests on: a new ' +
              'sign-in begins it anew, a second factor alone does not.'
          })
        ),
        idleTimeout: optional(
          seconds(1, 31_536_000, {
            default: 7200,
            description: 'How long it lives without a use.'
          })
        )
      },
      'The browser session of the hosted pages.'
    )
  )
}

export type TokenSettings = ReturnType<typeof resolveTokens>

/** The host's token options with all defaults. */
export const filledTokens = (given: TokenOptions) => ({
  accessToken: filled(TOKEN_SCHEMAS.accessToken, given.accessToken),
  refreshToken: filled(TOKEN_SCHEMAS.refreshToken, given.refreshToken),
  idToken: filled(TOKEN_SCHEMAS.idToken, given.idToken),
  authorizationCode: filled(TOKEN_SCHEMAS.authorizationCode, given.authorizationCode),
  session: filled(TOKEN_SCHEMAS.session, given.session)
})

export function resolveTokens({ issuer, ...given }: TokenOptions & { issuer: string }) {
  const {
    accessToken: { expiresIn, ...accessToken },
    refreshToken,
    idToken,
    authorizationCode,
    session
  } = filledTokens(given)
  // The default idle time does not exceed the lifetime of the session.
  const idleTimeout = given.session?.idleTimeout ?? Math.min(session.expiresIn, session.idleTimeout)
  return {
    // `alg` is the algorithm of managed keys. The host's own keys have their own.
    accessToken: { ...accessToken, expiresInSeconds: expiresIn, audience: given.accessToken?.audience ?? issuer },
    refreshToken: {
      expiresInMs: refreshToken.expiresIn * 1000,
      idleTimeoutMs: refreshToken.idleTimeout * 1000,
      rotate: refreshToken.rotate,
      graceMs: refreshToken.reuseGraceSeconds * 1000
    },
    idToken: { expiresInSeconds: idToken.expiresIn, claims: idToken.claims },
    authorizationCode: { expiresInMs: authorizationCode.expiresIn * 1000 },
    session: { expiresInMs: session.expiresIn * 1000, idleTimeoutMs: idleTimeout * 1000 }
  }
}
