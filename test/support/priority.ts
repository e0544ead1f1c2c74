import { setPriority } from 'node:os'

const BEFORE_TESTS = -10

/**
 * A server of a test gets its turn of a processor before the tests do, where this process may give it that (as root). The library waits
 * a quarter of a second for Redis, and a machine that is busy with tests may let it wait for longer.
 */
export function preferServer (pid: number | undefined): void {
  if (pid === undefined) return
  try {
    setPriority(pid, BEFORE_TESTS)
  } catch {
    // Not allowed, or it has ended.
  }
}
