import type { Distance } from '../protocol/distance.ts'

/** A request to another server. */
export interface OutboundRequest {
  /** `https:`, or `http:` on this machine if `noNearerThan` allows it. Without user name and password. */
  url: string
  method: 'GET' | 'POST'
  headers?: Readonly<Record<string, string>> | undefined
  body?: string | undefined
  /** The distance of the party that named the URL. The request does not connect to an address nearer than this. */
  noNearerThan: Distance
  /**
   * The part of the response to read. `whole`: all of it, or the call is refused. `status`: nothing of a success, and
   * the first `maxBytes` of a failure.
   */
  reads: 'whole' | 'status'
  maxBytes: number
  timeoutMs: number
  /** Ends the call early. */
  signal?: AbortSignal | undefined
}

export interface OutboundAnswer {
  /** The HTTP status, 200 or more. Redirects are not followed. */
  status: number
  /** The header `Content-Type`, or an empty string. */
  type: string
  /** The header `Cache-Control`, or an empty string. */
  caching: string
  /**
   * The request headers with which a later request can ask whether this response has changed. Empty without a
   * validator.
   */
  conditions: Readonly<Record<string, string>>
  text: string
  /** The distance of the server that answered. */
  distance: Distance
}

/**
 * Sends one request. Asks for no content encoding, and reads no body that has one. Head, body, time and the number
 * of parallel calls to one origin are bounded. No response can end the process.
 * @throws OutboundError
 */
export type Outbound = (request: OutboundRequest) => Promise<OutboundAnswer>

/**
 * The reason why no response could be used. `code`: `TIMEOUT`, `ABORTED`, `BUSY`, `BAD_URL`, `TOO_NEAR`, `TOO_LARGE`,
 * `ENCODED`, `NO_CONNECTION`, or a code of Node.js or OpenSSL. Contains nothing of the request or the response.
 */
export class OutboundError extends Error {
  readonly code: string

  constructor(code: string) {
    super(`The call came to nothing: ${code}.`)
    this.name = 'OutboundError'
    this.code = code
  }
}

/** The response of a client's server. */
export interface FormAnswer {
  status: number
  /** The `error` of a JSON response with a failure status: printable ASCII, 64 characters at most. */
  error?: string
}

/**
 * Posts a form to a client's server. `thirdParty`: a URL that another party named, which is only called at addresses
 * that are no nearer than this service's own. Follows no redirect, sends no credentials, reads at most a kilobyte of a
 * failure and nothing of a success. Rejects without a response within `timeoutMs`.
 */
export type FormPost = (
  url: string,
  params: Record<string, string>,
  options: { timeoutMs: number; thirdParty: boolean }
) => Promise<FormAnswer>
