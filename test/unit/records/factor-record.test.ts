import t from '../../support/tap.ts'
import { memoryRecords } from '../../../lib/adapters/memory/record-store.ts'
import { ANY, NEVER, type RecordStore } from '../../../lib/ports/record-store.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import { recordFactorStore } from '../../../lib/records/factor-store.ts'
import { ALICE, codesOf, handleOf, passkeyAddition, totpAddition } from '../../contract/suites/factor-fixtures.ts'
import { factorOperations } from '../../contract/support/factor-operations.ts'

type Fields = Record<string, unknown>

const PARTITION = partitionOf(ALICE)

/** Replaces the value of Alice's record. */
async function damage(records: RecordStore, damaged: (value: string) => string): Promise<void> {
  const [record] = await records.read(PARTITION, ['a'])
  const change = { kind: 'factors', userId: ALICE, version: 'a-new-version-', expiresAt: NEVER }
  const value = damaged(record?.value ?? '')
  await records.commit(PARTITION, [{ key: 'a', expect: ANY, change: { ...change, value } }], 0)
}

const changed = (change: (value: Fields) => void) => (value: string) => {
  const decoded = JSON.parse(value) as Fields
  change(decoded)
  return JSON.stringify(decoded)
}
const firstOf = (value: Fields, kind: string): Fields => (value[kind] as Fields[])[0] ?? {}

async function withFactors(): Promise<{ records: RecordStore; deviceEpoch: number }> {
  const records = memoryRecords()
  const store = recordFactorStore(records)
  await store.claimHandle(ALICE, handleOf('a'))
  await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
  await store.addPasskey(passkeyAddition())
  return { records, deviceEpoch: (await store.findFactors(ALICE)).deviceEpoch }
}

const DAMAGES: Array<[title: string, damaged: (value: string) => string]> = [
  ['that is not JSON', () => 'text'],
  ['that is empty', () => '{}'],
  ['that is not an object', () => '"text"'],
  ['of a later release', changed((value) => (value['form'] = 2))],
  ['with a factor that lacks a field', changed((value) => delete firstOf(value, 'totp')['lastStep'])],
  ['with a factor of other types', changed((value) => (firstOf(value, 'passkeys')['signCount'] = 'five'))],
  ['with a factor that is null', changed((value) => (value['totp'] = [null]))],
  ['without factors', changed((value) => (value['totp'] = null))],
  ['with other codes', changed((value) => (value['codes'] = [1]))],
  ['with another epoch', changed((value) => (value['epoch'] = '1'))]
]

for (const [title, damaged] of DAMAGES)
  t.test(`rejects every operation on a record ${title}, until all factors are removed`, async (t) => {
    const { records, deviceEpoch } = await withFactors()
    await damage(records, damaged)
    const store = recordFactorStore(records)
    for (const [name, call] of factorOperations(store))
      if (name !== 'removeFactorsOfUser') await t.rejects(call(), TypeError, name)
    t.equal(await store.removeFactorsOfUser(ALICE), 0)
    const after = await store.findFactors(ALICE)
    t.match(after, { handle: null, totp: [], passkeys: [], recoveryCodesLeft: 0 })
    t.ok(after.deviceEpoch > deviceEpoch)
    t.match(await store.addTotp(totpAddition()), { outcome: 'added' })
  })
