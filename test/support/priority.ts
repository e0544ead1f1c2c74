import { setPriority } from 'node:os'

const SERVER = -10
const TEST = -5

/**
 * Gives the servers of a test a higher priority than the test, and both a higher one than other tests, if this process
 * may (as root). The library waits a quarter of a second for Redis, and on a machine that is busy with tests an answer
 * can take longer.
 */
export function preferServer(pid: number | undefined): void {
  for (const [process, priority] of [
    [pid, SERVER],
    [0, TEST]
  ] as const) {
    try {
      if (process !== undefined) setPriority(process, priority)
    } catch {
      // The priority is not allowed, or the process has ended.
    }
  }
}
