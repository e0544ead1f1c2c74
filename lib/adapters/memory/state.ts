import type { State } from '../../ports/state.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { recordState } from '../../records/state.ts'
import { memoryRecords } from './record-store.ts'

export interface MemoryStateOptions {
  /**
   * How many devices one user may be signed in on; one more signs out the one that signed in first. Default 100; from 1
   * to 1,000.
   */
  maxFamiliesPerUser?: number | undefined
  /**
   * How many browsers one user may be signed in with on the hosted pages; one more ends the first. Default 100; from 1
   * to 1,000.
   */
  maxSessionsPerUser?: number | undefined
}

/**
 * State in this process's memory: for tests, development, and a single process that may forget who is signed in.
 * Several processes don't share it.
 */
export function memoryState({ maxFamiliesPerUser, maxSessionsPerUser, ...others }: MemoryStateOptions = {}): State {
  noOthers('memoryState', others)
  return recordState(memoryRecords(), { maxFamiliesPerUser, maxSessionsPerUser })
}
