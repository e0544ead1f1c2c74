/** The protections of the transactor. Each case fails without one of them. */
import { setImmediate } from 'node:timers/promises'
import { memoryRecords } from '../../../lib/adapters/memory/record-store.ts'
import type { RecordStore } from '../../../lib/ports/record-store.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import { recordState } from '../../../lib/records/state.ts'
import { family, MINUTE, named, next, T0, use } from '../../contract/suites/token-fixtures.ts'
import t from '../../support/tap.ts'

const USER = 'user-19367'
const PARTITION = partitionOf(USER)
const remembering = (store: RecordStore) => recordState(store, { remembered: 100 })

t.test('answers from a fresh read, although the records are remembered', async (t) => {
  const store = memoryRecords()
  const [one, other] = [remembering(store), remembering(store)]
  await one.tokens.createFamily(family())
  t.equal((await one.tokens.useToken(use())).outcome, 'used')
  t.equal(await other.tokens.revokeFamily(named('sid-1')), true)
  t.equal(await one.tokens.findFamily(named('sid-1'), T0), null)
  t.equal((await one.tokens.useToken(use())).outcome, 'unknown')
})

t.test('does not refuse a call on the basis of a remembered record', async (t) => {
  const store = memoryRecords()
  const [one, other] = [remembering(store), remembering(store)]
  await one.tokens.createFamily(family())
  const at = (minutes: number) => use({ now: T0 + minutes * MINUTE, idleExpiresAt: T0 + (minutes + 29) * MINUTE })
  t.equal((await other.tokens.useToken(at(29))).outcome, 'used')
  t.equal((await one.tokens.useToken(at(40))).outcome, 'used', 'it remembers a family that ended at 30')
})

t.test('lists a consistent snapshot of the families while another instance ends one and starts one', async (t) => {
  const store = memoryRecords()
  const other = recordState(store)
  let reads = 0
  const between: RecordStore = {
    ...store,
    async read(partition, keys) {
      const found = await store.read(partition, keys)
      // After the index was read, one family ends and another begins.
      if (++reads === 1) {
        await other.tokens.revokeFamily(named('sid-1'))
        await other.tokens.createFamily(family({ sid: named('sid-3') }))
      }
      return found
    }
  }
  for (const sid of ['sid-1', 'sid-2']) await other.tokens.createFamily(family({ sid: named(sid) }))
  const listed = await recordState(between).tokens.listFamiliesOfUser(USER, T0)
  t.same(listed.map(({ sid }) => sid).toSorted(), [named('sid-2'), named('sid-3')])
})

t.test('recognizes a commit whose answer was lost, even after another instance wrote', async (t) => {
  const store = memoryRecords()
  const other = recordState(store)
  let isLost = true
  const losing: RecordStore = {
    ...store,
    async commit(partition, writes, now) {
      const found = await store.commit(partition, writes, now)
      if (!isLost) return found
      isLost = false
      await other.tokens.useToken(use({ digest: 'digest-1', now: T0 + MINUTE }))
      throw Object.assign(new Error('lost'), { isOutage: true })
    }
  }
  await other.tokens.createFamily(family())
  t.equal((await recordState(losing).tokens.rotateToken(use(), next(1))).outcome, 'rotated')
})

t.test('recognizes a removal whose answer was lost', async (t) => {
  const store = memoryRecords()
  let isLost = true
  const losing: RecordStore = {
    ...store,
    async commit(partition, writes, now) {
      const found = await store.commit(partition, writes, now)
      if (!isLost) return found
      isLost = false
      throw Object.assign(new Error('lost'), { isOutage: true })
    }
  }
  await recordState(store).tokens.createFamily(family())
  t.equal(await recordState(losing).tokens.revokeFamily(named('sid-1')), true)
})

t.test('combines the calls of one turn into one commit', async (t) => {
  const store = memoryRecords()
  let commits = 0
  const counting: RecordStore = {
    ...store,
    async commit(...args) {
      commits += 1
      await setImmediate()
      return await store.commit(...args)
    }
  }
  const { tokens } = recordState(counting)
  await tokens.createFamily(family())
  commits = 0
  const outcomes = await Promise.all(Array.from({ length: 50 }, (_, at) => tokens.rotateToken(use(), next(at + 1))))
  t.equal(outcomes.filter(({ outcome }) => outcome === 'rotated').length, 1)
  t.equal(commits, 1)
})

for (const lost of ['i', 'g']) {
  t.test(`ignores earlier families after the server has evicted record ${lost}`, async (t) => {
    const store: RecordStore = { ...memoryRecords(), evicts: true }
    const { tokens } = remembering(store)
    await tokens.createFamily(family())
    t.equal((await tokens.useToken(use())).outcome, 'used')
    await store.commit(PARTITION, [{ key: lost, expect: '*', change: 'delete' }], T0)
    t.same(await tokens.revokeFamiliesOfUser(USER), [])
    t.equal((await tokens.useToken(use())).outcome, 'unknown')
    await tokens.createFamily(family({ sid: named('sid-2') }))
    t.equal(await tokens.findFamily(named('sid-1'), T0), null)
    t.ok(await tokens.findFamily(named('sid-2'), T0))
  })
}
