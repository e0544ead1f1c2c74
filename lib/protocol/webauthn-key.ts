import { createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import type { CborMap } from './webauthn-cbor.ts'
import { must, WebauthnError } from './webauthn-refusal.ts'

/**
 * The algorithms that are offered and taken, by their COSE numbers: Ed25519, ES256, RS256. Browsers take the first that
 * the authenticator has.
 */
export const PASSKEY_ALGS: readonly number[] = [-8, -7, -257]

const MIN_RSA_BYTES = 256
const MAX_RSA_BYTES = 512

/**
 * A COSE key as SubjectPublicKeyInfo in DER. A point that is not on its elliptic curve is refused.
 * @throws WebauthnError `algorithm`, `public_key`
 * @see RFC 9052 §7, RFC 9053 §2, §7, RFC 8230 §4
 */
export function spkiOf(cose: CborMap): { alg: number; spki: Buffer } {
  const alg = cose.get(3)
  must(
    typeof alg === 'number' && PASSKEY_ALGS.includes(alg),
    'algorithm',
    'the key has an algorithm that was not offered'
  )
  try {
    return {
      alg,
      spki: createPublicKey({ format: 'jwk', key: jwkOf(alg, cose) }).export({ format: 'der', type: 'spki' })
    }
  } catch (error) {
    if (error instanceof WebauthnError) throw error
    throw new WebauthnError('public_key', 'the key can not be read')
  }
}

function jwkOf(alg: number, cose: CborMap): JsonWebKey {
  const parameter = (label: number, min: number, max = min): string => {
    const value = cose.get(label)
    must(
      Buffer.isBuffer(value) && value.length >= min && value.length <= max,
      'public_key',
      `the parameter ${label} of the key does not fit`
    )
    return value.toString('base64url')
  }
  const isOf = (kty: number, crv: number | undefined): void => {
    must(
      cose.get(1) === kty && (crv === undefined || cose.get(-1) === crv),
      'public_key',
      'the key is of another kind than its algorithm'
    )
  }
  if (alg === -257) {
    isOf(3, undefined)
    return { kty: 'RSA', n: parameter(-1, MIN_RSA_BYTES, MAX_RSA_BYTES), e: parameter(-2, 1, 4) }
  }
  if (alg === -8) {
    isOf(1, 6)
    return { kty: 'OKP', crv: 'Ed25519', x: parameter(-2, 32) }
  }
  isOf(2, 1)
  return { kty: 'EC', crv: 'P-256', x: parameter(-2, 32), y: parameter(-3, 32) }
}

/** Whether the key of `spkiOf` made this signature. */
export function isSignedBy({ alg, spki }: { alg: number; spki: Buffer }, data: Buffer, signature: Buffer): boolean {
  try {
    return verify(
      alg === -8 ? null : 'sha256',
      data,
      createPublicKey({ format: 'der', type: 'spki', key: spki }),
      signature
    )
  } catch {
    return false
  }
}
