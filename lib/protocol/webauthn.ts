import { isObject } from './json.ts'
import { hash, timingSafeEqual } from 'node:crypto'
import {
  type CborMap,
  decodeCbor,
  isSignedByCredential,
  must,
  readCbor,
  spkiOf,
  WebauthnError
} from './webauthn-key.ts'

/**
 * The values that this service gave to the browser. The answer must have the same, because a script of the page could
 * have changed them.
 */
export interface Ceremony {
  /**
   * Finds the request with this challenge. `null`: this service did not make the challenge, or it is for another
   * purpose or too old.
   */
  askedWith(challenge: string): { requiresVerification: boolean } | null
  /** Origins of pages, as browsers write them. */
  origins: readonly string[]
  rpId: string
}

/** The stored fields of a new credential. */
export interface NewCredential {
  /** base64url, as is `publicKey`. */
  credentialId: string
  /** SubjectPublicKeyInfo in DER. */
  publicKey: string
  /** The COSE number of the algorithm. */
  alg: number
  signCount: number
  transports: string[]
  backupEligible: boolean
  backedUp: boolean
  uvInitialized: boolean
  /** The model of the authenticator, as a UUID. `null`: the authenticator does not reveal its model. */
  aaguid: string | null
}

/** The part of a stored credential with which an assertion is verified. */
type StoredCredential = Pick<NewCredential, 'publicKey' | 'alg' | 'backupEligible'> & { rpId: string }

/** A verified assertion. `challenge`: the challenge that the browser answered. */
export interface Assertion {
  challenge: string
  signCount: number
  backedUp: boolean
  userVerified: boolean
}

/**
 * Verifies a new credential. Ignores the attestation statement, because no rule depends on the authenticator's model.
 * @throws WebauthnError
 * @see W3C WebAuthn Level 3 §7.1
 */
export function verifyRegistration(
  { id, clientDataJSON, attestationObject, transports }: GivenRegistration,
  ceremony: Ceremony
): NewCredential {
  const { requiresVerification } = checkedClientData(clientDataJSON, 'webauthn.create', ceremony)
  const attestation = decodeCbor(attestationObject)
  const authData = attestation instanceof Map ? attestation.get('authData') : undefined
  must(Buffer.isBuffer(authData), 'malformed', 'the attestation object has no authenticator data')
  const data = checkedData(authData, { ...ceremony, requiresVerification })
  must(data.attested !== null, 'no_credential', 'the authenticator data have no credential')
  const { aaguid, credentialId, publicKey } = data.attested
  must(
    credentialId.length > 0 && credentialId.length <= 1023 && credentialId.toString('base64url') === id,
    'credential_id',
    'the id is another one than that of the credential'
  )
  const { alg, spki } = spkiOf(publicKey)
  const { signCount, backupEligible, backedUp, userVerified } = data
  return {
    credentialId: id,
    publicKey: spki.toString('base64url'),
    alg,
    signCount,
    transports,
    backupEligible,
    backedUp,
    uvInitialized: userVerified,
    aaguid: uuidOf(aaguid)
  }
}

/**
 * Verifies an assertion by a stored credential. The caller checks the owner and the counter of the credential, and that
 * the challenge is answered for the first time.
 * @throws WebauthnError
 * @see W3C WebAuthn Level 3 §7.2
 */
export function verifyAssertion(
  { clientDataJSON, authenticatorData, signature }: GivenAssertion,
  stored: StoredCredential,
  ceremony: Ceremony
): Assertion {
  const { challenge, requiresVerification } = checkedClientData(clientDataJSON, 'webauthn.get', ceremony)
  must(stored.rpId === ceremony.rpId, 'rp_id', 'the credential was made for another Relying Party ID')
  const { signCount, backupEligible, backedUp, userVerified } = checkedData(authenticatorData, {
    ...ceremony,
    requiresVerification
  })
  must(
    backupEligible === stored.backupEligible,
    'backup_eligibility',
    'the credential changed whether it may be backed up'
  )
  const signed = Buffer.concat([authenticatorData, hash('sha256', clientDataJSON, 'buffer')])
  must(
    isSignedByCredential({ alg: stored.alg, spki: Buffer.from(stored.publicKey, 'base64url') }, signed, signature),
    'signature',
    'the signature is wrong'
  )
  return { challenge, signCount, backedUp, userVerified }
}

function checkedClientData(
  bytes: Buffer,
  wanted: 'webauthn.create' | 'webauthn.get',
  { askedWith, origins }: Ceremony
): { challenge: string; requiresVerification: boolean } {
  const { type, challenge, origin, crossOrigin = false, topOrigin } = readClientData(bytes)
  must(type === wanted, 'type', 'the answer is to another call')
  const asked = typeof challenge === 'string' ? askedWith(challenge) : null
  must(typeof challenge === 'string' && asked !== null, 'challenge', 'the challenge is none for this, or too old')
  must(typeof origin === 'string' && origins.includes(origin), 'origin', 'the page is of another origin')
  must(crossOrigin === false && topOrigin === undefined, 'cross_origin', 'the page was in a frame of another origin')
  return { challenge, ...asked }
}

