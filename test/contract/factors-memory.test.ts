import t from '../support/tap.ts'
import { memoryFactorStore } from '../../lib/adapters/memory/record-store.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { factorStoreContract } from './suites/factor-store-contract.ts'

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)

runContract(
  factorStoreContract(async () => ({ store: memoryFactorStore() })),
  test('memory')
)
