import { type CborMap, readCbor } from './webauthn-cbor.ts'
import { must, WebauthnError } from './webauthn-refusal.ts'

/** The authenticator data, which the authenticator signs. @see W3C WebAuthn Level 3 §6.1 */
export interface AuthenticatorData {
  rpIdHash: Buffer
  userPresent: boolean
  userVerified: boolean
  backupEligible: boolean
  backedUp: boolean
  signCount: number
  /** Only in the answer that makes a new credential. */
  attested: { aaguid: Buffer; credentialId: Buffer; publicKey: CborMap } | null
}

/** @throws WebauthnError `malformed` */
export function readAuthenticatorData(bytes: Buffer): AuthenticatorData {
  must(bytes.length >= 37, 'malformed', 'the authenticator data end early')
  const flags = bytes.readUInt8(32)
  const has = (bit: number): boolean => (flags & bit) !== 0
  let end = 37
  let attested: AuthenticatorData['attested'] = null
  if (has(0x40)) {
    must(bytes.length >= 55, 'malformed', 'the credential ends early')
    const idEnd = 55 + bytes.readUInt16BE(53)
    const key = readCbor(bytes, idEnd)
    must(key.value instanceof Map, 'malformed', 'the key is no CBOR map')
    attested = { aaguid: bytes.subarray(37, 53), credentialId: bytes.subarray(55, idEnd), publicKey: key.value }
    end = key.end
  }
  if (has(0x80)) {
    const extensions = readCbor(bytes, end)
    must(extensions.value instanceof Map, 'malformed', 'the extensions are no CBOR map')
    end = extensions.end
  }
  must(end === bytes.length, 'malformed', 'something follows the authenticator data')
  return {
    rpIdHash: bytes.subarray(0, 32),
    userPresent: has(0x01),
    userVerified: has(0x04),
    backupEligible: has(0x08),
    backedUp: has(0x10),
    signCount: bytes.readUInt32BE(33),
    attested
  }
}

interface ClientData {
  type: unknown
  challenge: unknown
  origin: unknown
  crossOrigin?: unknown
  topOrigin?: unknown
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/**
 * The client data, which the browser wrote. It is read as JSON and not compared as text, since browsers may add
 * members. A byte order mark before it is overlooked.
 * @throws WebauthnError `malformed`
 * @see W3C WebAuthn Level 3 §5.8.1
 */
export function readClientData(bytes: Buffer): ClientData {
  const value = parsed(bytes)
  must(
    typeof value === 'object' && value !== null && !Array.isArray(value),
    'malformed',
    'the client data are no object'
  )
  return value as ClientData
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(UTF8.decode(bytes))
  } catch {
    throw new WebauthnError('malformed', 'the client data are no JSON')
  }
}
