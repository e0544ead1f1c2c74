import type { FactorStore } from '../../ports/factor-store.ts'
import { recordFactorStore } from '../../records/factor-store.ts'
import { memoryRecords } from './record-store.ts'

/**
 * Second factors in this process's memory: for tests, demos and development. When the process ends, every user is left
 * with a password alone.
 */
export function memoryFactorStore(): Required<FactorStore> {
  return recordFactorStore(memoryRecords())
}
