import type {
  AddedFactor,
  FactorAddition,
  FactorsByHandle,
  FactorStore,
  PasskeyFactor,
  PasskeyUse,
  RemovedFactor,
  TotpFactor,
  TotpUse,
  TwoStepChange,
  UsedPasskey,
  UserFactors
} from '../ports/factor-store.ts'
import { twoStepOf } from '../protocol/second-factors.ts'

/** The record of all second factors of a user. There is one record per user, so that each rule decides on one value. */
export interface HeldFactors {
  /** The format of this record. A release that does not know the format throws, because it must not guess. */
  form: 1
  userId: string
  handle: string | null
  totp: TotpFactor[]
  passkeys: PasskeyFactor[]
  /** Digests of the unused recovery codes. */
  codes: string[]
  /** True if the user turned two-step sign-in on. */
  twoStepChosen: boolean
  epoch: number
}

/** `held`: the user's factors afterwards. Without it, nothing changes. */
export interface FactorDecision<Outcome> {
  outcome: Outcome
  held?: HeldFactors
}

type Factor = TotpFactor | PasskeyFactor
type OutcomeOf<Method extends keyof FactorStore> = FactorStore[Method] extends (
  ...args: never[]
) => Promise<infer Answer>
  ? Answer
  : never

const isTotp = (factor: Factor): factor is TotpFactor => 'sealedSecret' in factor
const factorsIn = ({ totp, passkeys }: HeldFactors): Factor[] => [...totp, ...passkeys]
const hasFactor = (held: HeldFactors, factorId: string): boolean => factorsIn(held).some(({ id }) => id === factorId)
const isUsable = (factor: Factor): boolean => !isTotp(factor) || !factor.disabled

/** The factors of a user without a record. */
export const noFactors = (userId: string): HeldFactors => ({
  form: 1,
  userId,
  handle: null,
  totp: [],
  passkeys: [],
  codes: [],
  twoStepChosen: false,
  epoch: 0
})

/** A copy for the caller, because the transactor may remember the record itself. */
export const publicFactors = ({ handle, totp, passkeys, codes, twoStepChosen, epoch }: HeldFactors): UserFactors => ({
  handle,
  totp: structuredClone(totp),
  passkeys: structuredClone(passkeys),
  recoveryCodesLeft: codes.length,
  twoStepChosen,
  deviceEpoch: epoch
})

/**
 * The passkey with this user handle and credential id, and the factors of its user. `held`: the factors in the
 * partition that the handle names.
 */
export function byHandle(held: HeldFactors, handle: string, credentialId: string): FactorsByHandle | null {
  const passkey = held.passkeys.find((one) => one.credentialId === credentialId)
  return held.handle !== handle || passkey === undefined
    ? null
    : { userId: held.userId, passkey: structuredClone(passkey), factors: publicFactors(held) }
}

export function claimHandle(held: HeldFactors, candidate: string): FactorDecision<string> {
  return held.handle === null ? { outcome: candidate, held: { ...held, handle: candidate } } : { outcome: held.handle }
}

export function addFactor(
  held: HeldFactors,
  {
    factor: given,
    limit,
    recoveryDigests = [],
    onlyIfFirst = false,
    turnsOn = false
  }: Omit<FactorAddition<Factor>, 'userId'>
): FactorDecision<AddedFactor> {
  const factor = structuredClone(given)
  const isDuplicate =
    hasFactor(held, factor.id) ||
    (!isTotp(factor) && held.passkeys.some(({ credentialId }) => credentialId === factor.credentialId))
  if (isDuplicate) return { outcome: { outcome: 'duplicate' } }
  if (onlyIfFirst && factorsIn(held).length > 0) return { outcome: { outcome: 'not_first' } }
  if ((isTotp(factor) ? held.totp : held.passkeys).length >= limit) return { outcome: { outcome: 'full' } }
  const added = {
    ...held,
    ...(isTotp(factor) ? { totp: [...held.totp, factor] } : { passkeys: [...held.passkeys, factor] }),
    twoStepChosen: held.twoStepChosen || turnsOn,
    epoch: held.epoch + 1
  }
  // Recovery codes are for users with two-step sign-in. If two-step sign-in is off after the addition, none are stored.
  const codesStored = recoveryDigests.length > 0 && held.codes.length === 0 && twoStepOf(added, false).on
  return {
    outcome: { outcome: 'added', codesStored },
    held: codesStored ? { ...added, codes: [...new Set(recoveryDigests)] } : added
  }
}

