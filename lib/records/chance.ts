import { randomBytes, randomInt } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { VERSION_LENGTH } from '../ports/record-store.ts'

/**
 * Time and randomness of the transactor. Versions only have to differ and, for one writer, to ascend. Waits only have
 * to be uneven. The machine's clock only replaces a missing time of a call. So a host's store needs no `Clock` and no
 * `Random`.
 */

const LONGEST_WAIT_MS = 16
/** The length of the name of a writer at the start of each version: 48 random bits in base64url. */
const WRITER_LENGTH = 8
const COUNTER_LENGTH = VERSION_LENGTH - WRITER_LENGTH

/**
 * The part of a version that names its writer. The versions of one writer sort in the order of their making.
 */
export const writerOf = (version: string): string => version.slice(0, WRITER_LENGTH)

/** Returns a function. Each call of the function returns a version that no process has made before. */
export function versionMaker(): () => string {
  let writer = ''
  let made = 0
  return () => {
    if (made % 36 ** COUNTER_LENGTH === 0) writer = randomBytes(6).toString('base64url')
    const counter = made++ % 36 ** COUNTER_LENGTH
    return writer + counter.toString(36).padStart(COUNTER_LENGTH, '0')
  }
}

/** Waits for a random time, so that calls which met in a conflict don't meet again. */
export async function waitUnevenly(): Promise<void> {
  await setTimeout(randomInt(LONGEST_WAIT_MS + 1))
}

/** Milliseconds since the epoch by this machine's clock. */
export const machineNow = (): number => Date.now()

/** Milliseconds that never go backwards. */
export const monotonicNow = (): number => performance.now()
