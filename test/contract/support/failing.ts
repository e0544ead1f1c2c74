import type { ContractCase } from '../../../lib/testing/contract.ts'

/** The names of the cases that fail. */
export async function failing(cases: readonly ContractCase[]): Promise<string[]> {
  const names: string[] = []
  for (const { name, run } of cases)
    await run().catch(() => {
      names.push(name)
    })
  return names
}
