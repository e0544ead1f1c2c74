/** A call to another provider, and what is read of its answer. */
import { UpstreamError, type UpstreamFailure } from '../../errors.ts'
import { type Outbound, OutboundError } from '../../ports/outbound.ts'
import { type Distance, mayCall } from '../../protocol/distance.ts'
import { isJsonType } from '../../protocol/json.ts'

/** Too many calls wait for the provider, which may be well. */
export class BusyError extends UpstreamError {
  constructor(of: string) {
    super('outage', `Too many calls of ${of} are under way.`)
  }
}

const TIMEOUT_MS = 5000
const MAX_BYTES = 256 * 1024
const FORM_TYPE = /^(?:application\/x-www-form-urlencoded|text\/plain)(?:\s*;|$)/i

export interface ProviderRequest {
  url: string
  method: 'GET' | 'POST'
  headers?: Record<string, string> | undefined
  body?: string | undefined
  /** The endpoint, in the words of a sentence: `the token endpoint`. */
  of: string
  /** The reason of the error for an unusable answer. */
  reason: UpstreamFailure
  /** True to read a form-encoded answer too. */
  form?: boolean
  /** True to read nothing of the answer but its status. */
  empty?: boolean
}

/** The means to call a provider. */
export interface Reach {
  outbound: Outbound
  /** The distance of the party that named the URLs. */
  noNearerThan: Distance
  /** Ends the request early. */
  signal?: AbortSignal | undefined
}

/** A response with status 200 to 299, or 400 and more. `json` is the parsed `text`. */
export interface ProviderAnswer {
  status: number
  json: unknown
  text: string
  distance: Distance
}

/**
 * Sends a request and resolves to status and JSON. A response takes at most five seconds and 256 kB.
 * @throws UpstreamError `outage` without a timely response, otherwise the reason that the request names; neither
 * contains any of the response
 */
export async function askProvider(
  { url, method, headers, body, of, reason, form = false, empty = false }: ProviderRequest,
  { outbound, noNearerThan, signal }: Reach
): Promise<ProviderAnswer> {
  if (!mayCall(url, noNearerThan))
    throw new UpstreamError(reason, `The URL of ${of} is not an https: one, or nearer than the party that named it.`)
  const { status, type, text, distance } = await outbound({
    url,
    method,
    headers,
    body,
    noNearerThan,
    reads: empty ? 'status' : 'whole',
    maxBytes: MAX_BYTES,
    timeoutMs: TIMEOUT_MS,
    signal
  }).catch((error: unknown): never => {
    throw failureOf(error, of, reason)
  })
  const readable = empty || isJsonType(type) || (form && FORM_TYPE.test(type))
  if ((status >= 300 && status < 400) || !readable)
    throw new UpstreamError(
      reason,
      `${upper(of)} answered ${status} with ${readable ? 'a redirect' : 'something else than JSON'}.`
    )
  if (empty) return { status, json: null, text, distance }
  return {
    status,
    json: isJsonType(type) ? parse(text, of, reason) : Object.fromEntries(new URLSearchParams(text)),
    text,
    distance
  }
}

function failureOf(error: unknown, of: string, reason: UpstreamFailure): UpstreamError {
  const code = error instanceof OutboundError ? error.code : 'NO_CONNECTION'
  if (code === 'BUSY') return new BusyError(of)
  if (code === 'TOO_LARGE') return new UpstreamError(reason, `${upper(of)} answered more than ${MAX_BYTES} bytes.`)
  if (code === 'ENCODED')
    return new UpstreamError(reason, `${upper(of)} answered with a content encoding that was not asked for.`)
  if (code === 'TOO_NEAR')
    return new UpstreamError(reason, `The address of ${of} is nearer to this service than the party that named it.`)
  if (code === 'TIMEOUT' || code === 'ABORTED')
    return new UpstreamError('outage', `${upper(of)} did not answer in time.`)
  return new UpstreamError('outage', `${upper(of)} can't be reached (${code}).`)
}

function parse(text: string, of: string, reason: UpstreamFailure): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UpstreamError(reason, `${upper(of)} answered something else than JSON.`)
  }
}

function upper(of: string): string {
  return of.charAt(0).toUpperCase() + of.slice(1)
}
