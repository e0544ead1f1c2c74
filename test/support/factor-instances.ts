import type { FactorStore } from '../../lib/ports/factor-store.ts'
import type { RecordStore } from '../../lib/ports/record-store.ts'
import { recordFactorStore } from '../../lib/records/factor-store.ts'
import { delayed, losesAnswers } from '../../lib/testing/doubles.ts'
import { inTurn } from '../contract/support/instances.ts'

/** An instance that remembers records. A Redis of the tests throws nothing away. */
const instance = (records: RecordStore): Required<FactorStore> =>
  recordFactorStore({ ...records, evicts: false }, { remembered: 100 })

/** Instances that overtake each other, each with its own connection to the same records. */
export const factorInstances = ([first, ...others]: readonly [RecordStore, ...RecordStore[]]): Required<FactorStore> =>
  inTurn([instance(delayed(first)), ...others.map((records) => instance(delayed(records)))])

/** The answer of every third commit is lost, and every fifth commit before it is done. */
export const losingFactors = (records: RecordStore): Required<FactorStore> =>
  instance(losesAnswers({ ...records }, { methods: ['commit'], everyAnswer: 3, everyCall: 5 }))
