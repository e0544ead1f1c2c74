/** Checks of durations that also hold on a busy machine or one that stands still for a while. */
import { setImmediate, setTimeout } from 'node:timers/promises'

/** More turns than any chain of callbacks between a timer and its effects. */
const TURNS = 50

/**
 * True if it settles before a timer of this process would. If the process stands still, both are late, and the earlier
 * timer still comes first; a difference of two readings of a clock would call that slow.
 */
export async function settlesWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const late = new AbortController()
  try {
    return await Promise.race([
      promise.then(
        () => true,
        () => true
      ),
      setTimeout(ms, false, { signal: late.signal }).then(turns)
    ])
  } finally {
    late.abort()
  }
}

async function turns(): Promise<boolean> {
  for (let turn = 0; turn < TURNS; turn++) await setImmediate()
  return false
}

/** True if it settles without waiting for any timer: within some turns of the event loop. */
export async function settlesAtOnce(promise: Promise<unknown>): Promise<boolean> {
  return await Promise.race([
    promise.then(
      () => true,
      () => true
    ),
    turns()
  ])
}

/** The seconds of processor time that this process spends on it, independent of the elapsed time. */
export async function processorSeconds(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000_000
}
