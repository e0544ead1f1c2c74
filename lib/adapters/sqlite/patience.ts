import { setTimeout as wait } from 'node:timers/promises'
import { OutageError } from '../../ports/outage.ts'

/**
 * The time in milliseconds for which an operation is retried while another process has the lock. The state's own limit
 * is two seconds.
 */
const PATIENCE_MS = 1500
const LONGEST_PAUSE_MS = 25
/** SQLite error codes for temporary conditions, as opposed to a wrong statement. */
const CODES = { SQLITE_BUSY: 5, SQLITE_READONLY: 8, SQLITE_FULL: 13 }

/** Finds the code of an error. Drivers add a reason in the higher bits or at the end of the name. */
function codeOf(error: unknown): keyof typeof CODES | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  return (Object.keys(CODES) as Array<keyof typeof CODES>).find(
    (name) =>
      (typeof code === 'string' && code.startsWith(name)) ||
      (typeof errcode === 'number' && (errcode & 0xff) === CODES[name])
  )
}

const isBusy = (error: unknown): boolean => codeOf(error) === 'SQLITE_BUSY'

/** A file that can't be written is an outage until an operator frees space or restores the right. */
function thrown(error: unknown): unknown {
  const code = codeOf(error)
  return code === undefined || code === 'SQLITE_BUSY'
    ? error
    : new OutageError(`SQLite writes nothing now (${code}).`, { refusesWrites: true })
}

/**
 * Retries the work for a second and a half while another process has the lock, without blocking the event loop: SQLite
 * itself would wait inside the call, and every request of this process with it. Work that meets the lock has done
 * nothing or was rolled back. Rejects with the driver's error, or with an outage if the file can't be written.
 */
export async function patient<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!isBusy(error)) throw thrown(error)
  }
  const until = performance.now() + PATIENCE_MS
  for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    await wait(pause)
    try {
      return await work()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw thrown(error)
    }
  }
}

/** Wraps all methods of a store with retries. */
export function patientStore<Store extends object>(store: Store): Store {
  const methods = Object.entries(store).map(([name, method]: [string, (...args: unknown[]) => Promise<unknown>]) => [
    name,
    (...args: unknown[]): Promise<unknown> => patient(() => method(...args))
  ])
  return Object.fromEntries(methods) as Store
}
