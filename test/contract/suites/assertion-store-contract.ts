import { equal } from 'node:assert/strict'
import type { AssertionStore } from '../../../lib/ports/state.ts'
import { digest } from '../../../lib/protocol/digest.ts'
import { caseOf, parallel } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { MINUTE, T0 } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

const one = digest('one')

/** Assertions that count once. Part of `stateContract`; a state without them has nothing to keep. */
export function assertionCases(make: () => Promise<StateSubject>): ContractCase[] {
  const define = (
    name: string,
    check: (assertions: AssertionStore, subject: StateSubject) => Promise<void>
  ): ContractCase =>
    caseOf(make, `assertions: ${name}`, async (subject) => {
      if (subject.state.assertions !== undefined) await check(subject.state.assertions, subject)
    })

  return [
    define('answers fresh to the first claim, and replayed to every later one', async (assertions) => {
      equal(await assertions.claim(one, T0 + MINUTE), 'fresh')
      equal(await assertions.claim(one, T0 + MINUTE), 'replayed')
      equal(await assertions.claim(one, T0 + 9 * MINUTE), 'replayed', 'whatever end they name')
      equal(await assertions.claim(digest('two'), T0 + MINUTE), 'fresh', 'of one assertion alone')
    }),
    define('answers fresh to one of 50 parallel claims', async (assertions) => {
      const outcomes = await parallel(50, async () => await assertions.claim(one, T0 + MINUTE))
      equal(outcomes.filter((outcome) => outcome === 'fresh').length, 1)
      equal(outcomes.filter((outcome) => outcome === 'replayed').length, 49)
    }),
    define('answers fresh to 50 parallel claims of different assertions', async (assertions) => {
      const outcomes = await parallel(50, async (index) => await assertions.claim(digest(String(index)), T0 + MINUTE))
      equal(outcomes.filter((outcome) => outcome === 'fresh').length, 50)
    }),
    define('distinguishes digests that differ in the case of one letter', async (assertions) => {
      equal(await assertions.claim(`aB${one.slice(2)}`, T0 + MINUTE), 'fresh')
      equal(await assertions.claim(`ab${one.slice(2)}`, T0 + MINUTE), 'fresh')
    }),
    define('sweeps only expired claims', async (assertions, { state, expiresByItself }) => {
      await assertions.claim(one, T0 + MINUTE)
      await assertions.claim(digest('two'), T0)
      await state.sweep(T0 + MINUTE - 1)
      equal(await assertions.claim(one, T0 + MINUTE), 'replayed')
      if (expiresByItself !== true)
        equal(await assertions.claim(digest('two'), T0 + MINUTE), 'fresh', 'what has expired is removed')
    })
  ]
}
