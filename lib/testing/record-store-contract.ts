import { caseOf, type ContractCase } from './contract.ts'
import { commitCases } from './record-commit-contract.ts'
import { type RecordStoreSubject, type Subject, withShorthands } from './record-fixtures.ts'
import { raceCases } from './record-race-contract.ts'
import { expiryCases, valueCases } from './record-value-contract.ts'

/**
 * What every `RecordStore` must keep. A store that passes holds a whole state: `recordState(store)`.
 *
 * @example
 * runContract(recordStoreContract(async () => ({ store: await myEmptyStore() })), test)
 */
export function recordStoreContract(make: () => Promise<RecordStoreSubject>): ContractCase[] {
  const define = (name: string, check: (subject: Subject) => Promise<void>): ContractCase =>
    caseOf(make, `records: ${name}`, async (subject) => {
      await subject.store.prepare?.()
      await check(withShorthands(subject))
    })
  return [commitCases, valueCases, expiryCases, raceCases].flatMap((casesOf) => casesOf(define))
}