export function useTotp(
  held: HeldFactors,
  { factorId, step, now, sealedSecret, isKnown = false }: Omit<TotpUse, 'userId'>
): FactorDecision<OutcomeOf<'useTotp'>> {
  const used = held.totp.find(({ id }) => id === factorId)
  if (used === undefined) return { outcome: 'unknown' }
  if (used.disabled && !isKnown) return { outcome: 'disabled' }
  if (step <= used.lastStep) return { outcome: 'replayed' }
  const totp = held.totp.map((one) => {
    if (one.disabled && !isKnown) return one
    const counted = isKnown ? { ...one, knownFailures: 0 } : { ...one, failures: 0 }
    return one === used
      ? { ...counted, lastStep: step, lastUsedAt: now, sealedSecret: sealedSecret ?? one.sealedSecret }
      : counted
  })
  return { outcome: 'used', held: { ...held, totp } }
}

/**
 * Counts a wrong code. Failures of known browsers count separately. Otherwise a stranger could stop before the last
 * failure and continue after the user's next sign-in, or disable the app for its user.
 */
export function countFailure(
  held: HeldFactors,
  { max, isKnown = false }: { max: number; isKnown?: boolean | undefined }
): FactorDecision<OutcomeOf<'countFailure'>> {
  if (isKnown) return countKnownFailure(held, max)
  if (!held.totp.some(isUsable)) return { outcome: 'unknown' }
  let outcome: 'counted' | 'disabled' = 'counted'
  const totp = held.totp.map((one) => {
    if (one.disabled) return one
    const failures = one.failures + 1
    const disabled = failures >= max
    if (disabled) outcome = 'disabled'
    return { ...one, failures, disabled }
  })
  return { outcome, held: { ...held, totp } }
}

function countKnownFailure(held: HeldFactors, max: number): FactorDecision<OutcomeOf<'countFailure'>> {
  if (held.totp.length === 0) return { outcome: 'unknown' }
  const isOver = held.totp.some(({ knownFailures }) => knownFailures + 1 >= max)
  const totp = held.totp.map((one) => ({ ...one, knownFailures: isOver ? 0 : one.knownFailures + 1 }))
  return isOver
    ? { outcome: 'forgotten', held: { ...held, totp, epoch: held.epoch + 1 } }
    : { outcome: 'counted', held: { ...held, totp } }
}

/** `isClaimed`: true if the challenge was answered before. The commit of a successful use also writes the claim. */
export function usePasskey(
  held: HeldFactors,
  isClaimed: boolean,
  { credentialId, signCount, backedUp, now }: Omit<PasskeyUse, 'userId' | 'claim' | 'claimExpiresAt'>
): FactorDecision<UsedPasskey> {
  const used = held.passkeys.find((one) => one.credentialId === credentialId)
  if (used === undefined) return { outcome: { outcome: 'unknown' } }
  if (isClaimed) return { outcome: { outcome: 'replayed' } }
  const regressed = hasRegressed(used.signCount, signCount)
  if (regressed && !used.backupEligible) return { outcome: { outcome: 'regressed' } }
  const passkeys = held.passkeys.map((one) => (one === used ? { ...one, signCount, backedUp, lastUsedAt: now } : one))
  return { outcome: { outcome: 'used', regressed }, held: { ...held, passkeys } }
}

export function useRecoveryCode(held: HeldFactors, digest: string): FactorDecision<OutcomeOf<'useRecoveryCode'>> {
  if (!held.codes.includes(digest)) return { outcome: { outcome: 'unknown' } }
  const codes = held.codes.filter((one) => one !== digest)
  return { outcome: { outcome: 'used', left: codes.length }, held: { ...held, codes } }
}

export function replaceRecoveryCodes(held: HeldFactors, digests: readonly string[]): FactorDecision<boolean> {
  return factorsIn(held).length === 0
    ? { outcome: false }
    : { outcome: true, held: { ...held, codes: [...new Set(digests)] } }
}

