import { hostFactorStore } from '../../../lib/boundary/host-factor-store.ts'
import { steppedClock } from '../../../lib/testing/doubles.ts'
import { caseOf } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { factorAdditionCases } from './factor-addition-contract.ts'
import type { DefineFactorCase, FactorStoreSubject } from './factor-fixtures.ts'
import { factorRemovalCases } from './factor-removal-contract.ts'
import { factorUseCases } from './factor-use-contract.ts'
import { recoveryCodeCases } from './recovery-code-contract.ts'
import { twoStepCases } from './two-step-contract.ts'
import { wrongCodeCases } from './wrong-code-contract.ts'

/**
 * The contract of every `FactorStore`. `make` gives each case an empty one. Its answers are read as the plugin reads
 * them.
 */
export function factorStoreContract(make: () => Promise<FactorStoreSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define: DefineFactorCase = (name, check) => {
    cases.push(
      caseOf(make, `factors: ${name}`, (subject) => check(hostFactorStore(subject.store, steppedClock()), subject))
    )
  }
  for (const add of [
    factorAdditionCases,
    factorUseCases,
    wrongCodeCases,
    recoveryCodeCases,
    twoStepCases,
    factorRemovalCases
  ])
    add(define)
  return cases
}
