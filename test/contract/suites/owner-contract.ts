import { equal } from 'node:assert/strict'
import { caseOf, parallel } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { T0 } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

/** The owner of a state. Part of `stateContract`. A state without the method has nothing to test. */
export function ownerCases(make: () => Promise<StateSubject>): ContractCase[] {
  return [
    caseOf(make, 'owner: keeps the first issuer that claims a state', async ({ state }) => {
      if (state.claimFor === undefined) return
      equal(await state.claimFor('digest-of-a'), 'digest-of-a')
      equal(await state.claimFor('digest-of-b'), 'digest-of-a')
      await state.sweep(T0 + 1e12)
      equal(await state.claimFor('digest-of-a'), 'digest-of-a')
    }),
    caseOf(make, 'owner: returns the same owner to 50 parallel claims', async ({ state }) => {
      if (state.claimFor === undefined) return
      const owners = await parallel(50, async (index) => await state.claimFor?.(`digest-${index}`))
      equal(new Set(owners).size, 1)
    })
  ]
}
