import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { ImportedHash } from '../../ports/cryptography.ts'
import { threadsOf } from '../threads/hashing-threads.ts'

/** Number of MD5 rounds that take about a millisecond. */
const ROUNDS_AT_ONCE = 256

/** Returns `null` in a bundle, because the file of the thread is missing there. */
const threads = threadsOf<PhpassCall>('./phpass-thread', import.meta.url)

/** Runs all rounds in this thread, and lets the event loop run about every millisecond. */
async function inTurns({ state, password, rounds }: PhpassCall): Promise<Uint8Array> {
  let next = state
  for (let done = 0; done < rounds; done += ROUNDS_AT_ONCE) {
    next = phpassRounds({ state: next, password, rounds: Math.min(ROUNDS_AT_ONCE, rounds - done) })
    await setImmediate()
  }
  return next
}

/**
 * Computes the portable hash of phpass in worker threads, at most one for each core, because its MD5 rounds would block
 * the event loop. In a bundle the file of the thread is missing, so the rounds run in the main thread in small pieces.
 *
 * @see https://www.openwall.com/phpass/
 */
export async function phpassKey(
  password: string,
  { rounds, salt }: ImportedHash & { kind: 'phpass' }
): Promise<Uint8Array> {
  const bytes = new TextEncoder().encode(password)
  const call: PhpassCall = {
    state: new Uint8Array(hash('md5', Buffer.concat([salt, bytes]), 'buffer')),
    password: bytes,
    rounds
  }
  const own = threads()
  return own === null ? await inTurns(call) : ((await own.run(call)) as Uint8Array)
}

/** A call as a message to a worker thread. */
interface PhpassCall {
  state: Uint8Array
  password: Uint8Array
  rounds: number
}

/** Repeats MD5 over the previous digest and the password. Blocks the thread: 8,192 rounds take about 30 ms. */
export function phpassRounds({ state, password, rounds }: PhpassCall): Uint8Array {
  const text = Buffer.concat([state, password])
  for (let round = 0; round < rounds; round++) hash('md5', text, 'buffer').copy(text)
  return new Uint8Array(text.subarray(0, state.length))
}
