import { Type } from '@sinclair/typebox'
import { filled, flag, type Given, option, seconds, section } from '../../settings/schema-words.ts'

const DPOP = {
  /**
   * Every proof needs a nonce of this service, which says so in its first answer. Then the clock of the client does not
   * matter, and no proof can be made in advance. The nonces come from `secret`, so that all processes take them.
   */
  requireNonce: flag({ default: false }),
  /** How far the time `iat` of a proof may be from now, in either direction. It has no effect with `requireNonce`. */
  maxAgeSeconds: seconds(10, 600, { default: 60 })
}

/** Tokens that are bound to a key of their client. */
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
