import type { RecordStore } from '../ports/record-store.ts'

const KINDS: Readonly<Record<Exclude<keyof RecordStore, 'prepare' | 'time'>, string>> = {
  kind: 'string',
  shared: 'boolean',
  durable: 'boolean',
  evicts: 'boolean',
  read: 'function',
  commit: 'function',
  sweep: 'function'
}

/** Checks that a host's value is a store of records, at the start instead of the first sign-in. @throws TypeError */
export function checkRecordStore(what: string, store: unknown): asserts store is RecordStore {
  if (typeof store !== 'object' || store === null)
    throw new TypeError(`${what} takes a RecordStore, and got ${store === null ? 'null' : typeof store}.`)
  for (const [name, kind] of Object.entries(KINDS)) {
    const got = (store as Record<string, unknown>)[name]
    if (typeof got !== kind)
      throw new TypeError(
        `${what} takes a RecordStore: ${name} must be a ${kind}, and is ${got === undefined ? 'missing' : typeof got}.`
      )
  }
}
