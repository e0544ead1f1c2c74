/** The causes of events. */

/** The person or program that acts on a user. `host`: the code of the host. */
export interface Actor {
  type: 'user' | 'client' | 'host' | 'cli'
  id: string
}

/** The origin of the request that led to an event. */
export interface Origin {
  /**
   * Fastify's `request.id`, at most 128 characters of visible ASCII. `null` if no request led to it: `app.authority`
   * was called, or the service did it by itself.
   */
  requestId: string | null
  /** The client's address as Fastify's `request.ip` has it. */
  ip?: string
  userAgent?: string | null
}

/** The origin of an event that no request caused: the host's own code did, or time. */
export const NO_REQUEST: Origin = Object.freeze({ requestId: null })

/** Why a client did not prove itself. The client is not told. */
export type ClientFailure =
  | 'unknown_client'
  | 'no_secret'
  | 'wrong_secret'
  | 'wrong_method'
  | 'wrong_signature'
  | 'replayed'
  | 'malformed_credentials'
