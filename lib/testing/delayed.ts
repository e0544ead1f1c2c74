import { setImmediate } from 'node:timers/promises'

/**
 * Turns of the event loop before and after a call, round and round. Uneven on purpose: neighbours overtake each other.
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
 * The same store, with turns of the event loop before and after every call, in a fixed pattern that makes parallel
 * calls overtake each other. Code that relies on an answer in the same tick fails over it. Every method answers by a
 * promise; objects of methods inside (`state.tokens`) are delayed alike.
 */
export function delayed<Store extends object>(store: Store, schedule: readonly number[] = SCHEDULE): Store {
  // One counter for the whole store: were it one a call site, parallel calls would all wait alike and keep their order.
  let step = 0
  return wrap(store, async () => {
    const turns = schedule[step++ % schedule.length] ?? 0
    for (let turn = 0; turn < turns; turn++) await setImmediate()
  })
}
