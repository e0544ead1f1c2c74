/**
 * The state and the second factors over each record store where instances and the network get in its way: four instances that overtake each
 * other and remember records, and lost answers. The plain variants are in the file of each store.
 */
import t from '../support/tap.ts'
import { memoryRecords } from '../../lib/adapters/memory/record-store.ts'
import { isOutage } from '../../lib/errors.ts'
import { recordFactorStore } from '../../lib/records/factor-store.ts'
import { recordState } from '../../lib/records/state.ts'
import { NEVER, type RecordStore } from '../../lib/ports/record-store.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/delayed.ts'
import { factorStoreContract } from '../../lib/testing/factor-store-contract.ts'
import { stateContract } from '../../lib/testing/state-contract.ts'
import { losesAnswers } from '../support/loses-answers.ts'
import { inTurn } from './support/instances.ts'
import { recordPlaces } from './support/record-places.ts'

const REMEMBERED = 10_000
/** The answer of every third commit is lost, and every fifth commit before it is done. */
const LOSSES = { methods: ['commit'], answer: 3, call: 5 }

type Instances = readonly [RecordStore, ...RecordStore[]]
const each = ([first, ...others]: Instances, change: (store: RecordStore) => RecordStore): Instances => [
  change(first),
  ...others.map(change)
]

const VARIANTS: Readonly<Record<string, (stores: Instances) => Instances>> = {
  'four instances': (stores) => each(stores, (store) => delayed(store)),
  'lost answers': ([store]) => [losesAnswers(store, LOSSES)]
}

t.test('answers are lost before and after a commit, and a commit that is sent again gets through', async (t) => {
  const store = losesAnswers(memoryRecords(), LOSSES)
  const outcomes: string[] = []
  for (let turn = 1; turn <= 6; turn++) {
    const change = { kind: 'k', userId: null, version: `version-${turn}`, value: '1', expiresAt: NEVER }
    const writes = [{ key: `f:${turn}`, expect: null, change }]
    const outcome = async (): Promise<string> =>
      await store.commit('p', writes, 0).then(
        (found) => (found === null ? 'done' : `found ${found[0]?.version}`),
        (error: unknown) => (isOutage(error) ? 'lost' : 'failed')
      )
    const first = await outcome()
    outcomes.push(first === 'lost' ? `lost, then ${await outcome()}` : first)
  }
  t.strictSame(outcomes, [
    'done',
    'done',
    'lost, then found version-3',
    'done',
    'lost, then done',
    'lost, then found version-6'
  ])
  t.equal(store.lost(), 3)
})

for (const { name, expiresByItself, empty } of await recordPlaces())
  for (const [variant, changed] of Object.entries(VARIANTS)) {
    const test = (title: string, run: () => Promise<void>) => t.test(`${name}, ${variant}: ${title}`, run)
    runContract(
      stateContract(async () => {
        const [first, ...others] = changed(await empty())
        const stateOf = (store: RecordStore) => recordState(store, { remembered: REMEMBERED })
        return { state: inTurn([stateOf(first), ...others.map(stateOf)]), expiresByItself }
      }),
      test
    )
    runContract(
      factorStoreContract(async () => {
        const [first, ...others] = changed(await empty())
        // `redisFactorStore` looks whether the server evicts.
        const storeOf = (store: RecordStore) =>
          recordFactorStore({ ...store, evicts: false }, { remembered: REMEMBERED })
        return { store: inTurn([storeOf(first), ...others.map(storeOf)]) }
      }),
      test
    )
  }
