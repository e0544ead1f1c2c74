import { generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto'

/** What an authenticator does, byte by byte, so that a test can do each part of it wrongly. */

type CborValue = number | string | boolean | Uint8Array | CborValue[] | Map<number | string, CborValue>

/** @see RFC 8949 §3 */
export function encodeCbor(value: CborValue): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'boolean') return Buffer.from([value ? 0xf5 : 0xf4])
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(encodeCbor)])
  return Buffer.concat([head(5, value.size), ...[...value].flatMap(([key, one]) => [encodeCbor(key), encodeCbor(one)])])
}

function head(major: number, argument: number): Buffer {
  const initial = major << 5
  if (argument < 24) return Buffer.from([initial | argument])
  if (argument < 0x100) return Buffer.from([initial | 24, argument])
  return argument < 0x10000
    ? Buffer.from([initial | 25, argument >> 8, argument & 255])
    : Buffer.from([initial | 26, ...[24, 16, 8, 0].map((shift) => (argument >>> shift) & 255)])
}

export interface SoftKey {
  alg: number
  privateKey: KeyObject
  /** The public one, as an authenticator tells it. @see RFC 9052 §7 */
  cose: Map<number | string, CborValue>
}

/** @throws RangeError where it is none of Ed25519 (-8), ES256 (-7) and RS256 (-257) */
export function softKey(alg: number): SoftKey {
  const { publicKey, privateKey } =
    alg === -8
      ? generateKeyPairSync('ed25519')
      : alg === -257
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicKey.export({ format: 'jwk' })
  const bytes = (member: 'x' | 'y' | 'n' | 'e'): Buffer => Buffer.from(String(jwk[member]), 'base64url')
  if (alg === -8)
    return {
      alg,
      privateKey,
      cose: new Map<number, CborValue>([
        [1, 1],
        [3, -8],
        [-1, 6],
        [-2, bytes('x')]
      ])
    }
  if (alg === -257)
    return {
      alg,
      privateKey,
      cose: new Map<number, CborValue>([
        [1, 3],
        [3, -257],
        [-1, bytes('n')],
        [-2, bytes('e')]
      ])
    }
  if (alg === -7)
    return {
      alg,
      privateKey,
      cose: new Map<number, CborValue>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, bytes('x')],
        [-3, bytes('y')]
      ])
    }
  throw new RangeError('alg must be -8, -7 or -257.')
}

export interface SoftFlags {
  userPresent: boolean
  userVerified: boolean
  backupEligible: boolean
  backedUp: boolean
}

/** @see W3C WebAuthn Level 3 §6.1 */
export function authenticatorData({
  rpId,
  flags,
  signCount,
  attested
}: {
  rpId: string
  flags: SoftFlags
  signCount: number
  attested?: { aaguid: Uint8Array; credentialId: Uint8Array; key: SoftKey }
}): Buffer {
  const { userPresent, userVerified, backupEligible, backedUp } = flags
  const bits = [userPresent, false, userVerified, backupEligible, backedUp, false, attested !== undefined].reduce(
    (byte, bit, index) => byte | (Number(bit) << index),
    0
  )
  const counter = Buffer.alloc(4)
  counter.writeUInt32BE(signCount)
  const begin = [hash('sha256', rpId, 'buffer'), Buffer.from([bits]), counter]
  if (attested === undefined) return Buffer.concat(begin)
  const { aaguid, credentialId, key } = attested
  return Buffer.concat([
    ...begin,
    aaguid,
    Buffer.from([credentialId.length >> 8, credentialId.length & 255]),
    credentialId,
    encodeCbor(key.cose)
  ])
}

/** What a browser makes of a call. @see W3C WebAuthn Level 3 §5.8.1 */
export function clientData(members: {
  type: 'webauthn.create' | 'webauthn.get'
  challenge: string
  origin: string
}): Buffer {
  return Buffer.from(JSON.stringify({ ...members, crossOrigin: false }))
}

/** @see W3C WebAuthn Level 3 §6.3.3 */
export function signAssertion({ alg, privateKey }: SoftKey, data: Uint8Array, client: Uint8Array): Buffer {
  return sign(alg === -8 ? null : 'sha256', Buffer.concat([data, hash('sha256', client, 'buffer')]), privateKey)
}
