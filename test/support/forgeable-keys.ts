/** Public keys for which anybody can sign. */
import { createPublicKey, hash, type JsonWebKey, verify } from 'node:crypto'

interface ForgeableKey {
  name: string
  alg: 'RS256' | 'EdDSA'
  jwk: JsonWebKey
  /** A signature over `signed` that the key verifies. */
  signature(signed: string): Buffer
}

const SHA256_INFO = '3031300d060960864801650304020105000420'

/** With the exponent 1, the padded digest is its own signature. */
const padded = (signed: string): Buffer => {
  const digest = Buffer.from(SHA256_INFO + hash('sha256', signed, 'hex'), 'hex')
  return Buffer.concat([Buffer.from([0, 1]), Buffer.alloc(253 - digest.length, 0xff), Buffer.from([0]), digest])
}

export const forgeableKeys = (): ForgeableKey[] => {
  const identity = Buffer.from(`01${'00'.repeat(31)}`, 'hex')
  const x = identity.toString('base64url')
  const n = Buffer.alloc(256, 0xff).toString('base64url')
  const keys: ForgeableKey[] = [
    {
      name: 'an RSA key with the exponent 1',
      alg: 'RS256',
      jwk: { kty: 'RSA', n, e: 'AQ' },
      signature: padded
    },
    {
      name: 'an Ed25519 key of small order',
      alg: 'EdDSA',
      jwk: { kty: 'OKP', crv: 'Ed25519', x },
      signature: () => Buffer.concat([identity, Buffer.alloc(32)])
    }
  ]
  for (const { name, alg, jwk, signature } of keys) {
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    if (!verify(alg === 'RS256' ? 'sha256' : null, Buffer.from('x'), key, signature('x')))
      throw new Error(`${name} does not verify its forged signature.`)
  }
  return keys
}
