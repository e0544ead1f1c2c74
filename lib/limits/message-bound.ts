import type { AttemptLimit, AttemptOutcome } from '../ports/attempt-store.ts'
import type { Random } from '../ports/random.ts'
import { messageKey, recipientKey } from './attempt-keys.ts'
import type { Rule } from './rules.ts'

/** Shorter than any link lives, so that whoever asks again in this time has one in their mailbox that works. */
const SPACING_MS = 5 * 60 * 1000

export interface MessageBound {
  /**
   * Does `work`, which sends a message, unless one was sent less than five minutes (or `spacingMs`) ago for the same
   * (`subject`: whatever must be equal for the link of that to be as good as a new one). `false`: it was not done. What
   * rejects has sent nothing, and does not count. `typed`: the address of the message, where somebody typed it. Any
   * number of accounts together send it as many as one address may ask for under the rule `passwordReset`.
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
 * How often strangers can have a message sent to one person, from however many addresses they ask. Counted where
 * attempts are counted, and turned off with the rule `passwordReset`, but where a message names a spacing of its own.
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