function checkedData(
  bytes: Buffer,
  { rpId, requiresVerification }: { rpId: string; requiresVerification: boolean }
): AuthenticatorData {
  const data = readAuthenticatorData(bytes)
  must(timingSafeEqual(data.rpIdHash, hash('sha256', rpId, 'buffer')), 'rp_id', 'the Relying Party ID is another one')
  must(data.userPresent, 'user_presence', 'nobody was there')
  must(
    data.userVerified || !requiresVerification,
    'user_verification',
    'the authenticator did not verify who was there'
  )
  must(data.backupEligible || !data.backedUp, 'backup_flags', 'the credential is backed up and may not be')
  return data
}

function uuidOf(aaguid: Buffer): string | null {
  if (aaguid.every((byte) => byte === 0)) return null
  return aaguid.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The authenticator data, which the authenticator signs. @see W3C WebAuthn Level 3 §6.1 */
interface AuthenticatorData {
  rpIdHash: Buffer
  userPresent: boolean
  userVerified: boolean
  backupEligible: boolean
  backedUp: boolean
  signCount: number
  /** The new credential. `null`: the data have none, as in an assertion. */
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
 * Reads the browser's client data. Parses it as JSON instead of comparing text, because browsers may add members.
 * Ignores a leading byte order mark.
 * @throws WebauthnError `malformed`
 * @see W3C WebAuthn Level 3 §5.8.1
 */
export function readClientData(bytes: Buffer): ClientData {
  return jsonObject(() => UTF8.decode(bytes), 'the client data are') as unknown as ClientData
}

/**
 * Parses a JSON object.
 * @throws WebauthnError `malformed`, with a sentence that begins with `which`
 */
function jsonObject(text: () => string, which: string): Members {
  let value: unknown
  try {
    value = JSON.parse(text())
  } catch {
    throw new WebauthnError('malformed', `${which} no JSON`)
  }
  return objectOf(value, which)
}

/** The maximum length of a credential id in characters: 1,023 bytes in base64url. @see W3C WebAuthn Level 3 §7.1 */
const MAX_ID = 1364
const MAX_HANDLE = 86
/**
 * The maximum length of a binary member in characters of base64url: enough for an RSA key and the longest id. A longer
 * member, such as with an attestation that was not requested, is refused.
 */
const MAX_BINARY = 14_000
const MAX_TEXT = 16_384
const MAX_TRANSPORTS = 8

interface GivenResponse {
  id: string
  clientDataJSON: Buffer
}

interface GivenRegistration extends GivenResponse {
  attestationObject: Buffer
  transports: string[]
}

export interface GivenAssertion extends GivenResponse {
  authenticatorData: Buffer
  signature: Buffer
  /** `null`: the authenticator returned no user handle. */
  userHandle: string | null
}

type Members = Record<string, unknown>

/** @throws WebauthnError `malformed`. @see W3C WebAuthn Level 3 §5.1, RegistrationResponseJSON */
export function readRegistration(given: unknown): GivenRegistration {
  const { response, ...common } = readResponse(given)
  const { transports = [] } = response
  must(Array.isArray(transports), 'malformed', 'response.transports is no array')
  const known = transports.filter((one): one is string => typeof one === 'string' && /^[a-z-]{1,32}$/.test(one))
  return {
    ...common,
    attestationObject: binary(response, 'attestationObject'),
    transports: [...new Set(known)].slice(0, MAX_TRANSPORTS)
  }
}

/** @throws WebauthnError `malformed`. @see W3C WebAuthn Level 3 §5.1, AuthenticationResponseJSON */
export function readAssertion(given: unknown): GivenAssertion {
  const { response, ...common } = readResponse(given)
  const { userHandle = null } = response
  must(
    userHandle === null || (isBase64url(userHandle) && userHandle.length <= MAX_HANDLE),
    'malformed',
    'response.userHandle is no base64url of at most 64 bytes'
  )
  return {
    ...common,
    authenticatorData: binary(response, 'authenticatorData'),
    signature: binary(response, 'signature'),
    userHandle
  }
}

function readResponse(given: unknown): GivenResponse & { response: Members } {
  const { id, type, response } = typeof given === 'string' ? credentialIn(given) : objectOf(given, 'the credential is')
  must(isBase64url(id) && id.length <= MAX_ID, 'malformed', 'id is no base64url of at most 1,023 bytes')
  must(type === 'public-key', 'malformed', 'type is not public-key')
  const members = objectOf(response, 'response is')
  return { id, response: members, clientDataJSON: binary(members, 'clientDataJSON') }
}

function credentialIn(text: string): Members {
  must(text.length <= MAX_TEXT, 'malformed', 'the credential is too long')
  return jsonObject(() => text, 'the credential is')
}

function objectOf(value: unknown, which: string): Members {
  must(isObject(value), 'malformed', `${which} no object`)
  return value
}

function binary(members: Members, name: string): Buffer {
  const { [name]: value } = members
  must(isBase64url(value) && value.length <= MAX_BINARY, 'malformed', `response.${name} is no base64url, or too long`)
  return Buffer.from(value, 'base64url')
}

/**
 * True for base64url in its only canonical form: not empty, without padding, and with zeros in the unused bits of the
 * last character.
 * @see RFC 4648 §3.5
 */
export function isBase64url(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    /^[A-Za-z0-9_-]+$/.test(value) &&
    Buffer.from(value, 'base64url').toString('base64url') === value
  )
}
