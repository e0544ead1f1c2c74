import { OutageError } from '../ports/outage.ts'
import { setImmediate } from 'node:timers/promises'

export interface LossOptions {
  /** The methods whose calls are lost, such as `['commit']`. Default: all. */
  methods?: readonly string[] | undefined
  /** The answer of every nth call is lost after the call was done. Default 3. Minimum 1; 0: none. */
  everyAnswer?: number | undefined
  /** Every nth call is lost before it is done. Minimum 1. Default 0: none. */
  everyCall?: number | undefined
}

/**
 * Wraps the store in a network that loses answers: such a call rejects with an outage. One count runs over all methods
 * and nested objects of methods (`state.tokens`), so a run can be repeated. A call that is sent again with the same
 * object as an argument gets through, because a caller tries only a few times. `lost()` is the number of lost calls so
 * far, so that a test can check that there were any.
 */
export function losesAnswers<Store extends object>(
  store: Store,
  { methods, everyAnswer = 3, everyCall = 0 }: LossOptions = {}
): Store & { lost(): number } {
  const lostBefore = new WeakSet<object>()
  let calls = 0
  let losses = 0

  function lose(args: readonly unknown[], message: string): never {
    for (const arg of args) if (isObject(arg)) lostBefore.add(arg)
    losses++
    throw new OutageError(message)
  }

  async function losing(target: object, method: Method, args: unknown[]): Promise<unknown> {
    if (args.some((arg) => isObject(arg) && lostBefore.has(arg))) return await Reflect.apply(method, target, args)
    const turn = ++calls
    if (turn % everyCall === 0) lose(args, `Call ${turn} was lost before it was done.`)
    const result = await Reflect.apply(method, target, args)
    if (turn % everyAnswer === 0) lose(args, `The answer of call ${turn} was lost.`)
    return result
  }

  const lossy = withMethods(store, (method, target, name) =>
    methods?.includes(name) === false ? method : (...args) => losing(target, method, args)
  )
  return new Proxy(lossy, {
    get: (target, name, receiver): unknown => (name === 'lost' ? () => losses : Reflect.get(target, name, receiver))
  }) as Store & { lost(): number }
}

type Method = (...args: unknown[]) => unknown

const isMethod = (value: unknown): value is Method => typeof value === 'function'
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/**
 * The numbers of event loop turns before and after each call, in rotation. Uneven, so that neighbouring calls overtake
 * each other.
 */
const SCHEDULE: readonly number[] = [3, 0, 5, 1, 0, 4, 2, 6, 0, 1, 7]

/** The same store, with another function for each method, also of the objects of methods inside. */
function withMethods<Store extends object>(
  store: Store,
  replace: (method: Method, target: object, name: string) => Method
): Store {
  return new Proxy(store, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver)
      if (isObject(member)) return withMethods(member, replace)
      return isMethod(member) ? replace(member, target, String(name)) : member
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
  const pause = async (): Promise<void> => {
    const turns = schedule[step++ % schedule.length] ?? 0
    for (let turn = 0; turn < turns; turn++) await setImmediate()
  }
  return withMethods(store, (method, target) => async (...args) => {
    await pause()
    try {
      return await Reflect.apply(method, target, args)
    } finally {
      await pause()
    }
  })
}
