import { setImmediate } from 'node:timers/promises'
import t from '../support/tap.ts'
import { memoryFactorStore } from '../../lib/adapters/memory/record-store.ts'
import type { FactorStore, UserFactors } from '../../lib/ports/factor-store.ts'
import { factorStoreContract } from './suites/factor-store-contract.ts'

interface Fault {
  name: string
  of(store: FactorStore): Partial<FactorStore>
  /** Cases that must fail, by the beginning of their name. */
  found: string[]
  /** True if no other case may fail. */
  only?: boolean
}

const isHeld = ({ totp, passkeys }: UserFactors, factorId: string): boolean =>
  [...totp, ...passkeys].some(({ id }) => id === factorId)

/** Faulty stores: some check first and write later, others ignore one sentence of the port. */
const FAULTS: readonly Fault[] = [
  {
    name: 'a code of an authenticator app that is checked and used in two steps',
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
    found: ['useTotp: accepts one of 50 parallel uses of a step'],
    only: true
  },
  {
    name: 'a step that is accepted again',
    of: (store) => ({
      async useTotp(use) {
        return await store.useTotp({ ...use, step: use.step + 1 })
      }
    }),
    found: ['useTotp: accepts a code of a newer step once']
  },
  {
    name: 'a disabled app that accepts a right code',
    of: (store) => ({
      useTotp: async (use) => {
        const outcome = await store.useTotp(use)
        return outcome === 'disabled' ? 'used' : outcome
      }
    }),
    found: [
      'countFailure: disables an app after max wrong codes, for right codes too',
      'useTotp: accepts a disabled app in known browsers only, and keeps it disabled'
    ],
    only: true
  },
  {
    name: 'an app that is disabled one wrong code too late',
    of: (store) => ({ countFailure: async ({ userId, max }) => await store.countFailure({ userId, max: max + 1 }) }),
    found: [
      'countFailure: disables an app after max wrong codes, for right codes too',
      'countFailure: disables an app in one of 50 parallel failures'
    ]
  },
  {
    name: 'wrong codes that are read and written in two steps',
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
    found: ['countFailure: disables an app in one of 50 parallel failures']
  },
  {
    name: 'a recovery code that is found and removed in two steps',
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
      'accepts one of 50 parallel uses of a recovery code',
      'accepts each recovery code once in parallel uses, and returns the number left'
    ]
  },
  {
    name: 'a recovery code that works for any user',
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
    found: ['accepts a recovery code once, for its user only']
  },
  {
    name: 'new recovery codes that leave the old ones',
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
    found: ['replaces all recovery codes with new ones']
  },
  {
    name: 'recovery codes without a factor',
    of: (store) => ({
      async replaceRecoveryCodes(userId, digests) {
        await store.replaceRecoveryCodes(userId, digests)
        return true
      }
    }),
    found: ['stores no recovery codes without a factor'],
    only: true
  },
  {
    name: 'an enrolment that checks for recovery codes in a separate step',
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
    found: ['stores the recovery codes of one of 20 parallel enrolments, and reports which one'],
    only: true
  },
  {
    name: 'an enrolment that counts and adds in two steps',
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
    found: ['adds as many of 50 parallel factors as the limit allows'],
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
    found: ['refuses a second factor with the same id or credential as a duplicate']
  },
  {
    name: 'a removal that checks the other factors in a separate step',
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
      'removeFactor: keeps one of the last two factors in parallel removals with keepOne',
      'removeFactor: keeps the recovery codes with keepOne when a passkey remains'
    ],
    only: true
  },
  {
    name: 'a disabled app that counts as a kept factor',
    of: (store) => ({
      async removeFactor(removal) {
        const { totp, passkeys } = await store.findFactors(removal.userId)
        return await store.removeFactor({ ...removal, keepOne: removal.keepOne && totp.length + passkeys.length === 1 })
      }
    }),
    found: ['removeFactor: keeps the last enabled factor with keepOne']
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
    found: [
      'stores no recovery codes without a factor',
      'removeFactor: removes the recovery codes with the last factor, disabled or not'
    ]
  },
  {
    name: 'a challenge that is found and claimed in two steps',
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
    found: ['usePasskey: accepts one of 50 parallel answers to a challenge'],
    only: true
  },
  {
    name: 'a challenge that every passkey of a user may answer once',
    of: (store) => ({
      usePasskey: async (use) => await store.usePasskey({ ...use, claim: `${use.claim} ${use.credentialId}` })
    }),
    found: [
      'usePasskey: accepts one answer to a challenge, from any passkey of the user',
      'usePasskey: accepts one of 50 parallel answers to a challenge'
    ]
  },
  {
    name: 'a challenge that a refused answer claims',
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
      'usePasskey: rejects a counter of 5 after 5',
      'usePasskey: rejects a counter of 4 after 5',
      'usePasskey: rejects a counter of 0 after 5'
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
    found: ['usePasskey: rejects a counter of 5 after 5']
  },
  {
    name: 'a claim that is swept too early',
    of: (store) => ({
      sweep: async (now) => {
        await store.sweep?.(now + 1)
      }
    }),
    found: ['usePasskey: remembers a claim until its end'],
    only: true
  },
  {
    name: 'a handle that the last claim wins',
    of: (store) => ({
      claimHandle: async (userId, candidate) => {
        await store.claimHandle(userId, candidate)
        return candidate
      }
    }),
    found: ['claims one permanent handle per user', 'returns the same handle to 50 parallel claims']
  },
  {
    name: 'a handle that finds passkeys of other users',
    of: (store) => ({
      async findByHandle(handle, credentialId) {
        const found =
          (await store.findByHandle(handle, credentialId)) ??
          (await store.findByHandle(handle, 'credential-1')) ??
          (await store.findByHandle(handle, 'credential-2'))
        return found === null ? null : { ...found, passkey: { ...found.passkey, credentialId } }
      }
    }),
    found: ['finds a user by handle and own passkey only, with all factors']
  },
  {
    name: 'a device epoch that stays when a factor is removed',
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
    found: ['changes the device epoch with each change of factors or two-step sign-in, but not on a use or rename']
  },
  {
    name: 'a device epoch that is read and written in two steps',
    of: (store) => ({
      async forgetDevices(userId) {
        const { deviceEpoch } = await store.findFactors(userId)
        await setImmediate()
        await store.forgetDevices(userId)
        return deviceEpoch + 1
      }
    }),
    found: ['sets a new device epoch in each parallel forgetDevices, also without a factor'],
    only: true
  },
  {
    name: 'a removal of all factors that removes the handle',
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
    found: ['removeFactorsOfUser: removes everything of that user except the handle']
  },
  {
    name: 'an answer of null for a user without factors',
    of: (store) => ({
      async findFactors(userId) {
        const factors = await store.findFactors(userId)
        return factors.deviceEpoch === 0 && factors.handle === null ? (null as never) : factors
      }
    }),
    found: ['returns an empty set for a user without factors']
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
