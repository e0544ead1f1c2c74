import { OutageError } from '../ports/outage.ts'
import type { Clock } from '../ports/clock.ts'

/**
 * The number of times that the deadline is checked. A process that was busy for the whole time passes one check, and
 * reads arrived replies before the next.
 */
const LOOKS = 5

/**
 * Settles with the result, or rejects after `budgetMs`. A later result is dropped. A synchronous result sets no timer.
 */
export async function within<Answer>(
  budgetMs: number,
  clock: Clock,
  call: () => Answer | Promise<Answer>
): Promise<Answer> {
  const pending = call()
  if (!isPromise(pending)) return pending
  return await new Promise<Answer>((resolve, reject) => {
    let cancel = (): void => {}
    // Reads an arrived answer after the last check too.
    const look = (left: number): void => {
      cancel = clock.after(budgetMs / LOOKS, () => {
        if (left > 1) look(left - 1)
        else
          setImmediate(() => {
            reject(new OutageError(`no answer within ${budgetMs} ms`))
          })
      })
    }
    look(LOOKS)
    // A query builder is not a promise: its `then` may throw, or resolve to another thenable.
    Promise.resolve(pending).then(
      (answer) => {
        cancel()
        resolve(answer)
      },
      (error: Error) => {
        cancel()
        reject(error)
      }
    )
  })
}

export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
