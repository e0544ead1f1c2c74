import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { isMisfit, OAuthError } from '../../errors.ts'
import type { Events } from '../../events.ts'
import type { LimitInfo, RateLimitsOf, RuleName } from '../../limits/rules.ts'
import type { AttemptStanding } from '../../ports/attempt-store.ts'
import type { Clock } from '../../ports/clock.ts'
import { logLine, onceAMinute } from '../../ports/log.ts'
import { originOf } from './request-origin.ts'

/** 429. `body` is what is sent: the usual one, or what the host's `onLimit` returned. @see RFC 6585 §4 */
export class LimitedError extends OAuthError {
  readonly body: unknown
  /** True if `body` is the host's own. Then it is sent on pages too. */
  readonly custom: boolean

  constructor(info: LimitInfo, custom?: { body: unknown; statusCode: number; contentType?: string }) {
    super('too_many_requests', 'Too many attempts. Try again later.', {
      withoutStack: true,
      detail: `rule ${info.rule}: ${info.max} in ${info.windowMs / 1000} s (option rateLimit.${info.rule})`,
      // The host's handler has set its headers on the reply, and ours must not replace them. Fastify drops its content
      // type when a route throws, so that is kept here.
      ...(custom === undefined
        ? { headers: { 'retry-after': String(info.retryAfter) } }
        : {
            statusCode: custom.statusCode,
            ...(custom.contentType === undefined ? {} : { headers: { 'content-type': custom.contentType } })
          })
    })
    this.custom = (custom?.body ?? null) !== null
    this.body = custom?.body ?? { error: this.error, error_description: this.message, retryAfter: info.retryAfter }
  }
}

export type Log = Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>

/** Says which rule refuses, and where to change it. */
export function refusalReports(to: { clock: Pick<Clock, 'monotonic'>; log: Log }): (info: LimitInfo) => void {
  const tell = onceAMinute('info', to)
  return ({ rule, max, windowMs }) => {
    tell({
      code: 'FST_AUTHORITY_RATE_LIMITED',
      cause: rule,
      text:
        `the rate limit ${rule} refuses requests: ${max} in ${windowMs / 1000} s. The option ` +
        `rateLimit.${rule} changes it, rateLimit.bypass leaves addresses alone.`,
      bindings: { rule, max, windowMs }
    })
  }
}

/** Sets the usual headers, for the address rule alone: the count of the account rule would tell who has an account. */
export function showStanding(reply: FastifyReply, standings: readonly AttemptStanding[]): void {
  const shown = standings.find(({ rule }) => rule !== 'account')
  if (shown === undefined) return
  reply.header('x-ratelimit-limit', shown.max)
  reply.header('x-ratelimit-remaining', shown.remaining)
  reply.header('x-ratelimit-reset', Math.ceil(shown.resetMs / 1000))
}

export function infoOf({ rule, max, windowMs, resetMs }: AttemptStanding): LimitInfo {
  return { rule: rule as RuleName, max, windowMs, retryAfter: Math.max(1, Math.ceil(resetMs / 1000)) }
}

/** Answers a refused attempt: an event, a line in the log, and what the host's `onLimit` says. @throws LimitedError */
export async function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  by: AttemptStanding,
  onLimit: RateLimitsOf<FastifyRequest, FastifyReply>['onLimit'],
  { events, log, tell }: { events: Events; log: Log; tell: (info: LimitInfo) => void }
): Promise<never> {
  const info = infoOf(by)
  events.emit('rate_limited', { ...info }, originOf(request))
  tell(info)
  if (onLimit === null) throw new LimitedError(info)
  reply.code(429).header('retry-after', String(info.retryAfter))
  let custom: ConstructorParameters<typeof LimitedError>[1]
  try {
    const body: unknown = await onLimit(request, reply, info)
    const contentType = reply.getHeader('content-type')
    custom = { body, statusCode: reply.statusCode, ...(typeof contentType === 'string' ? { contentType } : {}) }
  } catch (error) {
    hookFailed(log, error, 'rateLimit.onLimit failed; the usual answer is sent')
    reply.code(429)
  }
  throw new LimitedError(info, custom)
}

/** An answer that does not fit is a mistake in the host's code and logged as one; anything else may be an outage. */
export function hookFailed(log: Log, error: unknown, what: string): void {
  log[isMisfit(error) ? 'error' : 'warn'](...logLine('FST_AUTHORITY_HOOK_FAILED', what, { err: error }))
}
