import { random } from './pkce.ts'

const WAIT_MS = 5000

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms) })

/**
 * Runs one at a time over all tabs. Waits 5 seconds at most and then goes on without the lock: a tab that is frozen may hold it for
 * ever. Where the browser has no Web Locks, a mark in the storage that tabs share does nearly the same.
 */
export async function locked<T> (name: string, storage: Storage | undefined, run: () => Promise<T>): Promise<T> {
  const locks = navigator.locks as LockManager | undefined
  if (locks) {
    let held = false
    try {
      return await locks.request(name, { signal: AbortSignal.timeout(WAIT_MS) }, async () => {
        held = true
        return await run()
      })
    } catch (error) {
      if (held) throw error
    }
  }
  let mark
  for (const end = Date.now() + WAIT_MS; !locks && storage && Date.now() < end; await sleep(30)) {
    // The mark of a tab that is gone counts for ten seconds.
    if (Math.abs(Date.now() - parseInt(storage.getItem(name) as string)) < 10_000) continue
    mark = `${Date.now()} ${random()}`
    storage.setItem(name, mark)
    // Another tab may have found it free in the same moment: whose mark stays has it.
    await sleep(50)
    if (storage.getItem(name) === mark) break
  }
  try {
    return await run()
  } finally {
    if (storage?.getItem(name) === mark) storage?.removeItem(name)
  }
}
