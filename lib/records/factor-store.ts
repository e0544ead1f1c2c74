import { invalidOptions } from '../errors.ts'
import type { FactorStore, PasskeyFactor, TotpFactor } from '../ports/factor-store.ts'
import { NEVER, type RecordStore } from '../ports/record-store.ts'
import { noOthers } from '../protocol/bounds.ts'
import { partitionOf } from '../protocol/digest.ts'
import { isObject } from '../protocol/json.ts'
import { machineNow } from './chance.ts'
import { checkRecordStore, transactor } from './transact.ts'
import * as rules from './factors.ts'
import { type HeldFactors, noFactors } from './factors.ts'
import { FACTORS, partitionOfName, passkeyClaimKey, requirePartition, SEAL, SERVICE, type View } from './view.ts'
import { keepSeal } from './service-rules.ts'

export interface RecordFactorStoreOptions {
  /**
   * The maximum number of records that this process remembers, so that the use of a factor takes one trip to the store
   * instead of two. The commit compares versions, so an outdated record does no harm. Default: 1,000 for a shared
   * store, 0 for any other. 0: none.
   */
  remembered?: number | undefined
}

/** The default of `remembered` for a shared store. A sign-in reads the factors of its user and soon uses a factor. */
const REMEMBERED = 1000

/**
 * Second factors over a store of records, such as one of a host. One record contains all factors of a user, so a change
 * is one commit. The store must not be that of a state, because the factors need a table or a prefix of their own.
 * Throws if the store evicts, because a user whose factors are lost would sign in with the password alone.
 */
export function recordFactorStore(
  store: RecordStore,
  { remembered, ...others }: RecordFactorStoreOptions = {}
): Required<FactorStore> {
  checkRecordStore('recordFactorStore', store)
  noOthers('recordFactorStore', others)
  if (store.evicts)
    throw invalidOptions(
      `recordFactorStore takes no store that may throw records away by itself, and "${store.kind}" has evicts: true. ` +
        'Keep the second factors in a database.'
    )
  const { transact, look } = transactor(store, { remembered: remembered ?? (store.shared ? REMEMBERED : 0) })

  const save = (view: View, held: rules.HeldFactors): void => {
    view.put(FACTORS, { kind: 'factors', userId: held.userId, value: held, expiresAt: NEVER })
  }
  const change = <Outcome>(
    userId: string,
    decide: (held: rules.HeldFactors) => rules.FactorDecision<Outcome>
  ): Promise<Outcome> =>
    transact(partitionOf(userId), [FACTORS], (view) => {
      const { outcome, held } = decide(heldBy(userId, view.get(FACTORS)))
      if (held !== undefined) save(view, held)
      return outcome
    })

  return {
    kind: store.kind,
    durable: store.durable,
    async prepare() {
      await store.prepare?.()
    },
    pending: async () => (await store.pending?.()) ?? [],
    sweep: (now) => store.sweep(now),

    findFactors: (userId) =>
      look(partitionOf(userId), [FACTORS], (view) => rules.publicFactors(heldBy(userId, view.get(FACTORS)))),
    findByHandle: (handle, credentialId) =>
      look(partitionOfName(handle), [FACTORS], (view) => {
        const value = view.get(FACTORS)
        return value === null ? null : rules.byHandle(heldIn(value), handle, credentialId)
      }),
    async claimHandle(userId, candidate) {
      requirePartition(candidate, userId)
      return await change(userId, (held) => rules.claimHandle(held, candidate))
    },

    addTotp: ({ userId, ...addition }) => change(userId, (held) => rules.addFactor(held, addition)),
    addPasskey: ({ userId, ...addition }) => change(userId, (held) => rules.addFactor(held, addition)),

    useTotp: ({ userId, ...use }) => change(userId, (held) => rules.useTotp(held, use)),
    usePasskey({ userId, claim, claimExpiresAt, ...use }) {
      const claimKey = passkeyClaimKey(claim)
      const decide = (view: View): ReturnType<typeof rules.usePasskey>['outcome'] => {
        const [value, claimed] = view.all([FACTORS, claimKey])
        const { outcome, held } = rules.usePasskey(heldBy(userId, value), claimed !== null, use)
        if (held !== undefined) {
          save(view, held)
          view.put(claimKey, { kind: 'passkey_claim', userId, value: 1, expiresAt: claimExpiresAt })
        }
        return outcome
      }
      return transact(partitionOf(userId), [FACTORS, claimKey], decide, { now: use.now, fresh: [claimKey] })
    },
    useRecoveryCode: ({ userId, digest }) => change(userId, (held) => rules.useRecoveryCode(held, digest)),
    replaceRecoveryCodes: (userId, digests) => change(userId, (held) => rules.replaceRecoveryCodes(held, digests)),
    setTwoStep: ({ userId, ...wanted }) => change(userId, (held) => rules.setTwoStep(held, wanted)),
    countFailure: ({ userId, ...failure }) => change(userId, (held) => rules.countFailure(held, failure)),

    removeFactor: ({ userId, ...removal }) => change(userId, (held) => rules.removeFactor(held, removal)),
    removeProvisional: (userId) => change(userId, rules.removeProvisional),
    renameFactor: ({ userId, ...naming }) => change(userId, (held) => rules.renameFactor(held, naming)),
    forgetDevices: (userId) => change(userId, rules.forgetDevices),
    removeFactorsOfUser: (userId) =>
      transact(partitionOf(userId), [FACTORS], (view) => {
        const value = view.get(FACTORS)
        // Also replaces an unreadable record, so that its user can start again. The current time as the epoch is
        // greater than any counted epoch, so no device is remembered any more.
        const { outcome, held }: rules.FactorDecision<number> =
          value === null || isHeld(value)
            ? rules.removeFactors(heldBy(userId, value))
            : { outcome: 0, held: { ...rules.noFactors(userId), epoch: machineNow() } }
        if (held !== undefined) save(view, held)
        return outcome
      }),

    keepSeal: (next, former) => transact(SERVICE, [SEAL], (view) => keepSeal(view, next, former))
  }
}

