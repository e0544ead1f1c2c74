import { OAuthError } from '../errors.ts'
import type { AttemptLimit, AttemptOutcome, AttemptStanding, AttemptStore, CountedAttempt, OpenAttempt } from '../ports/attempt-store.ts'

/** An attempt in the hands of the work that is attempted. */
export interface AttemptAtWork {
  /** For a store that counts it in the same step as what it does; `undefined`: it is counted already. */
  toCount(): OpenAttempt | undefined
  /**
   * What the store made of it.
   * @throws where a limit refuses: what the caller is told
   */
  counted(attempt: CountedAttempt): Promise<void>
  /** For a store that gives it back in the same step as what it does; `undefined`: that is done elsewhere, or there is nothing to give back. */
  toGiveBack(): OpenAttempt | undefined
}

/** Of work that no limit is on. */
export const UNLIMITED: AttemptAtWork = { toCount: () => undefined, async counted () {}, toGiveBack: () => undefined }

export interface AttemptPlan {
  id: string
  limits: readonly AttemptLimit[]
  /** Those of the limits that count failures only. */
  givenBack: readonly AttemptLimit[]
  /** Whether the work has a store count it, and does nothing but look before that. */
  byStore: boolean
}

export interface AttemptDeps {
  reserve(attemptId: string, limits: readonly AttemptLimit[]): Promise<AttemptOutcome>
  refund(attemptId: string, limits: readonly AttemptLimit[]): void | Promise<void>
  /** The counters, where they are well and the state keeps them beside its records; else `null`. */
  beside(): AttemptStore | null
  /** Tells the caller how the limits stand. */
  show(standings: readonly AttemptStanding[]): void
  /** Rejects with what the caller is told. */
  refuse(by: AttemptStanding): Promise<never>
}

/**
 * Counts the attempt, does the work, and gives back what the outcome says: rules that count failures only after a success; everything
 * where no attempt was made, because the service could not do the work.
 *
 * It is counted before the work, or by the work's store in the same step; whatever fails before that step is counted before anybody
 * is told. Either way nobody over a limit changes or learns anything. Rejects with what `refuse` rejects with, where a limit does.
 */
export async function runAttempt<Result> ({ id, limits, givenBack, byStore }: AttemptPlan, work: (attempt: AttemptAtWork) => Promise<Result>, deps: AttemptDeps): Promise<Result> {
  let stage: 'open' | 'refused' | 'counted' | 'given back' = 'open'
  /** Whether the store had it, which may have counted it without our hearing of it. */
  let handedOver = false

  async function count (which: readonly AttemptLimit[]): Promise<void> {
    // Also where this rejects: it is not counted then.
    stage = 'refused'
    const outcome = await deps.reserve(id, which)
    if (outcome.allowed) stage = 'counted'
    deps.show(outcome.standings)
    if (!outcome.allowed) await deps.refuse(outcome.refusedBy)
  }

  const openAttempt = (counters: AttemptStore | null): OpenAttempt | undefined => {
    if (counters === null) return undefined
    handedOver = true
    return { id, limits, givenBack, counters, reserve: () => deps.reserve(id, limits) }
  }

  const attempt: AttemptAtWork = {
    toCount: () => stage === 'open' ? openAttempt(countersOfState) : undefined,
    async counted ({ outcome, givenBack: isGivenBack }) {
      stage = outcome.allowed ? (isGivenBack ? 'given back' : 'counted') : 'refused'
      deps.show(outcome.standings)
      if (!outcome.allowed) await deps.refuse(outcome.refusedBy)
    },
    toGiveBack () {
      if (stage !== 'counted' || givenBack.length === 0) return undefined
      // As they are now: in an outage that began since, the attempt may be counted elsewhere.
      const open = openAttempt(deps.beside())
      if (open !== undefined) stage = 'given back'
      return open
    }
  }

  // As they are now: work that was begun uncounted must not be done uncounted because they fail meanwhile.
  const countersOfState = byStore ? deps.beside() : null
  if (countersOfState === null) await count(limits)
  try {
    const result = await work(attempt)
    if (isStage('open')) await count(limits)
    if (isStage('counted') && givenBack.length > 0) await deps.refund(id, givenBack)
    return result
  } catch (error) {
    if (isStage('refused')) throw error
    if (!isAttempt(error)) {
      if (!isStage('open') || handedOver) await deps.refund(id, limits)
    } else if (isStage('open')) {
      await count(limits)
    } else if (isStage('given back')) {
      // The store did its part, and what came after failed.
      await count(givenBack)
    }
    throw error
  }

  function isStage (one: typeof stage): boolean {
    return stage === one
  }
}

/** What the service could not do, because the queue is full or a store is down, was no attempt of the caller. */
function isAttempt (error: unknown): boolean {
  return error instanceof OAuthError && error.error !== 'temporarily_unavailable' && error.error !== 'server_error'
}
