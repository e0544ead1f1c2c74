import { AuthClientError } from './errors.ts'

export type Claims = Record<string, unknown> & { sub: string }

/** Claims about the token and the sign-in, not about the user. */
const PROTOCOL = 'iss aud exp iat jti azp nonce auth_time at_hash acr amr sid'.split(' ')

/**
 * Reads the user's claims from an ID token. Does not check the signature, because the token comes directly from the
 * token endpoint over TLS. Compares `exp` with `iat` and not with the clock of this device, which may be wrong.
 * @throws AuthClientError `invalid_token` naming the claim
 * @see OpenID Connect Core 1.0 §3.1.3.7, §12.2
 */
export function readIdToken(
  token = '',
  expected: { issuer: string; clientId: string; nonce?: string; sub?: string }
): Claims {
  // A text that is not a token leaves the claims empty, and then the check of `iss` fails.
  let claims = {} as Claims
  try {
    claims = (JSON.parse(
      decodeURIComponent(escape(atob((token.split('.')[1] as string).replace(/-/g, '+').replace(/_/g, '/'))))
    ) ?? {}) as Claims
  } catch {}
  const { iss, sub, aud, azp, exp, iat, nonce } = claims as Omit<Claims, 'sub'> & {
    sub: number | string
    exp: number
    iat: number
  }
  const audiences = [aud].flat()
  const wrong = Object.entries({
    iss: iss !== expected.issuer,
    // Requires a string, because a number is not a valid subject.
    sub: !sub || sub !== (expected.sub ?? `${sub}`),
    aud: !audiences.includes(expected.clientId),
    azp: azp ? azp !== expected.clientId : audiences.length > 1,
    exp: !(exp > iat),
    nonce: nonce !== (expected.nonce ?? nonce)
  }).find(([, bad]) => bad)
  if (wrong) throw new AuthClientError('invalid_token', `ID token: ${wrong[0]}`)
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !PROTOCOL.includes(name))) as Claims
}
