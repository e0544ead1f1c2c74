import { AuthClientError } from './errors.ts'

export type Claims = Record<string, unknown> & { sub: string }

/** Claims about the token itself, not about the person. */
const PROTOCOL = 'iss aud exp iat jti azp nonce auth_time at_hash acr amr sid'.split(' ')

/**
 * The claims about the person, of an ID token that came straight from the token endpoint, where TLS proves who made it.
 * `exp` is judged by the server's own clock, which `iat` shows: it was made a moment ago, whatever this device thinks
 * of the time.
 * @throws AuthClientError `invalid_token` naming the claim
 * @see OpenID Connect Core 1.0 §3.1.3.7, §12.2
 */
export function readIdToken(
  token = '',
  expected: { issuer: string; clientId: string; nonce?: string; sub?: string }
): Claims {
  // A text that is no token has no claims, and fails the first check.
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
    // As a string: a number is no subject.
    sub: !sub || sub !== (expected.sub ?? `${sub}`),
    aud: !audiences.includes(expected.clientId),
    azp: azp ? azp !== expected.clientId : audiences.length > 1,
    exp: !(exp > iat),
    nonce: nonce !== (expected.nonce ?? nonce)
  }).find(([, bad]) => bad)
  if (wrong) throw new AuthClientError('invalid_token', `ID token: ${wrong[0]}`)
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !PROTOCOL.includes(name))) as Claims
}
