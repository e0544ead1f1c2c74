/**
 * Options for the browser, in the JSON form of WebAuthn: binary members are base64url. A page converts them, or calls
 * `PublicKeyCredential.parseCreationOptionsFromJSON`.
 * @see W3C WebAuthn Level 3 §5.1.9, §5.1.10
 */

export interface PasskeyDescriptor {
  type: 'public-key'
  id: string
  transports?: string[]
}

export type UserVerification = 'required' | 'preferred' | 'discouraged'

/** For `navigator.credentials.create`. */
export interface PasskeyCreationOptions {
  rp: { id: string; name: string }
  user: { id: string; name: string; displayName: string }
  challenge: string
  pubKeyCredParams: Array<{ type: 'public-key'; alg: number }>
  /** Milliseconds. */
  timeout: number
  attestation: 'none'
  authenticatorSelection: {
    residentKey: 'required' | 'discouraged'
    requireResidentKey: boolean
    userVerification: UserVerification
  }
  /** The user's present credentials: an authenticator makes no second one. */
  excludeCredentials: PasskeyDescriptor[]
  hints: string[]
  extensions: { credProps: true }
}

/** For `navigator.credentials.get`. */
export interface PasskeyRequestOptions {
  rpId: string
  challenge: string
  /** Milliseconds. */
  timeout: number
  userVerification: UserVerification
  /** Empty: whichever the person has here. */
  allowCredentials: PasskeyDescriptor[]
}

/** W3C recommends five to ten minutes; the challenge is good for ten. @see W3C WebAuthn Level 3 §15.1 */
const TIMEOUT_MS = 300_000

interface Creation {
  rp: PasskeyCreationOptions['rp']
  /** At most 64 bytes. */
  userHandle: Uint8Array
  name: string
  displayName: string
  challenge: string
  algs: readonly number[]
  exclude: PasskeyDescriptor[]
  /** `false`: a security key, which need neither be found without being named nor know who holds it. */
  isPasskey: boolean
}

export function creationOptions({
  rp,
  userHandle,
  name,
  displayName,
  challenge,
  algs,
  exclude,
  isPasskey
}: Creation): PasskeyCreationOptions {
  return {
    rp,
    user: { id: Buffer.from(userHandle).toString('base64url'), name, displayName },
    challenge,
    pubKeyCredParams: algs.map((alg) => ({ type: 'public-key', alg })),
    timeout: TIMEOUT_MS,
    attestation: 'none',
    authenticatorSelection: isPasskey
      ? { residentKey: 'required', requireResidentKey: true, userVerification: 'required' }
      : { residentKey: 'discouraged', requireResidentKey: false, userVerification: 'discouraged' },
    excludeCredentials: exclude,
    hints: isPasskey ? [] : ['security-key'],
    extensions: { credProps: true }
  }
}

export function requestOptions({
  rpId,
  challenge,
  allow,
  userVerification
}: {
  rpId: string
  challenge: string
  allow: PasskeyDescriptor[]
  userVerification: UserVerification
}): PasskeyRequestOptions {
  return { rpId, challenge, timeout: TIMEOUT_MS, userVerification, allowCredentials: allow }
}
