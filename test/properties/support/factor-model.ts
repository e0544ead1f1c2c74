import type {
  FactorAddition,
  FactorStore,
  PasskeyFactor,
  PasskeyUse,
  TotpFactor,
  TotpUse,
  TwoStepChange,
  UserFactors
} from '../../../lib/ports/factor-store.ts'
import { type Expectation, is } from './histories.ts'

/** A model of second factors, by the prose of their port. */
export interface FactorWorld {
  users: Record<string, Held>
  /** User and claim, as JSON. */
  claims: string[]
}

interface Held {
  handle: string | null
  totp: TotpFactor[]
  passkeys: PasskeyFactor[]
  codes: string[]
  twoStepChosen: boolean
  epoch: number
}

const heldBy = (world: FactorWorld, userId: string): Held =>
  (world.users[userId] ??= { handle: null, totp: [], passkeys: [], codes: [], twoStepChosen: false, epoch: 0 })
const publicOf = ({ handle, totp, passkeys, codes, twoStepChosen, epoch }: Held): UserFactors => ({
  handle,
  totp,
  passkeys,
  recoveryCodesLeft: codes.length,
  twoStepChosen,
  deviceEpoch: epoch
})
const factorsOf = ({ totp, passkeys }: Held): Array<TotpFactor | PasskeyFactor> => [...totp, ...passkeys]
const isUsable = (factor: TotpFactor | PasskeyFactor): boolean => !('disabled' in factor) || !factor.disabled

function add(
  held: Held,
  {
    factor,
    limit,
    recoveryDigests = [],
    onlyIfFirst = false,
    turnsOn = false
  }: FactorAddition<TotpFactor | PasskeyFactor>
): Expectation {
  const kind: Array<TotpFactor | PasskeyFactor> = 'credentialId' in factor ? held.passkeys : held.totp
  if (
    factorsOf(held).some(({ id }) => id === factor.id) ||
    ('credentialId' in factor && held.passkeys.some(({ credentialId }) => credentialId === factor.credentialId))
  )
    return is({ outcome: 'duplicate' })
  if (onlyIfFirst && factorsOf(held).length > 0) return is({ outcome: 'not_first' })
  if (kind.length >= limit) return is({ outcome: 'full' })
  kind.push({ ...factor })
  held.epoch += 1
  held.twoStepChosen ||= turnsOn
  const codesStored =
    recoveryDigests.length > 0 && held.codes.length === 0 && (held.totp.length > 0 || held.twoStepChosen)
  if (codesStored) held.codes = [...recoveryDigests]
  return is({ outcome: 'added', codesStored })
}

