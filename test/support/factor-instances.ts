import type { FactorStore } from '../../lib/ports/factor-store.ts'
import type { RecordStore } from '../../lib/ports/record-store.ts'
import { recordFactorStore } from '../../lib/records/factor-store.ts'
import { delayed } from '../../lib/testing/delayed.ts'
import { losingCommits, takingTurns } from './record-instances.ts'

const instance = (records: RecordStore): Required<FactorStore> =>
  recordFactorStore(delayed({ ...records, evicts: false }), { remembered: 100 })

/** Instances that remember records, with delays between the steps. Each is given its own way to the same records. */
export const instancesOn = (...records: [RecordStore, ...RecordStore[]]): Required<FactorStore> => {
  const [first, ...others] = records
  return takingTurns([instance(first), ...others.map(instance)])
}

/** An instance that remembers records, with delays between the steps and lost commits and answers. */
export const losingInstance = (records: RecordStore): Required<FactorStore> => instance(losingCommits(records))
