import { Type } from '@sinclair/typebox'
import { filled, flag, type Given, option, seconds, section } from '../../settings/schema-words.ts'

const DPOP = {
  /**
   * True to require a nonce of this service in every proof. A client gets the nonce with the error `use_dpop_nonce`.
   * With nonces, the client's clock does not matter, and no proof can be made in advance. Requires `secret`, from which
   * all processes derive the same nonces.
   */
  requireNonce: flag({ default: false }),
  /**
   * Maximum difference in seconds between `iat` of a proof and now. Not checked with `requireNonce`. Also the leeway
   * for `nbf` and `exp`, in both modes.
   */
  maxAgeSeconds: seconds(10, 600, { default: 60 })
}

/** The options of DPoP. */
export interface DpopOptions extends Given<typeof DPOP> {}

export type DpopSettings = ReturnType<typeof dpopSettings>

export const dpopSettings = (given: DpopOptions) => filled(DPOP, given)

export const DPOP_OPTIONS = {
  /**
   * DPoP (RFC 9449): a token request with a proof gets tokens that are bound to the key of the proof. Nobody can use
   * them without the key. The guide on DPoP explains it.
   */
  dpop: option<boolean | DpopOptions>(
    Type.Union([Type.Boolean(), section(DPOP, { takes: '{ requireNonce, maxAgeSeconds }' })], {
      takes: 'true, false, or { requireNonce, maxAgeSeconds }'
    }),
    false
  )
}

export interface DpopOption extends Given<typeof DPOP_OPTIONS> {}
