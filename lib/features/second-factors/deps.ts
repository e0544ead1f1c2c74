import { HOOK_ANSWERS, hostHook } from '../../boundary/host-hooks.ts'
import type { FactorSettings } from './options.ts'
import type { SecondFactorCheck } from '../../limits/rules.ts'
import type { FactorStore, UserFactors } from '../../ports/factor-store.ts'
import type { Sealer } from '../../ports/cryptography.ts'
import type { User } from '../../ports/user-store.ts'
import type { RememberedDevices } from '../../limits/known-devices.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import type { Apps, Passkeys } from '../../accounts/factor-kinds.ts'
import type { Kernel } from '../../feature.ts'
import type { FactorMethod } from '../../protocol/second-factors.ts'
import { addressed, type MessageCause } from '../../accounts/outbox.ts'

/** The dependencies of second factors, if the option `factors` is set. */
export interface FactorDeps {
  store: FactorStore
  /** Seals the keys of apps, and the state that a browser or a client carries between two steps. */
  sealer: Sealer
  /** The keys of the stored digests of recovery codes, one for each secret, the present one first. */
  recoveryKeys: readonly Uint8Array[]
  /** The key from which the ids of imported apps are derived. */
  importKey: Uint8Array
  /** The name that authenticator apps show next to the account. */
  totpIssuer: string
  /** Lifetime of a browser session in milliseconds, from its oldest authentication. */
  sessionLifetimeMs: number
  /** The lifetime and the keys of remembered browsers, which skip the second factor. `null`: none is remembered. */
  remembered: RememberedDevices | null
  policy: FactorPolicy
}

/** The dependencies of accounts, with those of second factors. */
export type ProvingDeps = AccountsDeps & { factors: FactorDeps }

/** Adds the dependencies of second factors to those of accounts. */
export function withFactors(
  { methods, rememberDeviceMs, required, totpIssuer }: FactorSettings,
  { accounts, clients, factors, keysFor, storedKeysFor, settings }: Kernel
): ProvingDeps {
  if (factors === null) throw new TypeError('Second factors are on without a store.')
  const hook = required === null ? null : hostHook(required, HOOK_ANSWERS['mfa.required'], accounts.clock)
  return {
    ...accounts,
    factors: {
      ...factors,
      totpIssuer,
      sessionLifetimeMs: settings.session.expiresInMs,
      recoveryKeys: storedKeysFor('recovery codes'),
      importKey: storedKeysFor('imported apps')[0],
      remembered:
        rememberDeviceMs === null ? null : { lifetimeMs: rememberDeviceMs, keys: keysFor('remembered browsers') },
      policy: {
        methods,
        required:
          hook === null
            ? null
            : async (user, clientId) =>
                await hook(user, { client: clientId === null ? null : await clients.findById(clientId), clientId })
      }
    }
  }
}

/** Authenticator apps; `null`: they are off. */
export function appsOf({ slots }: Pick<AccountsDeps, 'slots'>): Apps | null {
  return slots.find(({ apps }) => apps !== undefined)?.apps ?? null
}

/** Passkeys; `null`: they are off. */
export function passkeysOf({ slots }: Pick<AccountsDeps, 'slots'>): Passkeys | null {
  return slots.find(({ passkeys }) => passkeys !== undefined)?.passkeys ?? null
}

/** The kinds that users can set up; `null`: they can set up none of that kind. */
export function newKindsOf(deps: Pick<ProvingDeps, 'slots' | 'factors'>): {
  apps: Apps | null
  passkeys: Passkeys | null
} {
  const { methods } = deps.factors.policy
  return {
    apps: methods.includes('totp') ? appsOf(deps) : null,
    passkeys: methods.includes('passkey') ? passkeysOf(deps) : null
  }
}

/** The rate limit for guesses at the user's second factor. */
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

/** The host's policy: the kinds of factors that it offers, and the users who must have one. */
interface FactorPolicy {
  /**
   * The kinds of factors that users can set up. Existing factors of other kinds still work, because a changed option
   * must not lock their users out.
   */
  methods: readonly FactorMethod[]
  /**
   * True if this user must have a second factor for this client. `clientId` is `null` for a sign-in without a client.
   * `null` instead of a function: no user must have one. Rejects if the host's hook fails or gives no answer in time,
   * because an outage must not count as `false`.
   */
  required: ((user: User, clientId: string | null) => Promise<boolean>) | null
}

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Sends the user a message about a wrong second factor after a right first factor, or about a passkey that may have
 * been copied. Sends at most one message of each kind a day, so that a stranger can't fill the mailbox.
 */
export async function tellOfFailure(
  user: User,
  { origin, locale }: MessageCause,
  { outbox, messageBound, onError }: Pick<AccountsDeps, 'outbox' | 'messageBound' | 'onError'>,
  kind: 'second_factor_failed' | 'passkey_counter_regressed' = 'second_factor_failed'
): Promise<void> {
  if (outbox === null) return
  const post = async (): Promise<void> => {
    outbox.post({ kind, user: addressed(user), locale, origin })
  }
  await messageBound.send([kind, user.id], post, { spacingMs: DAY_MS }).catch((error: unknown) => {
    onError(error, 'the message about a refused second factor could not be sent')
  })
}
