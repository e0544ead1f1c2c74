import type { StoredRecord } from '../ports/record-store.ts'
import { writerOf } from './chance.ts'

/** What the text of a record says. */
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

export function decode(record: StoredRecord | null): Decoded | null {
  if (record === null) return null
  const { version } = record
  const parsed = parse(record.value)
  // No rule writes it, and a damaged record must not pass for one that is not there.
  if (parsed === null) throw new TypeError('The store holds a record without a value.')
  if (Array.isArray(parsed) && Array.isArray(parsed.at(-1))) {
    const lineage = parsed.pop() as string[]
    return { version, decoded: parsed, lineage }
  }
  if (typeof parsed !== 'object' || !('lineage' in parsed)) return { version, decoded: parsed, lineage: [] }
  const { lineage, ...value } = parsed as { lineage: string[] }
  const names = Object.keys(value)
  const isAlone = names.length === 1 && names[0] === 'value'
  const decoded = isAlone ? (value as { value?: unknown }).value : names.length === 0 ? null : value
  return { version, decoded, lineage }
}

function parse(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    // The parser's own error quotes what it could not read.
    throw new TypeError('The store holds a record that is no JSON.')
  }
}

/** The lineage of a record that this writer puts in place of the former one. */
export function lineageAfter(record: Decoded | null | undefined, version: string): string[] {
  if (record === null || record === undefined) return []
  const writer = writerOf(version)
  return [record.version, ...record.lineage].filter((one) => writerOf(one) !== writer).slice(0, MOST_WRITERS)
}
