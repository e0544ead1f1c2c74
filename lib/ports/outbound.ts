import type { Distance } from '../protocol/distance.ts'

/** A request to a server that is not ours. */
export interface OutboundRequest {
  /** `https:`, or `http:` on this machine where `noNearerThan` allows it. Without user name and password. */
  url: string
  method: 'GET' | 'POST'
  headers?: Readonly<Record<string, string>> | undefined
  body?: string | undefined
  /** The distance of the party that named the URL. No address that is nearer is connected to. */
  noNearerThan: Distance
  /**
   * How much of the answer is read. `whole`: all of it, or the call is refused. `status`: nothing of a success, and of
   * a refusal the first `maxBytes` that arrive in time.
   */
  reads: 'whole' | 'status'
  maxBytes: number
  timeoutMs: number
  /** Ends the call early. */
  signal?: AbortSignal | undefined
}

export interface OutboundAnswer {
  /** 200 or more. A redirect is not followed. */
  status: number
  /** The header `Content-Type`, or an empty string. */
  type: string
  text: string
  /** The distance of the server that answered. */
  distance: Distance
}

/**
 * Sends one request. It asks for no content encoding and refuses an answer that has one. Head, body and time are
 * bounded, and so is the number of calls under way to one origin. Nothing that a server does ends the process.
 * @throws OutboundError
 */
export type Outbound = (request: OutboundRequest) => Promise<OutboundAnswer>

/**
 * Why no answer could be used. `code`: `TIMEOUT`, `ABORTED`, `BUSY`, `BAD_URL`, `TOO_NEAR`, `TOO_LARGE`, `ENCODED`, or
 * a code of Node.js or OpenSSL. Nothing that was sent or answered is part of it.
 */
export class OutboundError extends Error {
  readonly code: string

  constructor(code: string) {
    super(`The call came to nothing: ${code}.`)
    this.name = 'OutboundError'
    this.code = code
  }
}

/** The answer of a client's server. */
export interface FormAnswer {
  status: number
  /** The `error` of a JSON answer that is no success: printable ASCII, 64 characters at most. */
  error?: string
}

/**
 * Posts a form to a client's server. `thirdParty`: a URL that another party named is called only at addresses that are
 * no nearer than this service's own. Follows no redirect, sends no credentials, reads at most a kilobyte of the answer,
 * and of a success nothing. Rejects where there is no answer within `timeoutMs`.
 */
export type FormPost = (
  url: string,
  params: Record<string, string>,
  options: { timeoutMs: number; thirdParty: boolean }
) => Promise<FormAnswer>
