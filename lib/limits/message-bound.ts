import type { AttemptLimit, AttemptOutcome } from '../ports/attempt-store.ts'
import type { Random } from '../ports/cryptography.ts'
import { messageKey, recipientKey } from './attempt-keys.ts'
import type { Rule } from './rules.ts'

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
