import { Type } from '@sinclair/typebox'
import type { FactorStore } from '../../ports/factor-store.ts'
import { optional, seconds, section } from '../schema-words.ts'
import { canHavePasskeys, type PasskeyOptions, type PasskeySettings, PASSKEYS_SCHEMA, resolvePasskeys } from './passkeys.ts'

/** What a second factor is like. It takes the option `factors`. */
export interface MfaOptions {
  /** What authenticator apps show beside the account. Default: `pages.title`, else the host of the issuer. */
  totpIssuer?: string | undefined
  /** Whether people can have a browser remembered in which they are not asked for the second factor. Default `false`. */
  rememberDevice?: false | { expiresIn?: number | undefined } | undefined
}

const REMEMBER_DEVICE_DEFAULTS = { expiresIn: 2_592_000 } as const

export interface FactorSettings {
  store: FactorStore
  totpIssuer: string
  /** `null`: no browser is remembered. */
  rememberDeviceMs: number | null
  /** `null`: they are off. */
  passkeys: PasskeySettings | null
  /** They are off because browsers have none for such an issuer. */
  passkeysImpossible: boolean
}

/** What every factor store has; a look at them catches a wrong option, and `host-factor-store` every wrong answer. */
export const FACTOR_STORE_METHODS = ['findFactors', 'findByHandle', 'claimHandle', 'addTotp', 'addPasskey', 'useTotp', 'usePasskey', 'useRecoveryCode', 'replaceRecoveryCodes', 'countFailure', 'removeFactor', 'renameFactor', 'forgetDevices', 'removeFactorsOfUser'] as const satisfies ReadonlyArray<keyof FactorStore>

export const FACTOR_STORE_TAKES = 'a FactorStore, such as memoryFactorStore(), sqliteFactorStore(db) or postgresFactorStore(db)'

export const FACTOR_SCHEMAS = {
  factors: optional(Type.Any({ default: 'none', takes: FACTOR_STORE_TAKES, description: 'Where second factors are kept: authenticator apps and recovery codes. With it, people can set one up on the account page, and whoever has one is asked for it after the password, at every way in. Keep it where the users are: what it loses is a user with a password alone. A store that outlives the process takes `secret`, which seals the keys of the apps. Without it there is no route, and a sign-in makes no look-up more.' })),
  mfa: optional(section({
    totpIssuer: optional(Type.String({ minLength: 1, maxLength: 64, default: '`pages.title`, else the host of the issuer', takes: 'a string of 1 to 64 characters', description: 'What authenticator apps show beside the name of the account.' })),
    rememberDevice: optional(Type.Union([Type.Literal(false), Type.Object({
      expiresIn: optional(seconds(60, 31_536_000, { default: REMEMBER_DEVICE_DEFAULTS.expiresIn, description: 'For how long, from the sign-in in which the box was ticked.' }))
    }, { additionalProperties: false })], { default: false, takes: 'false or { expiresIn }', description: 'Whether the page of the second factor has a box "do not ask again in this browser". A browser that is remembered is no factor: `acr` and `amr` are those of the password, and whatever asks for more is asked as ever (`requireAuth`, `acr_values`, `clients[].acr`, `prompt=login`, `max_age`, the security page). It ends with a change of the password or of the factors, and with `app.authority.forgetDevices`.' }))
  }, 'What second factors are like. Takes `factors`.')),
  passkeys: PASSKEYS_SCHEMA
}

/** `null`: there are no second factors. */
export function resolveFactors ({ factors, mfa = {}, passkeys, issuer }: { factors?: FactorStore | undefined, mfa?: MfaOptions | undefined, passkeys?: false | PasskeyOptions | undefined, issuer: string }, title: string): FactorSettings | null {
  if (factors === undefined) return null
  const { totpIssuer = title, rememberDevice = false } = mfa
  const { expiresIn = REMEMBER_DEVICE_DEFAULTS.expiresIn } = rememberDevice === false ? {} : rememberDevice
  return { store: factors, totpIssuer, rememberDeviceMs: rememberDevice === false ? null : expiresIn * 1000, passkeys: resolvePasskeys(passkeys, issuer, title), passkeysImpossible: passkeys !== false && !canHavePasskeys(issuer) }
}
