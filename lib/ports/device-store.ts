/** A device authorization request, which waits for the decision of a user. Times are milliseconds since the epoch. */
export interface DeviceRequest {
  /** 16 characters of a digest of the user code. Not a credential. */
  id: string
  clientId: string
  /** The scope to grant if the user allows the request, space separated. */
  scope: string
  /** The APIs, by the `aud` of their tokens. */
  resources: string[]
  /** The thumbprint of the DPoP key that the code is bound to. `null`: none. @see RFC 9449 §10 */
  jkt: string | null
  createdAt: number
  expiresAt: number
  /** The IP address and the user agent of the device. */
  ip: string | null
  userAgent: string | null
  /** The digest of the secret of the device code. */
  digest: string
}

export interface NewDeviceRequest extends DeviceRequest {
  /** The minimum time between two polls. */
  intervalMs: number
}

/** The decision of the user in the browser session `sid`. */
export interface DeviceDecision {
  id: string
  sid: string
  now: number
  /** The id of the code that the device gets. `null`: the user refused. */
  codeId: string | null
}

/** `digest`: the digest of the secret in the presented device code. */
export interface DevicePoll {
  id: string
  digest: string
  clientId: string
  now: number
}

/**
 * `granted`: the user allowed the request. Only one poll gets this outcome. `unknown`: no request has this id, digest
 * and client, or the code was handed out before.
 */
export type DevicePollOutcome =
  | { outcome: 'granted'; codeId: string }
  | { outcome: 'pending' | 'slow_down' | 'denied' | 'expired' | 'unknown' }

/**
 * Requests of the device grant (RFC 8628). Every operation is atomic across all instances. A method rejects during an
 * outage.
 */
export interface DeviceStore {
  /** `false`, and nothing is written, if a request that has not expired has this id. */
  create(request: NewDeviceRequest): Promise<boolean>
  /**
   * Binds a waiting request to a browser session. The first session that claims it gets it. `null`: unknown, expired,
   * decided, or another session's.
   */
  claim(id: string, sid: string, now: number): Promise<DeviceRequest | null>
  /** Decides a request that this session has claimed. Of any number of parallel calls one resolves to `true`. */
  decide(decision: DeviceDecision): Promise<boolean>
  /**
   * A poll that comes too early adds five seconds to the interval. One of any number of parallel polls is `granted`.
   * @see RFC 8628 §3.5
   */
  poll(poll: DevicePoll): Promise<DevicePollOutcome>
}
