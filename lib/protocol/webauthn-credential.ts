import { must, WebauthnError } from './webauthn-refusal.ts'

/** 1,023 bytes, as base64url. @see W3C WebAuthn Level 3 §7.1 */
const MAX_ID = 1364
const MAX_HANDLE = 86
/**
 * Enough for an RSA key and the longest id. Attestation that nobody asked for may make an answer larger, which is
 * refused.
 */
const MAX_BINARY = 14_000
const MAX_TEXT = 16_384
const MAX_TRANSPORTS = 8

interface GivenResponse {
  id: string
  clientDataJSON: Buffer
}

export interface GivenRegistration extends GivenResponse {
  attestationObject: Buffer
  transports: string[]
}

export interface GivenAssertion extends GivenResponse {
  authenticatorData: Buffer
  signature: Buffer
  /** `null`: the authenticator named none. */
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
    'response.userHandle is no base64url of 64 bytes at the most'
  )
  return {
    ...common,
    authenticatorData: binary(response, 'authenticatorData'),
    signature: binary(response, 'signature'),
    userHandle
  }
}

function readResponse(given: unknown): GivenResponse & { response: Members } {
  const { id, type, response } = objectOf(typeof given === 'string' ? parsed(given) : given, 'the credential')
  must(isBase64url(id) && id.length <= MAX_ID, 'malformed', 'id is no base64url of 1,023 bytes at the most')
  must(type === 'public-key', 'malformed', 'type is not public-key')
  const members = objectOf(response, 'response')
  return { id, response: members, clientDataJSON: binary(members, 'clientDataJSON') }
}

function parsed(text: string): unknown {
  must(text.length <= MAX_TEXT, 'malformed', 'the credential is too long')
  try {
    return JSON.parse(text)
  } catch {
    throw new WebauthnError('malformed', 'the credential is no JSON')
  }
}

function objectOf(value: unknown, what: string): Members {
  must(typeof value === 'object' && value !== null && !Array.isArray(value), 'malformed', `${what} is no object`)
  return value as Members
}

function binary(members: Members, name: string): Buffer {
  const { [name]: value } = members
  must(isBase64url(value) && value.length <= MAX_BINARY, 'malformed', `response.${name} is no base64url, or too long`)
  return Buffer.from(value, 'base64url')
}

/**
 * True for base64url in its only canonical form: not empty, without padding, and with zeros in the unused bits of the
 * last character. RFC 4648 §3.5
 */
export function isBase64url(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    /^[A-Za-z0-9_-]+$/.test(value) &&
    Buffer.from(value, 'base64url').toString('base64url') === value
  )
}
