import { hash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { ImportedHash } from '../../ports/password-hasher.ts'
import { hashingThreads, type HashingThreads } from '../threads/hashing-threads.ts'
import { threadFile } from '../threads/thread-file.ts'
import { type PhpassCall, phpassRounds } from './phpass-rounds.ts'

const REST_MS = 30_000
/** About a millisecond. */
const ROUNDS_AT_ONCE = 256

/** The threads of this process, for all verifiers. `null`: a bundle, which has no file for them. */
let shared: HashingThreads<PhpassCall> | null | undefined

function threads(): HashingThreads<PhpassCall> | null {
  if (shared === undefined) {
    const file = threadFile('./phpass-thread', import.meta.url)
    shared =
      file === null
        ? null
        : hashingThreads({ start: () => new Worker(file), size: availableParallelism(), restMs: REST_MS })
  }
  return shared
}

/** Runs all rounds in this thread, and lets the event loop run every millisecond. */
async function inTurns({ state, password, rounds }: PhpassCall): Promise<Uint8Array> {
  let next = state
  for (let done = 0; done < rounds; done += ROUNDS_AT_ONCE) {
    next = phpassRounds({ state: next, password, rounds: Math.min(ROUNDS_AT_ONCE, rounds - done) })
    await setImmediate()
  }
  return next
}

/**
 * The portable hash of phpass. Its MD5 would block the event loop, so it runs in worker threads, at most one for each
 * core; in a bundle, which lacks the file of the thread, it runs in small pieces.
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