type Types<Factor> = Partial<Record<keyof Factor, 'string' | 'number' | 'boolean'>>

/** The fields on which the rules decide, with their types. */
const TOTP: Types<TotpFactor> = {
  id: 'string',
  sealedSecret: 'string',
  lastStep: 'number',
  failures: 'number',
  knownFailures: 'number',
  disabled: 'boolean',
  provisional: 'boolean'
}
const PASSKEY: Types<PasskeyFactor> = {
  id: 'string',
  credentialId: 'string',
  signCount: 'number',
  backupEligible: 'boolean',
  provisional: 'boolean'
}

const areAll = (values: unknown, types: Readonly<Record<string, string>>): boolean =>
  Array.isArray(values) &&
  values.every(
    (value) => isObject(value) && Object.entries(types).every(([field, type]) => typeof value[field] === type)
  )

/** True if this release can read the value. */
function isHeld(value: unknown): value is HeldFactors {
  if (!isObject(value)) return false
  const { form, userId, handle, codes, twoStepChosen, epoch } = value
  return (
    form === 1 &&
    typeof userId === 'string' &&
    (handle === null || typeof handle === 'string') &&
    areAll(value['totp'], TOTP) &&
    areAll(value['passkeys'], PASSKEY) &&
    Array.isArray(codes) &&
    codes.every((code) => typeof code === 'string') &&
    typeof twoStepChosen === 'boolean' &&
    Number.isSafeInteger(epoch)
  )
}

/**
 * The factors in this record. Throws if the record can't be read: a user whose factors are unreadable must not pass for
 * a user without factors.
 */
function heldIn(value: unknown): HeldFactors {
  if (!isHeld(value)) throw new TypeError('A record of second factors has a form that this release cannot read.')
  return value
}

/** The factors of this user. A user without a record has none. Throws if the record belongs to another user. */
function heldBy(userId: string, value: unknown): HeldFactors {
  if (value === null) return noFactors(userId)
  const held = heldIn(value)
  if (held.userId !== userId) throw new TypeError('A record of second factors belongs to another user.')
  return held
}
