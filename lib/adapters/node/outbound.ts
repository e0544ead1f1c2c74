import { isObject } from '../../protocol/json.ts'
import dns from 'node:dns'
import http from 'node:http'
import https from 'node:https'
import type { LookupFunction, Socket } from 'node:net'
import type { Clock } from '../../ports/clock.ts'
import {
  type FormPost,
  type Outbound,
  type OutboundAnswer,
  OutboundError,
  type OutboundRequest
} from '../../ports/outbound.ts'
import { type Distance, distanceOf, mayCall, nearer, PUBLIC, THIS_MACHINE } from '../../protocol/distance.ts'

/**
 * Sends all HTTP requests of the service to other servers. Uses `node:http` and `node:https` rather than `fetch`,
 * because `fetch` decodes content before a size limit applies, and an abort of an encoded response can end the process.
 */

/**
 * The maximum number of parallel calls to one origin. Further calls are rejected, so that a server that hangs does not
 * hold more sockets.
 */
const MAX_UNDER_WAY = 50
const MAX_HEAD_BYTES = 16_384
/** The maximum length of an `ETag` or `Last-Modified` value that callers get and keep. A longer value is dropped. */
const MAX_VALIDATOR = 256
/** The maximum number of informational responses (1xx) before the final response. */
const MAX_INFORMATION = 8
/** How long an idle connection stays open for reuse, so that the calls of one sign-in share a connection. */
const IDLE_MS = 1000
/** The form of the error codes of Node.js and OpenSSL. */
const CODE = /^[A-Z][A-Z0-9_]{1,60}$/

export function outbound(clock: Clock): Outbound {
  const underWay = new Map<string, number>()
  const agents = new Map<string, http.Agent>()

  /** Calls share connections only if they have the same `bound`, because only a new connection checks the bound. */
  const agentFor = (protocol: string, bound: Distance): http.Agent => {
    const key = `${protocol}${bound}`
    const agent =
      agents.get(key) ?? new (protocol === 'https:' ? https : http).Agent({ keepAlive: true, timeout: IDLE_MS })
    agents.set(key, agent)
    return agent
  }

  return async (request) => {
    if (!mayCall(request.url, request.noNearerThan)) throw new OutboundError('BAD_URL')
    const url = new URL(request.url)
    const before = underWay.get(url.origin) ?? 0
    if (before >= MAX_UNDER_WAY) throw new OutboundError('BUSY')
    underWay.set(url.origin, before + 1)
    try {
      return await exchange(url, request, agentFor(url.protocol, request.noNearerThan), clock)
    } finally {
      const left = (underWay.get(url.origin) ?? 1) - 1
      if (left === 0) underWay.delete(url.origin)
      else underWay.set(url.origin, left)
    }
  }
}

/**
 * Returns the distance of the nearest address of the host in `url`, the URL of this service. If the lookup fails,
 * returns `PUBLIC`, the strictest bound for calls.
 */
export async function distanceOfHost(url: string): Promise<Distance> {
  const { hostname } = new URL(url)
  return await new Promise((resolve) => {
    dns.lookup(hostname.replace(/^\[|\]$/g, ''), { all: true }, (error, found) => {
      const distances = error === null ? found.map(({ address }) => distanceOf(address)) : []
      resolve(distances.reduce(nearer, PUBLIC))
    })
  })
}

/** Resolves a name to the addresses that are at least as far away as `bound`. Fails with `TOO_NEAR` if none is. */
function lookupFrom(bound: Distance): LookupFunction {
  return (hostname, options, callback) => {
    dns.lookup(hostname, { ...options, all: true }, (error, found) => {
      const [first, ...others] = error === null ? found.filter(({ address }) => distanceOf(address) >= bound) : []
      if (first === undefined) callback(error ?? new OutboundError('TOO_NEAR'), '', 0)
      else if (options.all === true) callback(null, [first, ...others])
      else callback(null, first.address, first.family)
    })
  }
}

