import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isBug, isMisfit, MisfitError, MissingPackageError, OAuthError } from '../../errors.ts'
import { failedCallOf, isOutage } from '../../ports/outage.ts'
import { logLine, onceAMinute } from '../../ports/log.ts'
import type { Events } from '../../events.ts'
import type { LimitInfo, RateLimitsOf, RuleName } from '../../limits/rules.ts'
import type { AttemptStanding } from '../../ports/attempt-store.ts'
import type { Clock } from '../../ports/clock.ts'
import { originOf } from './request-origin.ts'

/** The replies that the host's error handler has taken over. */
const hostReplies = new WeakSet<FastifyReply>()

/**
 * Sends every error of our routes in one shape. Any other error, such as that of a host's hook, goes to the error
 * handler that the host has when the error occurs. Fastify's own chain would miss a handler that the host sets after
 * us. `change` can replace an error before it is sent.
 */
export function useErrorReply(
  child: FastifyInstance,
  host: FastifyInstance,
  change?: (error: OAuthError, request: FastifyRequest) => OAuthError
): void {
  const handOn = toHostHandler(host)
  child.setErrorHandler((error: FastifyError, request, reply) => {
    const wire = wireError(error, request)
    return wire === undefined
      ? handOn(error, request, reply)
      : sendOAuthError(change?.(wire, request) ?? wire, request, reply)
  })
}

/** Passes an error to the error handler that the host has when the error occurs. */
export function toHostHandler(
  host: FastifyInstance
): (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => unknown {
  const inherited = host.errorHandler
  return (error, request, reply) => {
    hostReplies.add(reply)
    // If the host has set no handler since, throws the error on to the handler that this instance inherits. If that is
    // Fastify's default handler, a call from here would log twice. A value that is no Error is not thrown, because
    // Fastify would send it as a payload with 200.
    if (host.errorHandler === inherited && error instanceof Error) throw error
    return host.errorHandler(error, request, reply)
  }
}

/** Serializes our answers with `JSON.stringify`, even if the host has set a serializer of its own. */
export function usePlainJson(child: FastifyInstance): void {
  child.addHook('preSerialization', (_request, reply, payload, done) => {
    if (!hostReplies.has(reply)) reply.serializer(JSON.stringify)
    done(null, payload)
  })
}

/**
 * Sends an error in the shape of RFC 6749 §5.2, without the host's serializers. Sends the body of a `LimitedError` as
 * it is.
 */
export function sendOAuthError(error: OAuthError, request: FastifyRequest, reply: FastifyReply): void {
  logRefusal(error, request)
  reply.headers(error.headers)
  noStore(reply)
  if (error instanceof LimitedError) {
    // The host's `onLimit` may have set a status.
    if (reply.statusCode === 200) reply.code(error.statusCode)
    reply.send(error.body)
    return
  }
  reply.code(error.statusCode).type('application/json; charset=utf-8').serializer(JSON.stringify)
  reply.send({
    error: error.error,
    error_description: error.message,
    ...(error.reason === 'email_not_verified' ? { error_reason: error.reason } : {}),
    ...error.members
  })
}

/**
 * Logs a failure of the service as an error, with its cause and the failed call of a store. Logs a refused request at
 * the level debug, because strangers could fill the log otherwise. Logs an overload at debug too, because an overload
 * has a line of its own (FST_AUTHORITY_HASH_QUEUE_FULL).
 */
export function logRefusal(error: OAuthError, request: FastifyRequest): void {
  // Logs nothing for a route without a guard, because Fastify or the host's error handler reports that mistake of the
  // host.
  if (error.code === 'FST_AUTHORITY_NO_GUARD') return
  const { cause, detail } = error
  if (error.statusCode >= 500 && (cause !== undefined || error.error !== 'temporarily_unavailable')) {
    const code =
      cause instanceof MisfitError || cause instanceof MissingPackageError
        ? cause.code
        : error.error === 'server_error'
          ? 'FST_AUTHORITY_FAULT'
          : error.error === 'connection_failed'
            ? 'FST_AUTHORITY_CONNECTION_FAILED'
            : 'FST_AUTHORITY_UNAVAILABLE'
    const call = failedCallOf(cause)
    const text =
      cause instanceof MisfitError ? cause.message : call === null ? error.message : `${call} failed. ${error.message}`
    request.log.error(...logLine(code, text, { err: cause ?? error, detail }))
  } else {
    request.log.debug({ error: error.error, detail }, 'fastify-authority: request refused')
  }
}

/** Forbids caching, for answers with tokens or with anything about an account. @see RFC 6749 §5.1 */
export function noStore(reply: FastifyReply): void {
  reply.header('cache-control', 'no-store')
  reply.header('pragma', 'no-cache')
}

/** Forbids caching on routes whose answers say something about a person. */
export function noStoreHook(_request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  noStore(reply)
  done()
}

/** Runs a handler's work. Turns any error but an `OAuthError` into one with a constant text (see `serviceError`). */
export async function guarded<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof OAuthError) throw error
    throw serviceError(error)
  }
}

