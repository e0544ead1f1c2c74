import { setImmediate } from 'node:timers/promises'
import t from '../support/tap.ts'
import { memoryFactorStore } from '../../lib/adapters/memory/factor-store.ts'
import type { FactorStore, UserFactors } from '../../lib/ports/factor-store.ts'
import { factorStoreContract } from './suites/factor-store-contract.ts'

interface Fault {
  name: string
  of(store: FactorStore): Partial<FactorStore>
  /** Cases that must fail, by the beginning of their name. */
  found: string[]
  /** That no other does. */
  only?: boolean
}

const isHeld = ({ totp, passkeys }: UserFactors, factorId: string): boolean =>
  [...totp, ...passkeys].some(({ id }) => id === factorId)

/** Stores that look first and write later, and stores that forget one sentence of the port. */
const FAULTS: readonly Fault[] = [
  {
    name: 'a code of an authenticator app that is looked at first and used later',
    of: (store) => ({
      async useTotp(use) {
        const app = (await store.findFactors(use.userId)).totp.find(({ id }) => id === use.factorId)
        if (app === undefined) return 'unknown'
        if (app.disabled && use.isKnown !== true) return 'disabled'
        if (use.step <= app.lastStep) return 'replayed'
        await setImmediate()
        await store.useTotp({ ...use, step: Math.max(use.step, app.lastStep + 1) })
        return 'used'
      }
    }),
    found: ['useTotp: of 50 parallel uses of one step one counts'],
    only: true
  },
  {
    name: 'a step that counts again',
    of: (store) => ({
      async useTotp(use) {
        return await store.useTotp({ ...use, step: use.step + 1 })
      }
    }),
    found: ['useTotp: a code counts where its step is newer']
  },
  {
    name: 'a disabled app that takes a right code',
    of: (store) => ({
      useTotp: async (use) => {
        const outcome = await store.useTotp(use)
        return outcome === 'disabled' ? 'used' : outcome
      }
    }),
    found: [
      'countFailure: the app that has had max wrong codes is disabled',
      'useTotp: a disabled app counts in known'
    ],
    only: true
  },
  {
    name: 'wrong codes that are counted one too far',
    of: (store) => ({ countFailure: async ({ userId, max }) => await store.countFailure({ userId, max: max + 1 }) }),
    found: ['countFailure: the app that', 'countFailure: of 50 parallel ones']
  },
  {
    name: 'wrong codes that are read first and written later',
    of: (store) => {
      const counts = new Map<string, number>()
      return {
        async countFailure({ userId, max }) {
          const isEnabled = (await store.findFactors(userId)).totp.some(({ disabled }) => !disabled)
          const counted = (counts.get(userId) ?? 0) + 1
          await setImmediate()
          if (!isEnabled) return 'unknown'
          counts.set(userId, counted)
          return counted < max ? 'counted' : await store.countFailure({ userId, max: 1 })
        }
      }
    },
    found: ['countFailure: of 50 parallel ones exactly one disables']
  },
  {
    name: 'a recovery code that is looked for first and taken away later',
    of: (store) => {
      const spent = new Set<string>()
      return {
        async useRecoveryCode(use) {
          const isSpent = spent.has(use.digest)
          await setImmediate()
          const used = await store.useRecoveryCode(use)
          if (used.outcome === 'used') spent.add(use.digest)
          return used.outcome === 'unknown' && !isSpent && spent.has(use.digest)
            ? { outcome: 'used', left: (await store.findFactors(use.userId)).recoveryCodesLeft }
            : used
        }
      }
    },
    found: [
      'of 50 parallel uses of one recovery code one counts',
      'of parallel uses of all recovery codes each counts once'
    ]
  },
  {
    name: 'a recovery code of whoever it is',
    of: (store) => {
      const users = new Set<string>()
      return {
        async addTotp(addition) {
          users.add(addition.userId)
          return await store.addTotp(addition)
        },
        async useRecoveryCode(use) {
          for (const userId of [use.userId, ...users]) {
            const used = await store.useRecoveryCode({ ...use, userId })
            if (used.outcome === 'used') return used
          }
          return { outcome: 'unknown' }
        }
      }
    },
    found: ['a recovery code counts once, and for its user alone']
  },
  {
    name: 'new recovery codes beside the old',
    of: (store) => {
      const former = new Map<string, Set<string>>()
      return {
        async addTotp(addition) {
          const added = await store.addTotp(addition)
          if (added.outcome === 'added' && added.codesStored)
            former.set(addition.userId, new Set(addition.recoveryDigests))
          return added
        },
        async useRecoveryCode(use) {
          const used = await store.useRecoveryCode(use)
          return used.outcome === 'unknown' && former.get(use.userId)?.delete(use.digest) === true
            ? { outcome: 'used', left: 0 }
            : used
        }
      }
    },
    found: ['new recovery codes take the place of all others']
  },
  {
    name: 'recovery codes where there is no factor',
    of: (store) => ({
      async replaceRecoveryCodes(userId, digests) {
        await store.replaceRecoveryCodes(userId, digests)
        return true
      }
    }),
    found: ['nobody has recovery codes without a factor'],
    only: true
  },
  {
    name: 'an enrolment that asks first whether there are recovery codes',
    of: (store) => ({
      async addTotp({ recoveryDigests, ...addition }) {
        const { recoveryCodesLeft } = await store.findFactors(addition.userId)
        await setImmediate()
        const added = await store.addTotp(addition)
        if (
          added.outcome !== 'added' ||
          recoveryDigests === undefined ||
          recoveryDigests.length === 0 ||
          recoveryCodesLeft > 0
        )
          return added
        await store.replaceRecoveryCodes(addition.userId, recoveryDigests)
        return { outcome: 'added', codesStored: true }
      }
    }),
    found: ['of parallel enrolments with recovery codes one is told'],
    only: true
  },
  {
    name: 'an enrolment that counts first and adds later',
    of: (store) => ({
      async addPasskey(addition) {
        const { passkeys } = await store.findFactors(addition.userId)
        if (
          passkeys.length >= addition.limit &&
          !passkeys.some(({ credentialId }) => credentialId === addition.factor.credentialId)
        )
          return { outcome: 'full' }
        await setImmediate()
        return await store.addPasskey({ ...addition, limit: addition.limit === 1 ? 1 : 1000 })
      }
    }),
    found: ['of 50 parallel additions as many are added as the limit says'],
    only: true
  },
  {
    name: 'a credential that is unique for all users',
    of: (store) => {
      const taken = new Set<string>()
      return {
        async addPasskey(addition) {
          if (taken.has(addition.factor.credentialId)) return { outcome: 'duplicate' }
          const added = await store.addPasskey(addition)
          if (added.outcome === 'added') taken.add(addition.factor.credentialId)
          return added
        }
      }
    },
    found: ['a second factor of one id, or of one credential, is a duplicate']
  },
  {
    name: 'a removal that looks at the others first',
    of: (store) => ({
      async removeFactor({ userId, factorId, keepOne }) {
        const held = await store.findFactors(userId)
        const others = [...held.totp.filter(({ disabled }) => !disabled), ...held.passkeys].filter(
          ({ id }) => id !== factorId
        )
        if (isHeld(held, factorId) && keepOne && others.length === 0) return 'last'
        await setImmediate()
        return await store.removeFactor({ userId, factorId, keepOne: false })
      }
    }),
    found: [
      'removeFactor: of parallel removals of the last two one is left',
      'removeFactor: with keepOne the recovery codes stay with a passkey alone'
    ],
    only: true
  },
  {
    name: 'a disabled app that is counted among those that are kept',
    of: (store) => ({
      async removeFactor(removal) {
        const { totp, passkeys } = await store.findFactors(removal.userId)
        return await store.removeFactor({ ...removal, keepOne: removal.keepOne && totp.length + passkeys.length === 1 })
      }
    }),
    found: ['removeFactor: with keepOne the last that is not disabled stays']
  },
  {
    name: 'recovery codes that outlive the last factor',
    of: (store) => {
      const kept = new Map<string, number>()
      return {
        async removeFactor(removal) {
          const { recoveryCodesLeft } = await store.findFactors(removal.userId)
          const outcome = await store.removeFactor(removal)
          if (outcome === 'removed') kept.set(removal.userId, recoveryCodesLeft)
          return outcome
        },
        async findFactors(userId) {
          return {
            ...(await store.findFactors(userId)),
            ...(kept.has(userId) ? { recoveryCodesLeft: kept.get(userId) ?? 0 } : {})
          }
        }
      }
    },
    found: ['nobody has recovery codes without a factor', 'removeFactor: the recovery codes go with the last factor']
  },
  {
    name: 'a challenge that is looked for first and claimed later',
    of: (store) => {
      const claimed = new Set<string>()
      return {
        async usePasskey(use) {
          const claim = `${use.userId} ${use.claim}`
          if (claimed.has(claim)) return { outcome: 'replayed' }
          await setImmediate()
          const used = await store.usePasskey({ ...use, claim: `${use.claim} ${Math.random()}` })
          if (used.outcome === 'used') claimed.add(claim)
          return used
        }
      }
    },
    found: ['usePasskey: of 50 parallel answers to one challenge one counts'],
    only: true
  },
  {
    name: 'a challenge that every passkey of a user may answer once',
    of: (store) => ({
      usePasskey: async (use) => await store.usePasskey({ ...use, claim: `${use.claim} ${use.credentialId}` })
    }),
    found: [
      'usePasskey: an answered challenge counts once, whichever',
      'usePasskey: of 50 parallel answers to one challenge'
    ]
  },
  {
    name: 'a challenge that is claimed by an answer that is refused',
    of: (store) => {
      const claimed = new Set<string>()
      return {
        async usePasskey(use) {
          if (claimed.has(use.claim)) return { outcome: 'replayed' }
          const used = await store.usePasskey(use)
          if (used.outcome === 'regressed') claimed.add(use.claim)
          return used
        }
      }
    },
    found: [
      'usePasskey: a counter of 5 after 5',
      'usePasskey: a counter of 4 after 5',
      'usePasskey: a counter of 0 after 5'
    ]
  },
  {
    name: 'a counter that may stand still',
    of: (store) => ({
      usePasskey: async (use) => {
        const used = await store.usePasskey(use)
        return used.outcome === 'regressed' ? { outcome: 'used', regressed: true } : used
      }
    }),
    found: ['usePasskey: a counter of 5 after 5']
  },
  {
    name: 'a claim that is swept too early',
    of: (store) => ({
      sweep: async (now) => {
        await store.sweep?.(now + 1)
      }
    }),
    found: ['usePasskey: a claim is remembered until its end'],
    only: true
  },
  {
    name: 'a handle that the last claim gets',
    of: (store) => ({
      claimHandle: async (userId, candidate) => {
        await store.claimHandle(userId, candidate)
        return candidate
      }
    }),
    found: ['a handle is claimed once and for good', 'of 50 parallel claims of a handle all get one']
  },
  {
    name: 'a handle that finds a passkey of anybody',
    of: (store) => ({
      async findByHandle(handle, credentialId) {
        const found =
          (await store.findByHandle(handle, credentialId)) ??
          (await store.findByHandle(handle, 'credential-1')) ??
          (await store.findByHandle(handle, 'credential-2'))
        return found === null ? null : { ...found, passkey: { ...found.passkey, credentialId } }
      }
    }),
    found: ['a handle finds its user by their own passkey alone']
  },
  {
    name: 'an epoch that stays when a factor goes',
    of: (store) => {
      let behind = 0
      return {
        async removeFactor(removal) {
          const outcome = await store.removeFactor(removal)
          if (outcome === 'removed') behind++
          return outcome
        },
        async findFactors(userId) {
          const factors = await store.findFactors(userId)
          return { ...factors, deviceEpoch: Math.max(0, factors.deviceEpoch - behind) }
        }
      }
    },
    found: ['the device epoch is another one after each change']
  },
  {
    name: 'an epoch that is read first and written later',
    of: (store) => ({
      async forgetDevices(userId) {
        const { deviceEpoch } = await store.findFactors(userId)
        await setImmediate()
        await store.forgetDevices(userId)
        return deviceEpoch + 1
      }
    }),
    found: ['every forgotten device has an epoch of its own'],
    only: true
  },
  {
    name: 'a removal of all that forgets the handle',
    of: (store) => {
      const gone = new Set<string>()
      return {
        async removeFactorsOfUser(userId) {
          gone.add(userId)
          return await store.removeFactorsOfUser(userId)
        },
        async findFactors(userId) {
          const factors = await store.findFactors(userId)
          return gone.has(userId) ? { ...factors, handle: null } : factors
        }
      }
    },
    found: ['removeFactorsOfUser: removes all of that user but the handle']
  },
  {
    name: 'an answer of nothing for a user without factors',
    of: (store) => ({
      async findFactors(userId) {
        const factors = await store.findFactors(userId)
        return factors.deviceEpoch === 0 && factors.handle === null ? (null as never) : factors
      }
    }),
    found: ['a user with nothing has an empty set']
  }
]

for (const { name, of, found, only = false } of FAULTS)
  t.test(`factorStoreContract finds ${name}`, async (t) => {
    const failed: string[] = []
    for (const { name, run } of factorStoreContract(async () => {
      const store = memoryFactorStore()
      return { store: { ...store, ...of(store) } }
    }))
      await run().catch(() => {
        failed.push(name.replace('factors: ', ''))
      })
    for (const beginning of found)
      t.ok(
        failed.some((name) => name.startsWith(beginning)),
        beginning,
        { failed }
      )
    if (only)
      t.same(
        failed.filter((name) => !found.some((beginning) => name.startsWith(beginning))),
        []
      )
  })
