import { OutageError } from '../ports/outage.ts'
import type { Clock } from '../ports/clock.ts'

/**
 * How many times it is looked whether there is an answer: a process that was busy for the whole time passes one of
 * them, and reads what has come before the next.
 */
const LOOKS = 5

/** The answer, or a rejection after `budgetMs`. A later answer is dropped. A synchronous answer sets no timer. */
export async function within<Answer>(
  budgetMs: number,
  clock: Clock,
  call: () => Answer | Promise<Answer>
): Promise<Answer> {
  const pending = call()
  if (!isPromise(pending)) return pending
  return await new Promise<Answer>((resolve, reject) => {
    let cancel = (): void => {}
    // After the last look too, what has come is read first.
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
    // A query builder is no promise: it may throw here, or answer with another that takes its time.
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
