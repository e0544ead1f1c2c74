import { OAuthError, type OAuthErrorCode, UpstreamError } from '../errors.ts'
import { isOutage } from '../ports/outage.ts'
import type { AttemptLimit, AttemptOutcome, AttemptStanding } from '../ports/attempt-store.ts'

interface AttemptPlan {
  id: string
  limits: readonly AttemptLimit[]
  /** Those of the limits that count failures only. */
  givenBack: readonly AttemptLimit[]
}

export interface AttemptDeps {
  reserve(attemptId: string, limits: readonly AttemptLimit[]): Promise<AttemptOutcome>
  /** Never rejects. */
  refund(attemptId: string, limits: readonly AttemptLimit[]): void | Promise<void>
  /** Tells the caller how the limits stand. */
  show(standings: readonly AttemptStanding[]): void
  /** Rejects with what the caller is told. */
  refuse(by: AttemptStanding): Promise<never>
}

/**
 * For what can be guessed. Counts the attempt before the work and gives back afterwards: after a success, under the
 * limits that count failures only; under all of them where the work met an outage, or an overload of ours.
 *
 * Nobody over a limit changes or learns anything, however many try at once. Rejects with what `refuse` rejects with
 * where a limit does.
 */
export async function reserveAttempt<Result>(
  { id, limits, givenBack }: AttemptPlan,
  work: () => Promise<Result>,
  deps: AttemptDeps
): Promise<Result> {
  await count(id, limits, deps)
  let result: Result
  try {
    result = await work()
  } catch (error) {
    if (isNobodysFault(error)) void deps.refund(id, limits)
    throw error
  }
  // Not waited for: it delays no answer, and what this instance counts next comes after it on the same connection.
  if (givenBack.length > 0) void deps.refund(id, givenBack)
  return result
}

/**
 * For what proves itself by 256 random bits, where guessing is hopeless. The work is done whatever the limits say, so
 * that what is good is never refused for what others did from the same address. A proof that failed is counted; over
 * the limit the caller is told that in place of why it failed.
 */
export async function countFailure<Result>(
  plan: () => Promise<Pick<AttemptPlan, 'id' | 'limits'>>,
  work: () => Promise<Result>,
  deps: AttemptDeps
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (isFailedProof(error)) {
      const { id, limits } = await plan()
      if (limits.length > 0) await count(id, limits, deps)
    }
    throw error
  }
}

async function count(
  id: string,
  limits: readonly AttemptLimit[],
  { reserve, show, refuse }: AttemptDeps
): Promise<void> {
  const outcome = await reserve(id, limits)
  show(outcome.standings)
  if (!outcome.allowed) await refuse(outcome.refusedBy)
}

const FAILED_PROOFS: readonly OAuthErrorCode[] = [
  'invalid_client',
  'invalid_grant',
  'invalid_token',
  'invalid_code',
  'invalid_credential'
]

/** A request that is at fault for another reason (a scope, a new password, a missing field) has guessed at nothing. */
function isFailedProof(error: unknown): boolean {
  return error instanceof OAuthError && FAILED_PROOFS.includes(error.error)
}

/**
 * Whether the service could not do the work, and says why: its queue is full, or a store or another provider is known
 * to be out of reach. That was no attempt of the caller: who tries again until the provider is back must not be locked
 * out then. As long as it is tried it is counted, so that nobody has more of them wait at once than the limit says.
 * Whatever else is thrown may have been brought about by the caller, and is counted.
 */
function isNobodysFault(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.reason === 'outage'
  return error instanceof OAuthError
    ? error.error === 'temporarily_unavailable' && (error.cause === undefined || isNobodysFault(error.cause))
    : isOutage(error)
}
