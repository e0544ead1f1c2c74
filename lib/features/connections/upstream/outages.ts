import { BusyError } from '../../../adapters/upstream/ask-provider.ts'
import { UpstreamError } from '../../../errors.ts'
import type { Clock } from '../../../ports/clock.ts'

/** Receives events that an operator should know. */
export interface UpstreamReports {
  /** Called once when an outage begins. `of`: the endpoint, as a phrase such as `the token endpoint`. */
  down(of: string, error: UpstreamError): void
  back(of: string): void
  /** A function of the host's failed, with an error of its own that holds no token. */
  hostFailed(error: Error): void
}

interface Outages {
  /** Runs the work, and reports if it begins or ends an outage of that endpoint. */
  over<Answer>(of: string, work: () => Promise<Answer>): Promise<Answer>
  began(of: string, error: UpstreamError): void
  ended(of: string): void
}

/** Reports each endpoint's outages once when they begin and once when they end, however many sign-ins they stop. */
export function watchOutages({ down, back }: UpstreamReports): Outages {
  const away = new Set<string>()
  const began = (of: string, error: UpstreamError): void => {
    if (away.has(of)) return
    away.add(of)
    down(of, error)
  }
  const ended = (of: string): void => {
    if (away.delete(of)) back(of)
  }
  return {
    began,
    ended,
    async over(of, work) {
      try {
        const answer = await work()
        ended(of)
        return answer
      } catch (error) {
        // A refusal because of too many parallel calls says nothing about the provider.
        if (error instanceof UpstreamError && error.reason === 'outage' && !(error instanceof BusyError))
          began(of, error)
        throw error
      }
    }
  }
}

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
