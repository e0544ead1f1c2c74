/** What leaves for another provider, and what is read of its answer. */
import { UpstreamError, type UpstreamFailure } from '../../errors.ts'
import type { Clock } from '../../ports/clock.ts'
import { isLoopbackHost } from '../../protocol/redirect-uri.ts'

const TIMEOUT_MS = 5000
const MAX_BYTES = 256 * 1024
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i
const FORM_TYPE = /^(?:application\/x-www-form-urlencoded|text\/plain)(?:\s*;|$)/i
/** As Node.js and OpenSSL spell the codes of errors. */
const CODE = /^[A-Z][A-Z0-9_]{1,60}$/

export interface OutboundRequest {
  url: string
  method: string
  headers?: Record<string, string> | undefined
  body?: string | undefined
  /** What it is for, in the words of a sentence: `the token endpoint`. */
  of: string
  /** What it means where the answer is not usable. */
  reason: UpstreamFailure
  /** Whether a form-encoded answer is read too. */
  form?: boolean
  /** Whether nothing is read of the answer but its status. */
  empty?: boolean
}

export interface Outbound {
  clock: Clock
  /** Ends the request early. */
  signal?: AbortSignal | undefined
}

/** Whether this service asks anything there: by TLS, or on this machine. */
export function isReachable(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname, username, password } = new URL(url)
  return (
    username === '' && password === '' && (protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname)))
  )
}

/**
 * Sends it, and gives status and JSON. No redirect is followed, no cookie is kept, five seconds and 256 kB are the most
 * it takes.
 * @throws UpstreamError `outage` where nobody answers in time, else the reason of the request; neither holds anything
 * that was answered
 */
export async function send(
  { url, method, headers, body, of, reason, form = false, empty = false }: OutboundRequest,
  { clock, signal }: Outbound
): Promise<{ status: number; json: unknown }> {
  if (!isReachable(url)) throw new UpstreamError(reason, `The URL of ${of} is not an https: one.`)
  const abort = new AbortController()
  const cancel = clock.after(TIMEOUT_MS, () => {
    abort.abort()
  })
  let unread = true
  const signals = signal === undefined ? abort.signal : AbortSignal.any([abort.signal, signal])
  try {
    const response = await fetch(url, {
      method,
      headers: { accept: 'application/json', ...headers, 'user-agent': 'fastify-authority' },
      redirect: 'manual',
      credentials: 'omit',
      signal: signals,
      ...(body === undefined ? {} : { body })
    })
    const { status } = response
    const type = response.headers.get('content-type') ?? ''
    const readable = empty || JSON_TYPE.test(type) || (form && FORM_TYPE.test(type))
    if (status < 200 || (status >= 300 && status < 400) || !readable)
      throw new UpstreamError(
        reason,
        `${upper(of)} answered ${status} with ${readable ? 'a redirect' : 'something else than JSON'}.`
      )
    if (empty) return { status, json: null }
    const text = await read(response, of, reason)
    unread = false
    return {
      status,
      json: JSON_TYPE.test(type) ? parse(text, of, reason) : Object.fromEntries(new URLSearchParams(text))
    }
  } catch (error) {
    if (error instanceof UpstreamError) throw error
    if (signals.aborted) throw new UpstreamError('outage', `${upper(of)} did not answer in time.`)
    throw new UpstreamError('outage', `${upper(of)} can't be reached (${codeOf(error)}).`)
  } finally {
    cancel()
    // Whatever was not read is given up, with its socket.
    if (unread) abort.abort()
  }
}

async function read(response: Response, of: string, reason: UpstreamFailure): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > MAX_BYTES) throw new UpstreamError(reason, `${upper(of)} answered more than ${MAX_BYTES} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parse(text: string, of: string, reason: UpstreamFailure): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UpstreamError(reason, `${upper(of)} answered something else than JSON.`)
  }
}

/**
 * Messages of network errors may quote what the other side sent, such as the names of a certificate; their codes are
 * words of Node.js.
 */
function codeOf(error: unknown): string {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    if ('code' in one && typeof one.code === 'string' && CODE.test(one.code)) return one.code
  }
  return 'no connection'
}

function upper(of: string): string {
  return of.charAt(0).toUpperCase() + of.slice(1)
}