/**
 * Turns two-step sign-in on or off by the choice of the user. `refused`: on without a factor, or off with an
 * authenticator app. Turning it off removes the recovery codes.
 */
export function setTwoStep(
  held: HeldFactors,
  { on, recoveryDigests = [] }: Omit<TwoStepChange, 'userId'>
): FactorDecision<OutcomeOf<'setTwoStep'>> {
  if (on ? factorsIn(held).length === 0 : held.totp.length > 0) return { outcome: 'refused' }
  const isAsWanted = on ? twoStepOf(held, false).on : !held.twoStepChosen && held.codes.length === 0
  if (isAsWanted) return { outcome: 'unchanged' }
  const codes = on && recoveryDigests.length === 0 ? held.codes : [...new Set(recoveryDigests)]
  return {
    outcome: 'changed',
    held: { ...held, twoStepChosen: on, codes: on ? codes : [], epoch: held.epoch + 1 }
  }
}

export function removeFactor(
  held: HeldFactors,
  { factorId, keepOne }: { factorId: string; keepOne: boolean }
): FactorDecision<OutcomeOf<'removeFactor'>> {
  if (!hasFactor(held, factorId)) return { outcome: 'unknown' }
  const others = factorsIn(held).filter(({ id }) => id !== factorId)
  if (keepOne && !others.some(isUsable)) return { outcome: 'last' }
  const left = {
    ...held,
    totp: held.totp.filter(({ id }) => id !== factorId),
    passkeys: held.passkeys.filter(({ id }) => id !== factorId),
    twoStepChosen: held.twoStepChosen && others.length > 0,
    epoch: held.epoch + 1
  }
  // A user who must keep a factor has two-step sign-in with it, even without choosing it.
  const goesOn = others.length > 0 && (keepOne || twoStepOf(left, false).on)
  return { outcome: 'removed', held: { ...left, codes: goesOn ? held.codes : [] } }
}

/**
 * Removes the provisional factors. Removes the recovery codes too, because the person who set up these factors may have
 * them.
 */
export function removeProvisional(held: HeldFactors): FactorDecision<RemovedFactor[]> {
  const gone = factorsIn(held).filter(({ provisional }) => provisional)
  if (gone.length === 0) return { outcome: [] }
  const totp = held.totp.filter(({ provisional }) => !provisional)
  const passkeys = held.passkeys.filter(({ provisional }) => !provisional)
  const twoStepChosen = held.twoStepChosen && totp.length + passkeys.length > 0
  return {
    outcome: gone.map((factor) => ({ id: factor.id, kind: isTotp(factor) ? 'totp' : 'passkey' })),
    held: { ...held, totp, passkeys, codes: [], twoStepChosen, epoch: held.epoch + 1 }
  }
}

export function renameFactor(
  held: HeldFactors,
  { factorId, name }: { factorId: string; name: string | null }
): FactorDecision<boolean> {
  if (!hasFactor(held, factorId)) return { outcome: false }
  const named = <One extends Factor>(factors: One[]): One[] =>
    factors.map((one) => (one.id === factorId ? { ...one, name } : one))
  return { outcome: true, held: { ...held, totp: named(held.totp), passkeys: named(held.passkeys) } }
}

export function forgetDevices(held: HeldFactors): FactorDecision<number> {
  const epoch = held.epoch + 1
  return { outcome: epoch, held: { ...held, epoch } }
}

export function removeFactors(held: HeldFactors): FactorDecision<number> {
  const outcome = factorsIn(held).length
  // A user without a handle and without changes needs no record.
  if (held.handle === null && held.epoch === 0) return { outcome }
  return { outcome, held: { ...noFactors(held.userId), handle: held.handle, epoch: held.epoch + 1 } }
}

/**
 * True if the signature counter of an authenticator did not grow, which may be the sign of a copy. False if the stored
 * counter is 0, because the authenticator may have no counter.
 * @see W3C WebAuthn Level 3 §7.2, verification of signCount
 */
export function hasRegressed(stored: number, given: number): boolean {
  return given <= stored && stored !== 0
}
