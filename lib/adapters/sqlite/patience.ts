import { setTimeout as wait } from 'node:timers/promises'
import { OutageError } from '../../ports/outage.ts'

/** How long an operation is tried again where another process has the lock. The state's own limit is two seconds. */
const PATIENCE_MS = 1500
const LONGEST_PAUSE_MS = 25
/** The codes of SQLite that say something of the moment and nothing of the statement. */
const CODES = { SQLITE_BUSY: 5, SQLITE_READONLY: 8, SQLITE_FULL: 13 }

/** Which of them the error is, also with a reason in the higher bits or at the end, as the drivers have it. */
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

/** A file that takes no writes is an outage, until an operator makes room or gives the right back. */
function thrown(error: unknown): unknown {
  const code = codeOf(error)
  return code === undefined || code === 'SQLITE_BUSY'
    ? error
    : new OutageError(`SQLite writes nothing now (${code}).`, { refusesWrites: true })
}

/**
 * Does the work again while another process has the lock, for a second and a half and off the event loop: SQLite itself
 * would wait inside the call, and with it every request of this process. Work that meets the lock has done nothing yet,
 * or was rolled back. Rejects with the driver's error, or with an outage if the file takes no writes.
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

/** A store whose methods are all patient. */
export function patientStore<Store extends object>(store: Store): Store {
  const methods = Object.entries(store).map(([name, method]: [string, (...args: unknown[]) => Promise<unknown>]) => [
    name,
    (...args: unknown[]): Promise<unknown> => patient(() => method(...args))
  ])
  return Object.fromEntries(methods) as Store
}
