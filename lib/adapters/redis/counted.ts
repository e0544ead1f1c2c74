import type { CountedAttempt, OpenAttempt } from '../../ports/attempt-store.ts'
import { countersOf, type RedisCounters } from './attempt-store.ts'
import type { RedisConnection } from './connection.ts'
import { list } from './replies.ts'
import type { Script } from './script.ts'

export interface Work {
  script: Script
  /** The same with `counting` or `givingBack`. */
  counting: Script
  root: string
  args: ReadonlyArray<string | number>
}

/** `reply` is what the script answers; `null` where a limit refused the attempt, and the script was not run. */
export interface Done {
  reply: unknown[] | null
  /** `undefined`: no attempt was given, or it is none of ours to count. */
  attempt: CountedAttempt | undefined
}

/** The counters of the attempt, where they are on this connection and one script may reach both. */
function countersBeside (connection: RedisConnection, attempt: OpenAttempt | undefined): RedisCounters | undefined {
  const counters = attempt === undefined ? undefined : countersOf(attempt.counters)
  return counters?.connection === connection ? counters : undefined
}

/** A server that will not have these keys in one command has done nothing. */
const isRefusedTogether = (error: unknown): boolean => error instanceof Error && /^Redis refused: (?:CROSSSLOT|NOPERM)\b/.test(error.message)

/** Runs the script, and where it can, counts the attempt in the same step. */
export async function runCounting (connection: RedisConnection, attempt: OpenAttempt | undefined, { script, counting, root, args }: Work): Promise<Done> {
  const counters = countersBeside(connection, attempt)
  if (attempt === undefined || counters === undefined) return { reply: list(await connection.run(script, root, args)), attempt: undefined }
  const { id, limits, givenBack } = attempt
  if (connection.spansSlots()) {
    const reservation = counters.reservation(id, limits)
    const refund = givenBack.length === 0 ? [] : counters.refund(id, givenBack)
    try {
      const [standing, reply, isGivenBack] = list(await connection.run(counting, [root, counters.root], [reservation.length, ...reservation, refund.length, ...refund, ...args]))
      if (standing !== undefined) {
        const outcome = counters.outcomeOf(limits, standing)
        return { reply: outcome.allowed ? list(reply) : null, attempt: { outcome, givenBack: isGivenBack === 1 } }
      }
    } catch (error) {
      if (!isRefusedTogether(error)) throw error
    }
  }
  const outcome = await attempt.reserve()
  return { reply: outcome.allowed ? list(await connection.run(script, root, args)) : null, attempt: { outcome, givenBack: false } }
}

/** Runs a script that answers 1 where it succeeds, and gives the attempt back: in the same step where it can. */
export async function runGivingBack (connection: RedisConnection, attempt: OpenAttempt | undefined, { script, counting, root, args }: Work): Promise<unknown> {
  const counters = countersBeside(connection, attempt)
  if (attempt === undefined || counters === undefined) return await connection.run(script, root, args)
  const { id, givenBack } = attempt
  if (connection.spansSlots()) {
    const refund = counters.refund(id, givenBack)
    try {
      return await connection.run(counting, [root, counters.root], [refund.length, ...refund, ...args])
    } catch (error) {
      if (!isRefusedTogether(error)) throw error
    }
  }
  const reply = await connection.run(script, root, args)
  // What has been made stays made: an attempt that can't be given back counts.
  if (reply === 1) await Promise.resolve(attempt.counters.refund(id, givenBack)).catch(() => {})
  return reply
}
