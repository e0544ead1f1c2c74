import type { StoredRecord } from '../ports/record-store.ts'
import { writerOf } from './chance.ts'

/** The content of a record's text. */
export interface Decoded {
  version: string
  /** `null`: the record was removed, and is kept for a while to tell so. */
  decoded: unknown
  /** The last version that each other writer gave the record, the latest first: at most `MOST_WRITERS`. */
  lineage: readonly string[]
}

/**
 * Of how many former writers a record names the last version. By it a commit whose answer was lost is recognized, also
 * where other instances changed the same records before it was sent again.
 */
export const MOST_WRITERS = 8

/**
 * The lineage stands behind an array's elements or an object's fields, so that SQL finds each of them at its place. Any
 * other value stands in a field of its own. A record that was removed has its lineage alone.
 */
export function encode(value: unknown, lineage: readonly string[]): string {
  if (Array.isArray(value)) return JSON.stringify([...(value as unknown[]), lineage])
  if (value === null) return JSON.stringify({ lineage })
  return JSON.stringify(typeof value === 'object' ? { ...value, lineage } : { value, lineage })
}

/**
 * The value of a record that nobody can read. It is a row without columns, so no rule takes it for one of its own, and
 * it is no missing record either. The next write of the key replaces it.
 */
export const DAMAGED: readonly unknown[] = Object.freeze([])

export function decode(record: StoredRecord | null): Decoded | null {
  if (record === null) return null
  const { version } = record
  const parsed = parse(record.value)
  if (Array.isArray(parsed) && isLineage(parsed.at(-1))) {
    const lineage = parsed.pop() as string[]
    return { version, decoded: parsed, lineage }
  }
  if (typeof parsed !== 'object' || parsed === null || !('lineage' in parsed) || !isLineage(parsed.lineage))
    return { version, decoded: DAMAGED, lineage: [] }
  const { lineage, ...value } = parsed
  const names = Object.keys(value)
  const isAlone = names.length === 1 && names[0] === 'value'
  const decoded = isAlone ? (value as { value?: unknown }).value : names.length === 0 ? null : value
  return { version, decoded, lineage }
}

const isLineage = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

/** `null` where it is no JSON: no rule writes that. */
function parse(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return null
  }
}

/** The lineage of a record that replaces the former one by this writer. */
export function lineageAfter(record: Decoded | null | undefined, version: string): string[] {
  if (record === null || record === undefined) return []
  const writer = writerOf(version)
  return [record.version, ...record.lineage].filter((one) => writerOf(one) !== writer).slice(0, MOST_WRITERS)
}
