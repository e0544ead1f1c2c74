import { createPrivateKey, type JsonWebKeyInput, sign } from 'node:crypto'
import { encodePart } from '../../support/jwt.ts'

/** A JWT signed with this private JWK, or with an empty signature if it is `null`. */
export function forgedJwt(jwk: object | null, header: Record<string, unknown>, claims: unknown): string {
  const input = `${encodePart(header)}.${encodePart(claims)}`
  if (jwk === null) return `${input}.`
  const key = createPrivateKey({ key: jwk, format: 'jwk' } as JsonWebKeyInput)
  const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}
