import t from '../support/tap.ts'
import { memoryAttemptStore } from '../../lib/adapters/memory/attempt-store.ts'
import { attemptStoreContract } from '../../lib/testing/attempt-store-contract.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/doubles.ts'

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)

runContract(
  attemptStoreContract(async (clock) => ({ store: memoryAttemptStore({ clock }) })),
  test('RL memory')
)
runContract(
  attemptStoreContract(async (clock) => ({ store: delayed(memoryAttemptStore({ clock })) })),
  test('RL delayed memory')
)
