/** Calls to other providers and to servers of clients, and a cache for their documents. */
import { UpstreamError, type UpstreamFailure } from '../../errors.ts'
import { type Outbound, OutboundError } from '../../ports/outbound.ts'
import { type Distance, mayCall } from '../../protocol/distance.ts'
import { isJsonType } from '../../protocol/json.ts'
import type { Clock } from '../../ports/clock.ts'

/** Too many calls of this service to the provider are under way. The provider itself may work. */
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
  /** The endpoint in words for an error message, such as `the token endpoint`. */
  of: string
  /** The reason of the error for an unusable answer. */
  reason: UpstreamFailure
  /** True to read a form-encoded answer too. */
  form?: boolean
  /** True to read only the status of the answer. */
  empty?: boolean
}

/** The means to call a provider. */
export interface Reach {
  outbound: Outbound
  /** The distance of the party that named the URLs. A nearer address is not called. */
  noNearerThan: Distance
  /** Ends the request early. */
  signal?: AbortSignal | undefined
}

/**
 * A response with status 200 to 299, or 400 and more. `json` is the parsed `text`, an object of the fields of a form,
 * or `null` if only the status was wanted.
 */
export interface ProviderAnswer {
  status: number
  json: unknown
  text: string
  distance: Distance
}

/**
 * Sends a request and resolves to status and JSON. A response takes at most five seconds and 256 kB.
 * @throws UpstreamError `outage` without a timely response, or if too many calls are under way (`BusyError`). Otherwise
 * the reason that the request names. The error quotes nothing of the response except its status.
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

/**
 * The maximum time for which a failure is cached, the minimum time between two fetches of an outdated value, and the
 * default of `pauseMs`.
 */
const PAUSE_MS = 10_000
/** The time for which the first failure is cached. Each further failure in a row doubles it, up to `PAUSE_MS`. */
const FIRST_PAUSE_MS = 1000

interface Kept<Value> {
  /**
   * Returns the kept value, and waits only for the first. If the value is outdated, returns it and fetches a new value
   * in the background.
   * @throws the error of the last fetch, if there is no value yet. The error is cached for one second after the first
   * failure, and for up to ten seconds after further failures.
   */
  get(): Promise<Value>
  /**
   * Like `get`, but waits for the fetch that replaces an outdated value. If that fetch fails, later callers get the
   * outdated value at once until a fetch succeeds.
   */
  current(): Promise<Value>
  /**
   * Fetches the value again, or waits for the fetch under way. `null` if the fetch fails, or if `renewed` began the
   * last one less than `pauseMs` ago.
   */
  renewed(): Promise<Value | null>
}

/**
 * Caches a document of another server that changes rarely. Parallel calls share one fetch. A failure is cached too, but
 * does not replace a known value.
 * @param pauseMs the minimum time between two fetches that `renewed` begins
 */
export function kept<Value>(
  fetchIt: () => Promise<Value>,
  maxAgeMs: number,
  clock: Clock,
  pauseMs = PAUSE_MS
): Kept<Value> {
  let known: { value: Value; at: number } | null = null
  let failed: { error: unknown; until: number; pauseMs: number } | null = null
  let pending: Promise<Value> | null = null
  let retriedAt = -Infinity
  let renewedAt = -Infinity

  const fetched = async (): Promise<Value> => {
    const at = clock.monotonic()
    try {
      const value = await fetchIt()
      known = { value, at }
      failed = null
      return value
    } catch (error) {
      const pauseMs = failed === null ? FIRST_PAUSE_MS : Math.min(2 * failed.pauseMs, PAUSE_MS)
      failed = { error, until: clock.monotonic() + pauseMs, pauseMs }
      throw error
    }
  }
  const refresh = async (): Promise<Value> =>
    await (pending ??= fetched().finally(() => {
      pending = null
    }))

  async function get(): Promise<Value> {
    if (known === null) {
      if (failed !== null && pending === null && clock.monotonic() < failed.until) throw failed.error
      return await refresh()
    }
    const { value, at } = known
    const now = clock.monotonic()
    if (now - at >= maxAgeMs && now - retriedAt >= PAUSE_MS) {
      retriedAt = now
      refresh().catch(() => {})
    }
    return value
  }

  return {
    get,
    async current() {
      const isDown = failed !== null
      const value = await get()
      return pending === null || isDown ? value : await refresh().catch(() => value)
    },
    async renewed() {
      if (pending === null) {
        const now = clock.monotonic()
        if (now - renewedAt < pauseMs) return null
        renewedAt = now
      }
      return await refresh().catch(() => null)
    }
  }
}
