import { generateKeyPairSync, hash, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { PasskeyCreationOptions, PasskeyRequestOptions } from '../protocol/webauthn-options.ts'

export interface SoftPasskeyOptions {
  /** The origin of the page that calls the browser API: the issuer's origin, or a related origin. */
  origin: string
  /** The relying party id. Default: the id in the options of `create` or `get`, as in a browser. */
  rpId?: string | undefined
  /** COSE: -7 (ES256, default), -8 (Ed25519) or -257 (RS256). */
  alg?: -7 | -8 | -257 | undefined
  /**
   * True if the authenticator verifies its user, by a fingerprint or a PIN. False for a security key without such a
   * check. Default: `true`.
   */
  verifiesUser?: boolean | undefined
  /** True if its passkeys are copied to other devices. Default: `false`. */
  synced?: boolean | undefined
  /** True if its counter grows with each use. Default: `false`, as with most passkeys. */
  counts?: boolean | undefined
}

/** The members of `RegistrationResponseJSON` that the library reads. */
export interface SoftRegistration {
  id: string
  type: 'public-key'
  response: { clientDataJSON: string; attestationObject: string; transports: string[] }
}

/** The members of `AuthenticationResponseJSON` that the library reads. */
export interface SoftAssertion {
  id: string
  type: 'public-key'
  response: { clientDataJSON: string; authenticatorData: string; signature: string; userHandle?: string }
}

/** An error with which a browser would reject. `name` is that of the `DOMException`. */
export class SoftPasskeyError extends Error {
  constructor(name: 'NotAllowedError' | 'InvalidStateError' | 'SecurityError', message: string) {
    super(message)
    this.name = name
  }
}

export interface SoftPasskey {
  /**
   * Creates a passkey as `navigator.credentials.create` does with these options. Returns the result as JSON.
   * @throws SoftPasskeyError if a browser would reject
   */
  create(options: PasskeyCreationOptions): SoftRegistration
  /**
   * Signs in as `navigator.credentials.get` does with these options. Uses the newest passkey that the options allow.
   * @throws SoftPasskeyError if a browser would reject
   */
  get(options: PasskeyRequestOptions): SoftAssertion
}

interface Held {
  id: Buffer
  key: SoftKey
  rpId: string
  userHandle: string
  discoverable: boolean
  signCount: number
}

const AAGUID = Buffer.from('fbfc3007154e4ecc8c0b6e020557d7bd', 'hex')

function isOrigin(given: unknown): given is string {
  return typeof given === 'string' && URL.canParse(given) && new URL(given).origin === given
}

/**
 * A browser with an authenticator, for tests. It keeps its passkeys in memory, asks for no user interaction, and treats
 * the options as a browser does.
 *
 * @throws TypeError if `origin` is missing or is no origin
 * @example
 * const passkey = softPasskey({ origin: 'http://localhost:3000' })
 * const { options } = (await app.inject('/auth/passkey-challenge')).json()
 * const credential = JSON.stringify(passkey.get(options))
 * const payload = { grant_type: 'urn:fastify-authority:grant-type:passkey', credential }
 * await app.inject({ method: 'POST', url: '/auth/token', payload })
 */
export function softPasskey(options: SoftPasskeyOptions): SoftPasskey {
  const {
    origin,
    rpId,
    alg = -7,
    verifiesUser = true,
    synced = false,
    counts = false
  }: Partial<SoftPasskeyOptions> = options ?? {}
  if (!isOrigin(origin))
    throw new TypeError('softPasskey takes origin: the origin of the page that asks, such as "http://localhost:3000".')
  const held: Held[] = []
  const flags: SoftFlags = { userPresent: true, userVerified: verifiesUser, backupEligible: synced, backedUp: synced }
  const mayBe = (id: string): string => {
    const asked = rpId ?? id
    const { hostname } = new URL(origin)
    if (rpId === undefined && hostname !== asked && !hostname.endsWith(`.${asked}`))
      throw new SoftPasskeyError(
        'SecurityError',
        `A page of ${origin} may not use passkeys of ${asked}: for a related origin set rpId.`
      )
    return asked
  }
  const refuseUnverified = (wanted: string): void => {
    if (wanted === 'required' && !verifiesUser)
      throw new SoftPasskeyError('NotAllowedError', 'It does not verify its user.')
  }
  const next = (one: Held): number => (counts ? ++one.signCount : 0)

  return {
    create({
      rp,
      user,
      challenge,
      pubKeyCredParams,
      excludeCredentials,
      authenticatorSelection: { residentKey, userVerification }
    }) {
      refuseUnverified(userVerification)
      const usedId = mayBe(rp.id)
      if (!pubKeyCredParams.some((one) => one.alg === alg))
        throw new SoftPasskeyError('NotAllowedError', 'It has none of the algorithms.')
      if (excludeCredentials.some(({ id }) => held.some((one) => one.id.toString('base64url') === id)))
        throw new SoftPasskeyError('InvalidStateError', 'It has a passkey of this account.')
      const made: Held = {
        id: randomBytes(32),
        key: softKey(alg),
        rpId: usedId,
        userHandle: user.id,
        discoverable: residentKey === 'required',
        signCount: 0
      }
      held.push(made)
      const authData = authenticatorData({
        rpId: usedId,
        flags,
        signCount: next(made),
        attested: { aaguid: AAGUID, credentialId: made.id, key: made.key }
      })
      return {
        id: made.id.toString('base64url'),
        type: 'public-key',
        response: {
          clientDataJSON: clientData({ type: 'webauthn.create', challenge, origin }).toString('base64url'),
          attestationObject: encodeCbor(
            new Map<string, string | Buffer | Map<string, string>>([
              ['fmt', 'none'],
              ['attStmt', new Map<string, string>()],
              ['authData', authData]
            ])
          ).toString('base64url'),
          transports: verifiesUser ? ['internal', 'hybrid'] : ['usb']
        }
      }
    },
    get({ rpId: askedId, challenge, allowCredentials, userVerification }) {
      refuseUnverified(userVerification)
      const usedId = mayBe(askedId)
      const allowed = allowCredentials.map(({ id }) => id)
      const found = held.findLast(
        (one) =>
          one.rpId === usedId &&
          (allowed.length === 0 ? one.discoverable : allowed.includes(one.id.toString('base64url')))
      )
      if (found === undefined) throw new SoftPasskeyError('NotAllowedError', 'It has no passkey for this.')
      const client = clientData({ type: 'webauthn.get', challenge, origin })
      const data = authenticatorData({ rpId: usedId, flags, signCount: next(found) })
      return {
        id: found.id.toString('base64url'),
        type: 'public-key',
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: signAssertion(found.key, data, client).toString('base64url'),
          ...(found.discoverable ? { userHandle: found.userHandle } : {})
        }
      }
    }
  }
}

