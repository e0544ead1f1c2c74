/**
 * The suites of the state and of second factors, with several instances and a network that delays and loses answers.
 */
import t from '../../support/tap.ts'
import type { RecordStore } from '../../../lib/ports/record-store.ts'
import { recordFactorStore } from '../../../lib/records/factor-store.ts'
import { recordState } from '../../../lib/records/state.ts'
import { runContract } from '../../../lib/testing/contract.ts'
import { delayed, losesAnswers } from '../../../lib/testing/doubles.ts'
import { factorStoreContract } from '../suites/factor-store-contract.ts'
import { stateContract } from '../suites/state-contract.ts'
import { inTurn } from './instances.ts'
import { recordPlaces } from './record-places.ts'

type Instances = readonly [RecordStore, ...RecordStore[]]

/** The answer of every third commit is lost, and every fifth commit before it is done. */
const LOSSES = { methods: ['commit'], everyAnswer: 3, everyCall: 5 }
const REMEMBERED = { remembered: 10_000 }

const losing: Array<{ lost(): number }> = []

const VARIANTS = {
  plain: ([store]: Instances): Instances => [store],
  delayed: ([store]: Instances): Instances => [delayed(store)],
  'four instances': ([first, ...others]: Instances): Instances => [
    delayed(first),
    ...others.map((one) => delayed(one))
  ],
  'lost answers': ([store]: Instances): Instances => {
    const losingStore = losesAnswers(store, LOSSES)
    losing.push(losingStore)
    return [losingStore]
  }
}

/** Runs both suites in each variant on each store that `isChosen`. No outcome may change. */
export async function runVariants(isChosen: (place: string, variant: keyof typeof VARIANTS) => boolean): Promise<void> {
  for (const { name, expiresByItself, empty } of await recordPlaces())
    for (const variant of ['plain', 'delayed', 'four instances', 'lost answers'] as const) {
      if (!isChosen(name, variant)) continue
      const onInstances = async <Port extends object>(make: (store: RecordStore) => Port): Promise<Port> => {
        const [first, ...others] = VARIANTS[variant](await empty())
        return inTurn([make(first), ...others.map(make)])
      }
      const test = (title: string, run: () => Promise<void>): unknown => t.test(`${name}, ${variant}: ${title}`, run)
      runContract(
        stateContract(async () => ({
          state: await onInstances((store) => recordState(store, REMEMBERED)),
          expiresByItself
        })),
        test
      )
      // The Redis of the tests evicts nothing.
      runContract(
        factorStoreContract(async () => ({
          store: await onInstances((store) => recordFactorStore({ ...store, evicts: false }, REMEMBERED))
        })),
        test
      )
    }
  t.test('loses answers in the variant with lost answers', async (t) => {
    if (losing.length > 0) t.ok(losing.reduce((sum, store) => sum + store.lost(), 0) > losing.length / 2)
  })
}
