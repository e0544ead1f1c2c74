// The test files in the lanes in which they run. What a lane needs of the machine decides, not what its files are about.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** They judge by the milliseconds of an answer, or do the work of servers or links in their own busy process: nothing runs beside them. */
const ALONE = ['example-server-stores', 'postgres-network', 'redis-network', 'redis-one-cut-off', 'redis-reshard'].map((name) => `test/faults/${name}.test.ts`)

export function allTests (root) {
  return readdirSync(join(root, 'test'), { recursive: true }).map((file) => `test/${file.replaceAll('\\', '/')}`).filter((file) => file.endsWith('.test.ts')).sort()
}

/** `main` runs with tap's runner, for its coverage. The faults' own processes have none. */
export function laneOf (file) {
  if (!file.startsWith('test/faults/')) return 'main'
  return ALONE.includes(file) ? 'faults-alone' : 'faults'
}
