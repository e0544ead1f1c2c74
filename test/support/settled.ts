/** Waits for work without a promise, such as the making of keys after a step of the clock. */
import { createHook } from 'node:async_hooks'
import { setImmediate } from 'node:timers/promises'

const TURNS = 20

/** Keys that the thread pool is making, by the number that Node.js gives to each asynchronous call. */
const making = new Set<number>()
const hook = createHook({
  init(id, type) {
    if (type === 'KEYPAIRGENREQUEST') making.add(id)
  },
  after: (id) => making.delete(id),
  destroy: (id) => making.delete(id)
})

/** Counts the keys that are being made, for `settled`, until the returned function is called. */
export function watchKeys(): () => void {
  hook.enable()
  return () => {
    hook.disable()
    making.clear()
  }
}

/**
 * Resolves after 20 turns of the event loop without a key in the making. Turns alone are not enough, because the event
 * loop of a busy machine may turn any number of times before a thread has made a key.
 */
export async function settled(): Promise<void> {
  for (let idle = 0; idle < TURNS; idle = making.size === 0 ? idle + 1 : 0) await setImmediate()
}
