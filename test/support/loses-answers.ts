import { OutageError } from '../../lib/errors.ts'

export interface LossOptions {
  /** The methods whose calls are lost. Default: all. */
  methods?: readonly string[]
  /** The answer of every nth call is lost after the call was done. Default 3. */
  answer?: number
  /** Every nth call is lost before it is done. Default: none. */
  call?: number
}

/**
 * The same store behind a network that loses answers: such a call rejects with an outage. The counts run over all
 * methods and all objects of methods inside (`state.tokens`), so a run can be repeated. A call that is sent again with
 * the same object as an argument gets through, because a caller tries only a few times.
 */
export function losesAnswers<Store extends object>(
  store: Store,
  { methods, answer = 3, call = Infinity }: LossOptions = {}
): Store & { lost(): number } {
  const lostBefore = new WeakSet<object>()
  let calls = 0
  let losses = 0
  const lose = (args: readonly unknown[], when: string): void => {
    for (const arg of args) if (typeof arg === 'object' && arg !== null) lostBefore.add(arg)
    losses++
    throw new OutageError(`Call ${calls} was lost ${when}.`)
  }
  const wrap = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get(target, name, receiver) {
        const member: unknown = Reflect.get(target, name, receiver)
        if (typeof member === 'object' && member !== null) return wrap(member)
        if (typeof member !== 'function' || !(methods?.includes(String(name)) ?? true)) return member
        return async (...args: unknown[]): Promise<unknown> => {
          const isAgain = args.some((arg) => typeof arg === 'object' && arg !== null && lostBefore.has(arg))
          const turn = isAgain ? undefined : ++calls
          if (turn !== undefined && turn % call === 0) lose(args, 'before it was done')
          const result: unknown = await Reflect.apply(member, target, args)
          if (turn !== undefined && turn % answer === 0) lose(args, 'after it was done')
          return result
        }
      }
    })
  return Object.assign(wrap(store), { lost: () => losses })
}