/** The functions below make the parts of an authenticator's answer, so that a test can falsify each part. */

type CborValue = number | string | boolean | Uint8Array | CborValue[] | Map<number | string, CborValue>

/** Encodes a value in CBOR. Integers must fit in 32 bits. @see RFC 8949 §3 */
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
  /**
   * The public key in COSE form.
   * @see RFC 9052 §7
   */
  cose: Map<number | string, CborValue>
}

/** Generates a key pair. @throws RangeError for an algorithm other than Ed25519 (-8), ES256 (-7) and RS256 (-257) */
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

/** Encodes the authenticator data. `attested` is set only in a registration. @see W3C WebAuthn Level 3 §6.1 */
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

/** The client data that a browser makes for a call. @see W3C WebAuthn Level 3 §5.8.1 */
export function clientData(members: {
  type: 'webauthn.create' | 'webauthn.get'
  challenge: string
  origin: string
}): Buffer {
  return Buffer.from(JSON.stringify({ ...members, crossOrigin: false }))
}

/** Signs the authenticator data and the hash of the client data. @see W3C WebAuthn Level 3 §6.3.3 */
export function signAssertion({ alg, privateKey }: SoftKey, data: Uint8Array, client: Uint8Array): Buffer {
  return sign(alg === -8 ? null : 'sha256', Buffer.concat([data, hash('sha256', client, 'buffer')]), privateKey)
}
