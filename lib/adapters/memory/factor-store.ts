import type { AddedFactor, FactorStore, PasskeyFactor, TotpFactor, UserFactors } from '../../ports/factor-store.ts'
import { hasRegressed } from '../../protocol/sign-count.ts'
import { inSlices } from './slices.ts'

/** What one user has. */
interface Held {
  handle: string | null
  totp: TotpFactor[]
  passkeys: PasskeyFactor[]
  recoveryDigests: Set<string>
  deviceEpoch: number
}

const nothing = (): Held => ({ handle: null, totp: [], passkeys: [], recoveryDigests: new Set(), deviceEpoch: 0 })

/**
 * Second factors in this process's memory: for tests, demos and development. When the process ends, every user is left
 * with a password alone.
 */
export function memoryFactorStore(): FactorStore & Required<Pick<FactorStore, 'sweep'>> {
  const users = new Map<string, Held>()
  const userByHandle = new Map<string, string>()
  /** Claimed challenges, each with its end. */
  const claims = new Map<string, number>()

  const heldBy = (userId: string): Held => {
    const held = users.get(userId) ?? nothing()
    users.set(userId, held)
    return held
  }
  const copyOf = ({ handle, totp, passkeys, recoveryDigests, deviceEpoch }: Held): UserFactors => ({
    handle,
    totp: structuredClone(totp),
    passkeys: structuredClone(passkeys),
    recoveryCodesLeft: recoveryDigests.size,
    deviceEpoch
  })
  const factorsOf = ({ totp, passkeys }: Held): Array<TotpFactor | PasskeyFactor> => [...totp, ...passkeys]

  /**
   * `room`: how many of this kind the user may still have. A user who had nothing is written with the first factor, and
   * not where none is added.
   */
  function add(
    userId: string,
    held: Held,
    room: number,
    isDuplicate: boolean,
    digests: readonly string[],
    push: () => void
  ): AddedFactor {
    if (isDuplicate) return { outcome: 'duplicate' }
    if (room <= 0) return { outcome: 'full' }
    users.set(userId, held)
    push()
    held.deviceEpoch++
    const codesStored = digests.length > 0 && held.recoveryDigests.size === 0
    if (codesStored) held.recoveryDigests = new Set(digests)
    return { outcome: 'added', codesStored }
  }

  // No method awaits before it has done its work: that is what makes each of them atomic.
  return {
    kind: 'memory',
    durable: false,

    async findFactors(userId) {
      return copyOf(users.get(userId) ?? nothing())
    },
    async findByHandle(handle, credentialId) {
      const userId = userByHandle.get(handle)
      const factors = userId === undefined ? undefined : copyOf(heldBy(userId))
      const passkey = factors?.passkeys.find((one) => one.credentialId === credentialId)
      return userId === undefined || factors === undefined || passkey === undefined
        ? null
        : { userId, passkey: structuredClone(passkey), factors }
    },
    async claimHandle(userId, candidate) {
      const held = heldBy(userId)
      if (held.handle !== null) return held.handle
      if (userByHandle.has(candidate)) throw new TypeError('Another user has this handle.')
      userByHandle.set(candidate, userId)
      held.handle = candidate
      return candidate
    },

    async addTotp({ userId, factor, limit, recoveryDigests = [] }) {
      const held = users.get(userId) ?? nothing()
      const isDuplicate = factorsOf(held).some(({ id }) => id === factor.id)
      return add(userId, held, limit - held.totp.length, isDuplicate, recoveryDigests, () => {
        held.totp.push(structuredClone(factor))
      })
    },
    async addPasskey({ userId, factor, limit, recoveryDigests = [] }) {
      const held = users.get(userId) ?? nothing()
      const isDuplicate =
        factorsOf(held).some(({ id }) => id === factor.id) ||
        held.passkeys.some(({ credentialId }) => credentialId === factor.credentialId)
      return add(userId, held, limit - held.passkeys.length, isDuplicate, recoveryDigests, () => {
        held.passkeys.push(structuredClone(factor))
      })
    },

    async useTotp({ userId, factorId, step, now, sealedSecret }) {
      const held = users.get(userId)
      const factor = held?.totp.find(({ id }) => id === factorId)
      if (held === undefined || factor === undefined) return 'unknown'
      if (factor.disabled) return 'disabled'
      if (step <= factor.lastStep) return 'replayed'
      for (const one of held.totp) if (!one.disabled) one.failures = 0
      Object.assign(factor, { lastStep: step, lastUsedAt: now, sealedSecret: sealedSecret ?? factor.sealedSecret })
      return 'used'
    },
    async usePasskey({ userId, credentialId, claim, claimExpiresAt, signCount, backedUp, now }) {
      const held = users.get(userId)
      const passkey = held?.passkeys.find((one) => one.credentialId === credentialId)
      if (held === undefined || passkey === undefined) return { outcome: 'unknown' }
      // JSON, so that no user and no claim make the name of another.
      const claimed = JSON.stringify([userId, claim])
      if (claims.has(claimed)) return { outcome: 'replayed' }
      const regressed = hasRegressed(passkey.signCount, signCount)
      if (regressed && !passkey.backupEligible) return { outcome: 'regressed' }
      claims.set(claimed, claimExpiresAt)
      Object.assign(passkey, { signCount, backedUp, lastUsedAt: now })
      return { outcome: 'used', regressed }
    },
    async useRecoveryCode({ userId, digest }) {
      const digests = users.get(userId)?.recoveryDigests
      return digests?.delete(digest) === true ? { outcome: 'used', left: digests.size } : { outcome: 'unknown' }
    },
    async replaceRecoveryCodes(userId, digests) {
      const held = users.get(userId)
      if (held === undefined || factorsOf(held).length === 0) return false
      held.recoveryDigests = new Set(digests)
      return true
    },
    async countFailure({ userId, max }) {
      const counting = users.get(userId)?.totp.filter(({ disabled }) => !disabled) ?? []
      for (const factor of counting) factor.disabled = ++factor.failures >= max
      if (counting.length === 0) return 'unknown'
      return counting.some(({ disabled }) => disabled) ? 'disabled' : 'counted'
    },

    async removeFactor({ userId, factorId, keepOne }) {
      const held = users.get(userId)
      if (held === undefined || !factorsOf(held).some(({ id }) => id === factorId)) return 'unknown'
      const others = factorsOf(held).filter(({ id }) => id !== factorId)
      if (keepOne && !others.some((factor) => !('disabled' in factor) || !factor.disabled)) return 'last'
      held.totp = held.totp.filter(({ id }) => id !== factorId)
      held.passkeys = held.passkeys.filter(({ id }) => id !== factorId)
      if (others.length === 0) held.recoveryDigests.clear()
      held.deviceEpoch++
      return 'removed'
    },
    async renameFactor({ userId, factorId, name }) {
      const held = users.get(userId)
      const factor = held === undefined ? undefined : factorsOf(held).find(({ id }) => id === factorId)
      if (factor !== undefined) factor.name = name
      return factor !== undefined
    },
    async forgetDevices(userId) {
      return ++heldBy(userId).deviceEpoch
    },
    async removeFactorsOfUser(userId) {
      const held = users.get(userId)
      if (held === undefined) return 0
      const count = factorsOf(held).length
      Object.assign(held, { totp: [], passkeys: [], recoveryDigests: new Set(), deviceEpoch: held.deviceEpoch + 1 })
      return count
    },

    sweep: (now) =>
      inSlices(claims, ([claim, expiresAt]) => {
        if (expiresAt <= now) claims.delete(claim)
      })
  }
}