export const FACTORS = {
  findFactors: (world: FactorWorld, _now: number, userId: string): Expectation => is(publicOf(heldBy(world, userId))),

  findByHandle(world: FactorWorld, _now: number, handle: string, credentialId: string): Expectation {
    const [userId, held] = Object.entries(world.users).find(([, held]) => held.handle === handle) ?? []
    const passkey = held?.passkeys.find((one) => one.credentialId === credentialId)
    return is(held === undefined || passkey === undefined ? null : { userId, passkey, factors: publicOf(held) })
  },

  claimHandle(world: FactorWorld, _now: number, userId: string, candidate: string): Expectation {
    const held = heldBy(world, userId)
    held.handle ??= candidate
    return is(held.handle)
  },

  addTotp: (world: FactorWorld, _now: number, addition: FactorAddition<TotpFactor>): Expectation =>
    add(heldBy(world, addition.userId), addition),
  addPasskey: (world: FactorWorld, _now: number, addition: FactorAddition<PasskeyFactor>): Expectation =>
    add(heldBy(world, addition.userId), addition),

  useTotp(
    world: FactorWorld,
    _now: number,
    { userId, factorId, step, now, sealedSecret, isKnown = false }: TotpUse
  ): Expectation {
    const { totp } = heldBy(world, userId)
    const factor = totp.find(({ id }) => id === factorId)
    if (factor === undefined) return is('unknown')
    if (factor.disabled && !isKnown) return is('disabled')
    if (step <= factor.lastStep) return is('replayed')
    for (const one of totp)
      if (isKnown) one.knownFailures = 0
      else if (!one.disabled) one.failures = 0
    Object.assign(factor, { lastStep: step, lastUsedAt: now, sealedSecret: sealedSecret ?? factor.sealedSecret })
    return is('used')
  },

  usePasskey(
    world: FactorWorld,
    _now: number,
    { userId, credentialId, claim, signCount, backedUp, now }: PasskeyUse
  ): Expectation {
    const passkey = heldBy(world, userId).passkeys.find((one) => one.credentialId === credentialId)
    if (passkey === undefined) return is({ outcome: 'unknown' })
    const claimed = JSON.stringify([userId, claim])
    if (world.claims.includes(claimed)) return is({ outcome: 'replayed' })
    const counts = signCount > 0 || passkey.signCount > 0
    const regressed = counts && signCount <= passkey.signCount
    if (regressed && !passkey.backupEligible) return is({ outcome: 'regressed' })
    world.claims.push(claimed)
    Object.assign(passkey, { signCount, backedUp, lastUsedAt: now })
    return is({ outcome: 'used', regressed })
  },

  useRecoveryCode(
    world: FactorWorld,
    _now: number,
    { userId, digest }: { userId: string; digest: string }
  ): Expectation {
    const held = heldBy(world, userId)
    if (!held.codes.includes(digest)) return is({ outcome: 'unknown' })
    held.codes = held.codes.filter((code) => code !== digest)
    return is({ outcome: 'used', left: held.codes.length })
  },

  replaceRecoveryCodes(world: FactorWorld, _now: number, userId: string, digests: readonly string[]): Expectation {
    const held = heldBy(world, userId)
    if (factorsOf(held).length === 0) return is(false)
    held.codes = [...digests]
    return is(true)
  },

  setTwoStep(world: FactorWorld, _now: number, { userId, on, recoveryDigests = [] }: TwoStepChange): Expectation {
    const held = heldBy(world, userId)
    if (on && factorsOf(held).length === 0) return is('refused')
    if (!on && held.totp.length > 0) return is('refused')
    if (on && (held.totp.length > 0 || held.twoStepChosen)) return is('unchanged')
    if (!on && !held.twoStepChosen && held.codes.length === 0) return is('unchanged')
    held.twoStepChosen = on
    held.epoch += 1
    if (!on) held.codes = []
    else if (recoveryDigests.length > 0) held.codes = [...recoveryDigests]
    return is('changed')
  },

  countFailure(
    world: FactorWorld,
    _now: number,
    { userId, max, isKnown = false }: Parameters<FactorStore['countFailure']>[0]
  ): Expectation {
    if (isKnown) {
      const held = heldBy(world, userId)
      for (const app of held.totp) app.knownFailures += 1
      if (!held.totp.some(({ knownFailures }) => knownFailures >= max))
        return is(held.totp.length === 0 ? 'unknown' : 'counted')
      for (const app of held.totp) app.knownFailures = 0
      held.epoch += 1
      return is('forgotten')
    }
    const counting = heldBy(world, userId).totp.filter(isUsable)
    for (const app of counting) {
      app.failures += 1
      app.disabled = app.failures >= max
    }
    return is(counting.length === 0 ? 'unknown' : counting.some(({ disabled }) => disabled) ? 'disabled' : 'counted')
  },

  removeFactor(
    world: FactorWorld,
    _now: number,
    { userId, factorId, keepOne }: Parameters<FactorStore['removeFactor']>[0]
  ): Expectation {
    const held = heldBy(world, userId)
    const others = factorsOf(held).filter(({ id }) => id !== factorId)
    if (others.length === factorsOf(held).length) return is('unknown')
    if (keepOne && !others.some(isUsable)) return is('last')
    held.totp = held.totp.filter(({ id }) => id !== factorId)
    held.passkeys = held.passkeys.filter(({ id }) => id !== factorId)
    if (others.length === 0) held.twoStepChosen = false
    const asks = held.totp.length > 0 || held.twoStepChosen
    if (others.length === 0 || (!asks && !keepOne)) held.codes = []
    held.epoch += 1
    return is('removed')
  },

  renameFactor(
    world: FactorWorld,
    _now: number,
    { userId, factorId, name }: Parameters<FactorStore['renameFactor']>[0]
  ): Expectation {
    const factor = factorsOf(heldBy(world, userId)).find(({ id }) => id === factorId)
    if (factor !== undefined) factor.name = name
    return is(factor !== undefined)
  },

  forgetDevices(world: FactorWorld, _now: number, userId: string): Expectation {
    const held = heldBy(world, userId)
    held.epoch += 1
    return is(held.epoch)
  },

  removeFactorsOfUser(world: FactorWorld, _now: number, userId: string): Expectation {
    const held = heldBy(world, userId)
    const count = factorsOf(held).length
    // In every store of ours a user's record exists from the first change on, and only then the epoch changes.
    if (held.handle !== null || held.epoch > 0) held.epoch += 1
    Object.assign(held, { totp: [], passkeys: [], codes: [], twoStepChosen: false })
    return is(count)
  }
}
