import { UpstreamError } from '../../errors.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Outages } from './outages.ts'

/** The time limit for all calls of one sign-in to the provider. */
const BUDGET_MS = 6000
const ALL = 'all that one sign-in asks of the provider'

/** Resolves to the result of the work. Rejects with an `outage` after six seconds, and aborts its calls then. */
export async function inTime<Answer>(
  clock: Clock,
  outages: Outages,
  work: (signal: AbortSignal) => Promise<Answer>
): Promise<Answer> {
  const abort = new AbortController()
  let cancel = (): void => {}
  const late = new Promise<never>((_resolve, reject) => {
    cancel = clock.after(BUDGET_MS, () => {
      const error = new UpstreamError('outage', 'The provider did not answer all that was asked of it in time.')
      reject(error)
      outages.began(ALL, error)
      abort.abort()
    })
  })
  try {
    const answer = await Promise.race([work(abort.signal), late])
    outages.ended(ALL)
    return answer
  } finally {
    cancel()
  }
}
