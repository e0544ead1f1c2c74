import { randomBytes } from 'node:crypto'
import type { PasskeyCreationOptions, PasskeyRequestOptions } from '../protocol/webauthn-options.ts'
import {
  authenticatorData,
  clientData,
  encodeCbor,
  signAssertion,
  softKey,
  type SoftFlags,
  type SoftKey
} from './soft-authenticator.ts'

export interface SoftPasskeyOptions {
  /** Of the page that asks: the origin of the issuer, or a related one. */
  origin: string
  /** Default: the one that the options name, as in a browser. */
  rpId?: string | undefined
  /** COSE: -7 (ES256, default), -8 (Ed25519) or -257 (RS256). */
  alg?: -7 | -8 | -257 | undefined
  /** Whether it proves who holds it, by a finger or a PIN. `false`: a security key without either. Default: `true`. */
  verifiesUser?: boolean | undefined
  /** Whether its passkeys are kept in several places. Default: `false`. */
  synced?: boolean | undefined
  /** Whether each use counts. Default: `false`, as of most of today's passkeys. */
  counts?: boolean | undefined
}

/** As a page posts it: `RegistrationResponseJSON`, as much of it as is looked at. */
export interface SoftRegistration {
  id: string
  type: 'public-key'
  response: { clientDataJSON: string; attestationObject: string; transports: string[] }
}

/** Likewise `AuthenticationResponseJSON`. */
export interface SoftAssertion {
  id: string
  type: 'public-key'
  response: { clientDataJSON: string; authenticatorData: string; signature: string; userHandle?: string }
}

/** What the browser would reject with: `NotAllowedError`, `InvalidStateError`, `SecurityError`. */
export class SoftPasskeyError extends Error {
  constructor(name: 'NotAllowedError' | 'InvalidStateError' | 'SecurityError', message: string) {
    super(message)
    this.name = name
  }
}

export interface SoftPasskey {
  /**
   * Answers `navigator.credentials.create` with these options, in JSON. @throws SoftPasskeyError where a browser would
   * reject
   */
  create(options: PasskeyCreationOptions): SoftRegistration
  /**
   * Answers `navigator.credentials.get` with these options, by the newest passkey that they allow. @throws
   * SoftPasskeyError
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
 * A browser with an authenticator, for tests: it keeps its passkeys in memory, asks nobody, and does with the options
 * what a browser does.
 *
 * @throws TypeError where `origin` is missing or none
 * @example const passkey = softPasskey({ origin: 'http://localhost:3000' }) const { options } = (await
 * app.inject('/auth/passkey-challenge')).json() await app.inject({ method: 'POST', url: '/auth/token', payload: {
 * grant_type: 'urn:fastify-authority:grant-type:passkey', credential: JSON.stringify(passkey.get(options)) } })
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
