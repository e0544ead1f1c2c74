import { setImmediate } from 'node:timers/promises'

/**
 * The numbers of event loop turns before and after each call, in rotation. Uneven, so that neighbouring calls overtake
 * each other.
 */
const SCHEDULE: readonly number[] = [3, 0, 5, 1, 0, 4, 2, 6, 0, 1, 7]

function wrap<Store extends object>(store: Store, pause: () => Promise<void>): Store {
  return new Proxy(store, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver)
      if (typeof member === 'object' && member !== null) return wrap(member, pause)
      if (typeof member !== 'function') return member
      return async (...args: unknown[]): Promise<unknown> => {
        await pause()
        try {
          const result: unknown = await Reflect.apply(member, target, args)
          return result
        } finally {
          await pause()
        }
      }
    }
  })
}

/**
 * Wraps the store so that every call waits some turns of the event loop before and after, in a fixed pattern that makes
 * parallel calls overtake each other. Code that relies on an answer in the same tick fails. Every method returns a
 * promise; nested objects of methods (`state.tokens`) are delayed too.
 */
export function delayed<Store extends object>(store: Store, schedule: readonly number[] = SCHEDULE): Store {
  // One counter for the whole store. With one per call site, parallel calls would all wait equally long and keep their
  // order.
  let step = 0
  return wrap(store, async () => {
    const turns = schedule[step++ % schedule.length] ?? 0
    for (let turn = 0; turn < turns; turn++) await setImmediate()
  })
}
