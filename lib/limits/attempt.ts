import { OAuthError, type OAuthErrorCode, UpstreamError } from '../errors.ts'
import { isOutage } from '../ports/outage.ts'
import type { AttemptLimit, AttemptOutcome, AttemptStanding } from '../ports/attempt-store.ts'
import type { Random } from '../ports/cryptography.ts'
import { messageKey, recipientKey } from './attempt-keys.ts'
import type { Rule } from './rules.ts'

interface AttemptPlan {
  id: string
  limits: readonly AttemptLimit[]
  /** The subset of `limits` that counts failures only. */
  givenBack: readonly AttemptLimit[]
}

export interface AttemptDeps {
  reserve(attemptId: string, limits: readonly AttemptLimit[]): Promise<AttemptOutcome>
  /** Never rejects. */
  refund(attemptId: string, limits: readonly AttemptLimit[]): void | Promise<void>
  /** Reports the state of the limits to the caller. */
  show(standings: readonly AttemptStanding[]): void
  /** Rejects with the refusal for the caller. */
  refuse(by: AttemptStanding): Promise<never>
}

/**
 * For secrets that can be guessed. Counts the attempt before the work. Gives it back afterwards: under the limits that
 * count failures only after a success, and under all limits after an outage or an overload of this service.
 *
 * A caller over a limit neither changes nor learns anything, however many try at once. Rejects with the rejection of
 * `refuse`.
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
  // Not awaited, so that the answer does not wait. The next count of this instance follows it on the same connection.
  if (givenBack.length > 0) void deps.refund(id, givenBack)
  return result
}

/**
 * For secrets of 256 random bits, which nobody can guess. Does the work whatever the limits say, so that a good secret
 * is never refused because of others at the same address. Counts a failed proof. Over the limit, the caller learns that
 * instead of the reason of the failure.
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

/** A request that fails for another reason (a scope, a new password, a missing field) was not a guess. */
function isFailedProof(error: unknown): boolean {
  return error instanceof OAuthError && FAILED_PROOFS.includes(error.error)
}

/**
 * True if the service could not do the work: its queue is full, or a store or a provider is known to be unreachable.
 * Such an attempt is given back, so that retries during an outage do not lock the caller out. It counts while it runs,
 * so that the limit also bounds parallel attempts. Any other error counts, because the caller may have caused it.
 */
function isNobodysFault(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.reason === 'outage'
  return error instanceof OAuthError
    ? error.error === 'temporarily_unavailable' && (error.cause === undefined || isNobodysFault(error.cause))
    : isOutage(error)
}

/**
 * Shorter than the life of any link, so that a repeated request within this time still has a working link in the
 * mailbox.
 */
const SPACING_MS = 5 * 60 * 1000

export interface MessageBound {
  /**
   * Runs `work`, which sends a message, unless one was sent less than five minutes (or `spacingMs`) ago for the same
   * account and `subject`. Two requests have the same `subject` if the link of the first is as good as a new one.
   * Returns `false` if it did not run. A rejected `work` has sent nothing and does not count. `typed` is the address
   * that a person typed. All accounts together send it as many messages as the rule `passwordReset` allows one address.
   */
  send(
    subject: readonly string[],
    work: () => Promise<void>,
    options?: { spacingMs?: number; typed?: string }
  ): Promise<boolean>
}

interface MessageBoundDeps {
  reserve(attemptId: string, limits: readonly AttemptLimit[]): Promise<AttemptOutcome>
  refund(attemptId: string, limits: readonly AttemptLimit[]): void | Promise<void>
  random: Random
}

/**
 * Bounds the messages that strangers can send to one person, from any number of addresses. Uses the attempt counters.
 * The rule `passwordReset` turns it off, except for messages with a spacing of their own.
 */
export function messageBound(rule: Rule | false, { reserve, refund, random }: MessageBoundDeps): MessageBound {
  return {
    async send(subject, work, { spacingMs, typed } = {}) {
      if (rule === false && spacingMs === undefined) {
        await work()
        return true
      }
      const id = random.id()
      const limits = [{ rule: 'passwordReset', key: messageKey(subject), windowMs: spacingMs ?? SPACING_MS, max: 1 }]
      if (rule !== false && typed !== undefined)
        limits.push({ rule: 'passwordReset', key: recipientKey(typed, null), windowMs: rule.windowMs, max: rule.max })
      const { allowed } = await reserve(id, limits)
      if (!allowed) return false
      try {
        await work()
      } catch (error) {
        await refund(id, limits)
        throw error
      }
      return true
    }
  }
}
