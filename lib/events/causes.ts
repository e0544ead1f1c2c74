/** The actor and the request that led to an event. */

/** The person or program that acts on a user. `host`: the code of the host. */
export interface Actor {
  type: 'user' | 'client' | 'host' | 'cli'
  id: string
}

/** The origin of the request that led to an event. */
export interface Origin {
  /**
   * Fastify's `request.id`, at most 128 characters of visible ASCII. `null` if no request caused the event: the host
   * called `app.authority`, or the service acted on its own.
   */
  requestId: string | null
  /** The client's IP address: Fastify's `request.ip`. */
  ip?: string
  userAgent?: string | null
}

/** The origin of an event that no request caused, but a call of the host's code or a timer. */
export const NO_REQUEST: Origin = Object.freeze({ requestId: null })

/** The reason why client authentication failed, for events and the log. */
export type ClientFailure =
  | 'unknown_client'
  | 'no_secret'
  | 'wrong_secret'
  | 'wrong_method'
  | 'wrong_signature'
  | 'replayed'
  | 'malformed_credentials'
