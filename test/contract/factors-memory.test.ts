import t from '../support/tap.ts'
import { memoryFactorStore } from '../../lib/adapters/memory/factor-store.ts'
import { memoryRecords } from '../../lib/adapters/memory/record-store.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { factorStoreContract } from '../../lib/testing/factor-store-contract.ts'
import { instancesOn, losingInstance } from '../support/factor-instances.ts'

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)

runContract(
  factorStoreContract(async () => ({ store: memoryFactorStore() })),
  test('memory')
)
runContract(
  factorStoreContract(async () => ({ store: losingInstance(memoryRecords()) })),
  test('memory that loses answers')
)
runContract(
  factorStoreContract(async () => {
    const records = memoryRecords()
    return { store: instancesOn(records, records) }
  }),
  test('two instances on one memory')
)
