import t from '../../support/tap.ts'
import { memoryRecords } from '../../../lib/adapters/memory/record-store.ts'
import { recordFactorStore } from '../../../lib/records/factor-store.ts'
import { recordState } from '../../../lib/records/state.ts'

t.test('refuses an incomplete record store, and names the missing or mistyped member', async (t) => {
  for (const make of [recordState, recordFactorStore] as Array<(store: never) => unknown>) {
    for (const [store, problem] of [
      [undefined, /takes a RecordStore, and got undefined/],
      [null, /got null/],
      ['records', /got string/],
      [{}, /kind must be a string, and is missing/],
      [{ ...memoryRecords(), durable: undefined }, /durable must be a boolean, and is missing/],
      [{ ...memoryRecords(), evicts: 0 }, /evicts must be a boolean, and is number/],
      [{ ...memoryRecords(), commit: undefined }, /commit must be a function, and is missing/]
    ] as const)
      t.throws(() => make(store as never), { name: 'TypeError', message: problem }, `${make.name} ${String(problem)}`)
    t.doesNotThrow(() => make(memoryRecords() as never))
  }
})
