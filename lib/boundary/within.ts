import { OutageError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'

/** The answer, or a rejection after `budgetMs`. A later answer is dropped. A synchronous answer sets no timer. */
export async function within<Answer> (budgetMs: number, clock: Clock, call: () => Answer | Promise<Answer>): Promise<Answer> {
  const pending = call()
  if (!isPromise(pending)) return pending
  return await new Promise<Answer>((resolve, reject) => {
    // It may be this process that was busy for so long: an answer that has come meanwhile is read first.
    const cancel = clock.after(budgetMs, () => { setImmediate(() => { reject(new OutageError(`no answer within ${budgetMs} ms`)) }) })
    // A query builder is no promise: it may throw here, or answer with another that takes its time.
    Promise.resolve(pending).then((answer) => {
      cancel()
      resolve(answer)
    }, (error: Error) => {
      cancel()
      reject(error)
    })
  })
}

export function isPromise<T> (value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
