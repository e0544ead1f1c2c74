import { setTimeout as wait } from 'node:timers/promises'

/** How long an operation is tried again where another process has the lock. The state's own limit is two seconds. */
const PATIENCE_MS = 1500
const LONGEST_PAUSE_MS = 25
/** SQLITE_BUSY, also with a reason in the higher bits, as `node:sqlite` has it. */
const BUSY = 5

function isBusy(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  return (
    (typeof code === 'string' && code.startsWith('SQLITE_BUSY')) ||
    (typeof errcode === 'number' && (errcode & 0xff) === BUSY)
  )
}

/**
 * Does the work again where another process has the lock, for a second and a half and off the event loop: SQLite itself
 * would wait inside the call, and with it every request of this process. What meets the lock has done nothing yet, or
 * was rolled back. Rejects with the driver's SQLITE_BUSY.
 */
export async function patient<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!isBusy(error)) throw error
  }
  const until = performance.now() + PATIENCE_MS
  for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    await wait(pause)
    try {
      return await work()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw error
    }
  }
}

/** A store whose methods are all patient. */
export function patientStore<Store extends object>(store: Store): Store {
  const methods = Object.entries(store).map(([name, method]: [string, (...args: unknown[]) => Promise<unknown>]) => [
    name,
    (...args: unknown[]): Promise<unknown> => patient(() => method(...args))
  ])
  return Object.fromEntries(methods) as Store
}
