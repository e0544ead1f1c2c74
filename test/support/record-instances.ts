import type { RecordStore } from '../../lib/ports/record-store.ts'

/**
 * The same records, of which every third commit is done and its answer lost, and every fifth is lost before it is done.
 * No commit is lost twice, because the rules send it again once.
 */
export function losingCommits(store: RecordStore): RecordStore {
  let count = 0
  const lost = new Set<string>()
  return {
    ...store,
    async commit(partition, writes, now) {
      const isDone = ++count % 3 === 0
      const name = JSON.stringify(writes)
      if (lost.has(name) || !(isDone || count % 5 === 0)) return await store.commit(partition, writes, now)
      lost.add(name)
      if (isDone) await store.commit(partition, writes, now)
      throw new Error(isDone ? 'The answer was lost.' : 'The commit was lost.')
    }
  }
}

/** One store of several instances: every call goes to the next one. */
export function takingTurns<Store extends object>(instances: readonly [Store, ...Store[]]): Store {
  let turn = 0
  const [first] = instances
  return Object.fromEntries(
    Object.entries(first).map(([name, member]) => [
      name,
      typeof member === 'function'
        ? (...args: unknown[]) => {
            const instance = instances[turn++ % instances.length] ?? first
            return (instance as Record<string, (...args: unknown[]) => unknown>)[name]?.(...args)
          }
        : member
    ])
  ) as Store
}