/**
 * The error to send for a failure of the service. 500 for a bug, or for an invalid result of the host's code, which a
 * repeat would not change. 503 with `Retry-After` for any other failure, such as an outage of a store, which may soon
 * end.
 */
export function serviceError(error: unknown): OAuthError {
  return !isOutage(error) && (isMisfit(error) || isBug(error))
    ? new OAuthError('server_error', 'The service failed.', { cause: error })
    : new OAuthError('temporarily_unavailable', 'The service is not available at the moment.', {
        headers: { 'retry-after': '5' },
        cause: error
      })
}

/**
 * The error to send for an `OAuthError`, or for a request that the body parser or the schema refused. `undefined` for
 * any other error.
 */
export function wireError(error: FastifyError, request?: FastifyRequest): OAuthError | undefined {
  if (error instanceof OAuthError) return error
  if (error.validation !== undefined) return new OAuthError('invalid_request', 'The request does not fit.')
  const status = CONTENT_ERRORS[error.code]
  if (status !== undefined)
    return new OAuthError(
      'invalid_request',
      status === 415 && request !== undefined
        ? refusedType(request)
        : (CONTENT_MESSAGES[status] ?? 'The request does not fit.'),
      { statusCode: status }
    )
  return undefined
}

const BODY_TYPES = ['application/json', 'application/x-www-form-urlencoded']

function refusedType({ headers, server }: FastifyRequest): string {
  const given = headers['content-type'] ?? ''
  const taken = BODY_TYPES.filter((type) => server.hasContentTypeParser(type))
  const problem = given === '' ? 'is missing' : `'${given.slice(0, 80)}' is not supported here`
  return `The content type ${problem}: send ${taken.join(' or ')}.`
}

const CONTENT_ERRORS: Record<string, number> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 415,
  FST_ERR_CTP_EMPTY_TYPE: 415,
  FST_ERR_CTP_INVALID_TYPE: 415,
  FST_ERR_CTP_BODY_TOO_LARGE: 413,
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 400,
  FST_ERR_CTP_EMPTY_JSON_BODY: 400,
  FST_ERR_CTP_INVALID_JSON_BODY: 400
}

const CONTENT_MESSAGES: Record<number, string> = {
  400: 'The body is not valid.',
  413: 'The body is too large.',
  415: 'The content type is not supported here.'
}

/**
 * The refusal of a rate limit: 429, or the status that the host's `onLimit` set. `body`: the usual body, or the one
 * that `onLimit` returned. @see RFC 6585 §4
 */
export class LimitedError extends OAuthError {
  readonly body: unknown
  /** True if `body` is the host's own. Page routes then send `body` instead of an error page. */
  readonly custom: boolean

  constructor(info: LimitInfo, custom?: { body: unknown; statusCode: number; contentType?: string }) {
    super('too_many_requests', 'Too many attempts. Try again later.', {
      withoutStack: true,
      detail: `rule ${info.rule}: ${info.max} in ${info.windowMs / 1000} s (option rateLimit.${info.rule})`,
      // `onLimit` has set its headers on the reply, and ours must not replace them. Fastify drops the content type when
      // a route throws, so the content type is kept here.
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

/** Logs which rule refuses and which option changes it, at most once a minute per rule. */
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

/**
 * Sets the `x-ratelimit-*` headers for the first rule but `account`, because the count of that rule would reveal who
 * has an account.
 */
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

/**
 * Refuses an attempt: emits an event, logs the rule, and throws the answer, which the host's `onLimit` can replace.
 * @throws LimitedError
 */
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

/**
 * Logs the failure of a host's function: as an error if its result is invalid, which is a mistake in the host's code.
 * Any other failure may be an outage and is logged as a warning.
 */
export function hookFailed(log: Log, error: unknown, what: string): void {
  log[isMisfit(error) ? 'error' : 'warn'](...logLine('FST_AUTHORITY_HOOK_FAILED', what, { err: error }))
}
