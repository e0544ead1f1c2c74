import { setPriority } from 'node:os'

const SERVER = -10
const TEST = -5

/**
 * A server of a test gets its turn of a processor first, and the test that asks it gets its own before other tests,
 * where this process may give them that (as root). The library waits a quarter of a second for Redis, and on a machine
 * that is busy with tests an answer can take longer.
 */
export function preferServer(pid: number | undefined): void {
  for (const [process, priority] of [
    [pid, SERVER],
    [0, TEST]
  ] as const) {
    try {
      if (process !== undefined) setPriority(process, priority)
    } catch {
      // Not allowed, or it has ended.
    }
  }
}
