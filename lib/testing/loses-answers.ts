import { OutageError } from '../ports/outage.ts'

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

  const wrap = <Part extends object>(part: Part, own: object): Part & typeof own =>
    new Proxy(part, {
      get(target, name, receiver) {
        if (Object.hasOwn(own, name)) return Reflect.get(own, name) as unknown
        const member: unknown = Reflect.get(target, name, receiver)
        if (isObject(member)) return wrap(member, {})
        if (!isMethod(member) || methods?.includes(String(name)) === false) return member
        return (...args: unknown[]) => losing(target, member, args)
      }
    })
  return wrap(store, { lost: () => losses }) as Store & { lost(): number }
}

type Method = (...args: unknown[]) => unknown

const isMethod = (value: unknown): value is Method => typeof value === 'function'
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