async function exchange(
  url: URL,
  { method, headers, body, noNearerThan, reads, maxBytes, timeoutMs, signal }: OutboundRequest,
  agent: http.Agent,
  clock: Clock
): Promise<OutboundAnswer> {
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    let information = 0
    /** The status and headers of the response, before its body. */
    let head: Omit<OutboundAnswer, 'text'> | null = null
    let settled = false
    let cancel = (): void => {}

    const sent = (url.protocol === 'https:' ? https : http).request(url, {
      method,
      headers: {
        accept: 'application/json',
        ...headers,
        'accept-encoding': 'identity',
        'user-agent': 'fastify-authority',
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) })
      },
      agent,
      lookup: lookupFrom(noNearerThan),
      maxHeaderSize: MAX_HEAD_BYTES
    })
    const settle = (finish: () => void): void => {
      if (settled) return
      settled = true
      cancel()
      signal?.removeEventListener('abort', abort)
      finish()
    }
    const answer = (): void => {
      const known = head ?? { status: 0, type: '', caching: '', conditions: {}, distance: noNearerThan }
      settle(() => {
        resolve({ ...known, text: Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8') })
      })
    }
    const fail = (code: string): void => {
      if (head !== null && reads === 'status') answer()
      else
        settle(() => {
          reject(new OutboundError(code))
        })
      sent.destroy()
    }
    const abort = (): void => {
      fail('ABORTED')
    }
    cancel = clock.after(timeoutMs, () => {
      fail('TIMEOUT')
    })
    signal?.addEventListener('abort', abort)

    sent.on('socket', listenForErrors)
    sent.on('error', (error) => {
      fail(codeOf(error))
    })
    sent.on('close', () => {
      fail('ECONNRESET')
    })
    sent.on('information', () => {
      if (++information > MAX_INFORMATION) fail('HPE_HEADER_OVERFLOW')
    })
    sent.on('response', (response) => {
      response.on('error', (error) => {
        fail(codeOf(error))
      })
      response.on('close', () => {
        fail('ECONNRESET')
      })
      const { statusCode: status = 0, headers: answered } = response
      head = {
        status,
        type: answered['content-type'] ?? '',
        caching: answered['cache-control'] ?? '',
        conditions: conditionsOf(answered),
        distance: distanceOf(response.socket.remoteAddress ?? '')
      }
      const encoding = answered['content-encoding']?.trim().toLowerCase() ?? 'identity'
      if (status < 200) fail('HPE_INVALID_STATUS')
      else if (encoding !== 'identity') fail('ENCODED')
      else if (reads === 'status' && status < 300) fail('UNREAD')
      else if (reads === 'whole' && Number(answered['content-length'] ?? 0) > maxBytes) fail('TOO_LARGE')
      else {
        response.on('data', (chunk: Buffer) => {
          if (settled) return
          length += chunk.length
          chunks.push(chunk)
          if (length > maxBytes) fail('TOO_LARGE')
        })
        response.on('end', () => {
          if (response.complete) answer()
        })
      }
    })
    sent.end(body)
    if (signal?.aborted === true) abort()
  })
}

/**
 * A destroyed socket may still emit an error when neither the request nor the agent listens. An unhandled error would
 * end the process.
 */
function listenForErrors(socket: Socket): void {
  if (!socket.listeners('error').includes(ignore)) socket.on('error', ignore)
}

function ignore(): void {}

/**
 * Returns the code of a network error. `NO_CONNECTION` if the error has no code of Node.js or OpenSSL. Leaves out the
 * message, because it may quote what the other server sent, such as the names in its certificate.
 */
function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' && CODE.test(error.code) ? error.code : 'NO_CONNECTION'
}

/** The maximum number of bytes that are read of a failed response. */
const MAX_BODY = 1024
const MAX_ERROR_LENGTH = 64

/**
 * Makes a function that posts a form and reads the status and the `error` of the response. `ownDistance`: the distance
 * of this service's own addresses, which is the minimum for the URL of a third party.
 */
export function formPost(outbound: Outbound, ownDistance: () => Promise<Distance>): FormPost {
  return async (url, params, { timeoutMs, thirdParty }) => {
    const { status, text } = await outbound({
      url,
      method: 'POST',
      headers: {
        accept: 'application/json, */*;q=0.1',
        'content-type': 'application/x-www-form-urlencoded;charset=UTF-8'
      },
      body: new URLSearchParams(params).toString(),
      noNearerThan: thirdParty ? await ownDistance() : THIS_MACHINE,
      reads: 'status',
      maxBytes: MAX_BODY,
      timeoutMs
    })
    const error = errorIn(text)
    return error === undefined ? { status } : { status, error }
  }
}

function errorIn(text: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    const error = isObject(parsed) ? parsed['error'] : undefined
    return typeof error === 'string' && error !== ''
      ? error.slice(0, MAX_ERROR_LENGTH).replaceAll(/[^\x20-\x7e]/g, '?')
      : undefined
  } catch {
    return undefined
  }
}

function conditionsOf({ etag, 'last-modified': modified }: http.IncomingHttpHeaders): Record<string, string> {
  const fits = (value: string | undefined): value is string => value !== undefined && value.length <= MAX_VALIDATOR
  return {
    ...(fits(etag) ? { 'if-none-match': etag } : {}),
    ...(fits(modified) ? { 'if-modified-since': modified } : {})
  }
}
