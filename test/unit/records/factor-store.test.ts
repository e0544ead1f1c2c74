import t from '../../support/tap.ts'
import { memoryRecords } from '../../../lib/adapters/memory/record-store.ts'
import type { RecordStore } from '../../../lib/ports/record-store.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import { recordFactorStore } from '../../../lib/records/factor-store.ts'
import {
  ALICE,
  BOB,
  codesOf,
  digestOf,
  handleOf,
  NOTHING,
  passkey,
  passkeyAddition,
  passkeyUse,
  totpAddition,
  totpUse
} from '../../contract/suites/factor-fixtures.ts'

/** Counts the trips to the records. */
function counted(): { records: RecordStore; trips(): string[] } {
  const records = memoryRecords()
  let made: string[] = []
  return {
    records: {
      ...records,
      async read(partition, keys) {
        made.push('read')
        return await records.read(partition, keys)
      },
      async commit(partition, writes, now) {
        made.push('commit')
        return await records.commit(partition, writes, now)
      }
    },
    trips() {
      const trips = made
      made = []
      return trips
    }
  }
}

t.test('recordFactorStore rejects a store that evicts', async (t) => {
  t.throws(() => recordFactorStore({ ...memoryRecords(), kind: 'cache', evicts: true }), {
    name: 'StartError',
    code: 'FST_AUTHORITY_INVALID_OPTIONS',
    message: /"cache" has evicts: true/
  })
})

t.test('recordFactorStore takes durable from its record store, and prepares and sweeps it', async (t) => {
  const calls: unknown[] = []
  const store = recordFactorStore({
    ...memoryRecords(),
    kind: 'mine',
    durable: true,
    async prepare() {
      calls.push('prepare')
    },
    sweep(now) {
      calls.push(now)
    }
  })
  t.match(store, { kind: 'mine', durable: true })
  await store.prepare()
  await store.sweep(7)
  t.strictSame(calls, ['prepare', 7])
  await t.resolves(recordFactorStore(memoryRecords()).prepare())
})

t.test('uses a factor in one commit without a read if the record is remembered', async (t) => {
  const { records, trips } = counted()
  await recordFactorStore(records).addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
  await recordFactorStore(records).addPasskey(passkeyAddition())
  trips()
  const store = recordFactorStore(records, { remembered: 10 })
  await store.findFactors(ALICE)
  t.strictSame(trips(), ['read'])
  for (const use of [
    () => store.useTotp(totpUse()),
    () => store.usePasskey(passkeyUse()),
    () => store.useRecoveryCode({ userId: ALICE, digest: digestOf('a 0') })
  ]) {
    await use()
    t.strictSame(trips(), ['commit'])
  }
})

t.test('refuses a factor and reads factors only after a fresh read', async (t) => {
  const { records, trips } = counted()
  const [one, other] = [recordFactorStore(records, { remembered: 10 }), recordFactorStore(records, { remembered: 10 })]
  await one.claimHandle(ALICE, handleOf('a'))
  await one.addPasskey(passkeyAddition())
  t.equal((await other.findByHandle(handleOf('a'), 'credential-1'))?.userId, ALICE)
  await one.removeFactorsOfUser(ALICE)
  t.strictSame((await other.findFactors(ALICE)).passkeys, [])
  t.equal(await other.findByHandle(handleOf('a'), 'credential-1'), null)
  t.strictSame(await other.usePasskey(passkeyUse()), { outcome: 'unknown' })
  await one.addPasskey(passkeyAddition())
  t.strictSame(await other.usePasskey(passkeyUse()), { outcome: 'used', regressed: false })
  trips()
  t.strictSame(await other.usePasskey(passkeyUse()), { outcome: 'replayed' })
  t.strictSame(trips(), ['read'])
})

t.test('accepts a passkey challenge once when two instances use it at the same time', async (t) => {
  const records = memoryRecords()
  const [one, other] = [recordFactorStore(records, { remembered: 10 }), recordFactorStore(records, { remembered: 10 })]
  await one.addPasskey(passkeyAddition())
  await other.findFactors(ALICE)
  const outcomes = await Promise.all([one, other].map(async (store) => (await store.usePasskey(passkeyUse())).outcome))
  t.strictSame(outcomes.toSorted(), ['replayed', 'used'])
})

t.test('returns copies of the remembered factors', async (t) => {
  const store = recordFactorStore(memoryRecords(), { remembered: 10 })
  await store.claimHandle(ALICE, handleOf('a'))
  await store.addPasskey(passkeyAddition())
  const [found, byHandle] = [await store.findFactors(ALICE), await store.findByHandle(handleOf('a'), 'credential-1')]
  found.passkeys[0]?.transports.push('nfc')
  byHandle?.passkey.transports.push('nfc')
  byHandle?.factors.passkeys.pop()
  await store.renameFactor({ userId: ALICE, factorId: 'passkey-1', name: 'new' })
  t.strictSame((await store.findFactors(ALICE)).passkeys, [passkey({ name: 'new' })])
})

t.test('keeps the factors of a user in one record, with kind and user for operators', async (t) => {
  const drafts: unknown[] = []
  const records = memoryRecords()
  const store = recordFactorStore({
    ...records,
    async commit(partition, writes, now) {
      for (const { key, change } of writes)
        if (typeof change === 'object')
          drafts.push([partition, key, change.kind, change.userId, change.expiresAt === Number.MAX_SAFE_INTEGER])
      return await records.commit(partition, writes, now)
    }
  })
  await store.claimHandle(ALICE, handleOf('a'))
  await store.addPasskey(passkeyAddition())
  await store.usePasskey(passkeyUse())
  const factors = [partitionOf(ALICE), 'a', 'factors', ALICE, true]
  t.strictSame(drafts, [
    factors,
    factors,
    factors,
    [partitionOf(ALICE), `q:${digestOf('challenge')}`, 'passkey_claim', ALICE, false]
  ])
})

t.test('rejects calls for a user if the store returns the record of another user', async (t) => {
  const records = memoryRecords()
  const store = recordFactorStore({
    ...records,
    read: (_, keys) => records.read(partitionOf(ALICE), keys),
    commit: (_, writes, now) => records.commit(partitionOf(ALICE), writes, now)
  })
  t.strictSame(await store.findFactors(BOB), NOTHING)
  await store.addTotp(totpAddition())
  const calls: Array<() => Promise<unknown>> = [
    () => store.findFactors(BOB),
    () => store.addTotp(totpAddition({ userId: BOB })),
    () => store.usePasskey(passkeyUse({ userId: BOB })),
    () => store.removeFactorsOfUser(BOB)
  ]
  for (const call of calls) await t.rejects(call(), TypeError)
  t.equal((await store.findFactors(ALICE)).totp.length, 1)
})
