import type { SecondFactorCheck } from '../../limits/rules.ts'
import type { FactorStore, PasskeyFactor, UserFactors } from '../../ports/factor-store.ts'
import type { Sealer } from '../../ports/cryptography.ts'
import type { User } from '../../ports/user-store.ts'
import type { RememberedDevices } from '../../limits/known-devices.ts'
import type { Passkeys } from './passkeys.ts'
import type { FactorPolicy } from './factor-policy.ts'

export type { SecondFactorCheck } from '../../limits/rules.ts'

/** The dependencies of second factors, if the option `factors` is set. */
export interface FactorDeps {
  store: FactorStore
  /** For the keys of apps, and for what a browser or a client carries between two steps. */
  sealer: Sealer
  /** The keys under which recovery codes are kept, one for each secret, that of today first. */
  recoveryKeys: readonly Uint8Array[]
  /** Makes the ids of apps that come from another system. */
  importKey: Uint8Array
  /** The name that authenticator apps show next to the account. */
  totpIssuer: string
  /** How long a browser session lives from the oldest proof that it rests on. */
  sessionLifetimeMs: number
  /** `null`: every sign-in is asked for the second factor. */
  remembered: RememberedDevices | null
  /** `null`: they are off. */
  passkeys: Passkeys | null
  policy: FactorPolicy
}

/** The passkeys by which the user can sign in without anything else. */
export function passkeysIn({ passkeys }: UserFactors, { passkeys: on }: Pick<FactorDeps, 'passkeys'>): PasskeyFactor[] {
  return on === null ? [] : passkeys.filter(({ uvInitialized, rpId }) => uvInitialized && rpId === on.rpId)
}

/** The limit of a proof by the user's second factor. */
export function secondFactorCheck(
  { id, passwordHash }: User,
  { deviceEpoch }: UserFactors,
  { kind }: { kind: 'totp' | 'recovery_code' | 'passkey' }
): SecondFactorCheck {
  return {
    rule: 'secondFactor',
    userId: id,
    proof: `${passwordHash ?? ''}\0${deviceEpoch}`,
    canBeGuessed: kind === 'totp'
  }
}
