import { transactions } from './storage.ts'

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

/**
 * Whoever has it is the only one, over all tabs, until they call what it resolves to, or are gone. Waits so long at
 * most and then goes on without: a tab that is frozen may hold it for ever. Where the browser has no Web Locks, a mark
 * in the storage that tabs share does nearly the same.
 */
export async function lock(name: string, waitMs = 15_000): Promise<() => void> {
  // None where there are no tabs.
  const browser = globalThis.navigator as Partial<Navigator> | undefined
  const locks = browser?.locks
  if (locks)
    return new Promise((resolve) => {
      locks
        .request(name, { signal: AbortSignal.timeout(waitMs) }, () => new Promise<void>(resolve))
        .catch(() => {
          resolve(() => {})
        })
    })
  const store = transactions()
  let mark: string | undefined
  // Another tab may have found it free in the same moment: whose mark stays has it.
  for (; browser && waitMs > 0 && store.getItem(name) !== mark; waitMs -= 50) {
    // The mark of a tab that is gone counts for ten seconds.
    if (!(Math.abs(Date.now() - (store.getItem(name) as unknown as number)) < 10_000))
      store.setItem(name, (mark = `${Date.now() + Math.random()}`))
    await sleep(50)
  }
  return () => {
    store.removeItem(name)
  }
}
