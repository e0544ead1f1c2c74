import { type ProvingDeps } from './deps.ts'
import { isRemembered, rememberAccount, type RememberedDevices } from '../../limits/known-devices.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import type { Browser } from '../../sessions/browser-sessions.ts'
import type { Origin } from '../../events.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import type { FactorDeps } from './deps.ts'

type Deps = Pick<AccountsDeps, 'clock'> & { factors: Pick<FactorDeps, 'remembered'> }

/**
 * True if this browser is remembered, so that the user is not asked for the second factor in it. That proves nothing:
 * the sign-in has only the level of the first factor.
 * @see NIST SP 800-63B-4 §3.2.1
 */
export function isRememberedIn(
  user: User,
  found: UserFactors,
  { remembered: token }: Pick<Browser, 'remembered'>,
  { clock, factors: { remembered } }: Deps
): boolean {
  return (
    remembered !== null &&
    isRemembered(remembered.keys, token, accountOf(user, found), {
      now: clock.now(),
      lifetimeMs: remembered.lifetimeMs
    })
  )
}

/**
 * The value of the cookie for a browser in which the user has just given a second factor and does not want to be asked
 * again. `found`: the factors that they had then.
 */
export function rememberDevice(
  token: string | undefined,
  user: User,
  found: UserFactors,
  { keys }: RememberedDevices,
  { clock, random }: Pick<AccountsDeps, 'clock' | 'random'>
): string {
  return rememberAccount(keys, token, accountOf(user, found), clock.now(), random.id())
}

function accountOf({ id, passwordHash }: User, { deviceEpoch }: UserFactors): Parameters<typeof isRemembered>[2] {
  return { userId: id, epoch: deviceEpoch, passwordHash }
}

/**
 * Has the second factor asked for again in every browser of the user. Idempotent. @throws where the store can't be
 * reached
 */
export async function forgetDevices(
  user: User,
  { by, origin }: { by: 'user' | 'host'; origin: Origin },
  { events, factors: { store } }: ProvingDeps
): Promise<void> {
  await store.forgetDevices(user.id)
  events.emit('devices_forgotten', { userId: user.id, by }, origin)
}
