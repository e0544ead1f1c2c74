import { Type } from '@sinclair/typebox'
import type { FactorStore } from '../../ports/factor-store.ts'
import { optional, section } from '../schema-words.ts'

/** What a second factor is like. It takes the option `factors`. */
export interface MfaOptions {
  /** What authenticator apps show beside the account. Default: `pages.title`, else the host of the issuer. */
  totpIssuer?: string | undefined
}

export interface FactorSettings {
  store: FactorStore
  totpIssuer: string
}

/** What every factor store has; a look at them catches a wrong option, and `host-factor-store` every wrong answer. */
export const FACTOR_STORE_METHODS = ['findFactors', 'findByHandle', 'claimHandle', 'addTotp', 'addPasskey', 'useTotp', 'usePasskey', 'useRecoveryCode', 'replaceRecoveryCodes', 'countFailure', 'removeFactor', 'renameFactor', 'forgetDevices', 'removeFactorsOfUser'] as const satisfies ReadonlyArray<keyof FactorStore>

export const FACTOR_STORE_TAKES = 'a FactorStore, such as memoryFactorStore(), sqliteFactorStore(db) or postgresFactorStore(db)'

export const FACTOR_SCHEMAS = {
  factors: optional(Type.Any({ default: 'none', takes: FACTOR_STORE_TAKES, description: 'Where second factors are kept: authenticator apps and recovery codes. With it, people can set one up on the account page, and whoever has one is asked for it after the password, at every way in. Keep it where the users are: what it loses is a user with a password alone. A store that outlives the process takes `secret`, which seals the keys of the apps. Without it there is no route, and a sign-in makes no look-up more.' })),
  mfa: optional(section({
    totpIssuer: optional(Type.String({ minLength: 1, maxLength: 64, default: '`pages.title`, else the host of the issuer', takes: 'a string of 1 to 64 characters', description: 'What authenticator apps show beside the name of the account.' }))
  }, 'What second factors are like. Takes `factors`.'))
}

/** `null`: there are no second factors. */
export function resolveFactors ({ factors, mfa = {} }: { factors?: FactorStore | undefined, mfa?: MfaOptions | undefined }, title: string): FactorSettings | null {
  if (factors === undefined) return null
  const { totpIssuer = title } = mfa
  return { store: factors, totpIssuer }
}
