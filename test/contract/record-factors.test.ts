/**
 * Second factors over each record store where instances and the network get in its way: four instances that overtake
 * each other and remember records, and lost answers. The plain variants are in the file of each store.
 */
import t from '../support/tap.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { factorStoreContract } from '../../lib/testing/factor-store-contract.ts'
import { factorInstances, losingFactors } from '../support/factor-instances.ts'
import { recordPlaces } from './support/record-places.ts'

for (const { name, empty } of await recordPlaces()) {
  runContract(
    factorStoreContract(async () => ({ store: factorInstances(await empty()) })),
    (title, run) => t.test(`${name}, four instances: ${title}`, run)
  )
  runContract(
    factorStoreContract(async () => ({ store: losingFactors((await empty())[0]) })),
    (title, run) => t.test(`${name}, lost answers: ${title}`, run)
  )
}
