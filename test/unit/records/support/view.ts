import type { Draft, View } from '../../../../lib/records/view.ts'

/** A view of records that a test sees. The next rule sees the records that a rule leaves. */
export interface TestView extends View {
  records: Map<string, Draft>
  /** The keys of the records with their kinds, in the order of the keys. */
  kinds(): Array<[key: string, kind: string]>
}

export function viewOf({ evicts = false }: { evicts?: boolean } = {}): TestView {
  const records = new Map<string, Draft>()
  let made = 0
  const all = (keys: readonly string[]): unknown[] => keys.map((key) => records.get(key)?.value ?? null)
  return {
    evicts,
    records,
    get: (key) => all([key])[0],
    all,
    peek: all,
    put(key, draft) {
      records.set(key, draft)
    },
    remove(key) {
      records.delete(key)
    },
    unique: () => `unique-${++made}`,
    kinds: () => [...records].map(([key, { kind }]): [string, string] => [key, kind]).sort()
  }
}
