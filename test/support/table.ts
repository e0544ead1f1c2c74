import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'

/** Rows that a test compares, one sentence for each table. */
export interface Table {
  /** For a wrong row, the failure shows all three. */
  row(name: string, found: unknown, wanted: unknown): void
}

/**
 * Asserts once that every row that `fill` finds is the wanted one. A thousand assertions of one sentence cost more time
 * than the calls that they are about.
 */
export async function holdsInTable(t: Test, sentence: string, fill: (table: Table) => unknown): Promise<void> {
  const others: Array<{ name: string; found: unknown; wanted: unknown }> = []
  let rows = 0
  await fill({
    row(name, found, wanted) {
      rows++
      if (!isDeepStrictEqual(found, wanted)) others.push({ name, found, wanted })
    }
  })
  t.strictSame(others, [], `${sentence} (${rows} rows)`)
  t.ok(rows > 0, `${sentence}: there are rows`)
}
