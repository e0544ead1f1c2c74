import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError, type OAuthErrorCode } from '../errors.ts'
import { LimitedError } from './limit.ts'

/**
 * One shape for every error of our routes. Errors that are not ours (a host's hook, its rate limit) go on to the host's error
 * handler as they are.
 */
export function useErrorReply (child: FastifyInstance): void {
  child.setErrorHandler((error: FastifyError, request, reply) => {
    const wire = wireError(error)
    if (wire === undefined) throw error
    sendOAuthError(wire, request, reply)
  })
}

export function sendOAuthError (error: OAuthError, request: FastifyRequest, reply: FastifyReply): void {
  if (error.statusCode >= 500) request.log.error({ err: error.cause ?? error, detail: error.detail }, error.message)
  else request.log.info({ error: error.error, detail: error.detail }, 'request refused')
  for (const [name, value] of Object.entries(error.headers)) reply.header(name, value)
  noStore(reply)
  const body = error instanceof LimitedError ? error.body : { error: error.error, error_description: error.message }
  // A custom 429 handler may have chosen the status already.
  if (!(error instanceof LimitedError && reply.statusCode !== 200)) reply.code(error.statusCode)
  reply.send(body)
}

/** Tokens and whatever tells of accounts are never cached. @see RFC 6749 §5.1 */
export function noStore (reply: FastifyReply): void {
  reply.header('cache-control', 'no-store')
  reply.header('pragma', 'no-cache')
}

/**
 * Runs a handler's work. What is no wire error (a store that is down, a bug) is logged with its cause and answered with a constant text: an
 * outage may be over soon, so it is 503 with `Retry-After`.
 */
export async function guarded<T> (work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof OAuthError) throw error
    throw new OAuthError('temporarily_unavailable', 'The service is not available at the moment.', { headers: { 'retry-after': '5' }, cause: error })
  }
}

function wireError (error: FastifyError): OAuthError | undefined {
  if (error instanceof OAuthError) return error
  if (error.validation !== undefined) return new OAuthError('invalid_request', 'The request does not fit.')
  const status = CONTENT_ERRORS[error.code]
  if (status !== undefined) return new OAuthError('invalid_request', CONTENT_MESSAGES[status] ?? 'The request does not fit.', { statusCode: status })
  return undefined
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

export type { OAuthErrorCode }
