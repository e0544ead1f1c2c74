/** A request of a device, which waits for a person. Times are milliseconds since the epoch. */
export interface DeviceRequest {
  /** 16 characters of a digest of the user code. Not a credential. */
  id: string
  clientId: string
  /** Granted if the person allows it, space separated. */
  scope: string
  /** The APIs, by the `aud` of their tokens. */
  resources: string[]
  /** The key that the code is bound to. `null`: none. @see RFC 9449 §10 */
  jkt: string | null
  createdAt: number
  expiresAt: number
  /** The address and the program that asked. */
  ip: string | null
  userAgent: string | null
  /** The digest of the secret of the device code. */
  digest: string
}

export interface NewDeviceRequest extends DeviceRequest {
  /** The time between two polls. */
  intervalMs: number
}

/** A decision of the person in the browser session `sid`. */
export interface DeviceDecision {
  id: string
  sid: string
  now: number
  /** The id of the code that the device gets. `null`: the person refused. */
  codeId: string | null
}

/** `digest` is that of the secret of the presented device code. */
export interface DevicePoll {
  id: string
  digest: string
  clientId: string
  now: number
}

/**
 * `granted`: the person allowed it, and this poll is the one that gets the code. `unknown`: no such request of this
 * client, or its code was handed out.
 */
export type DevicePollOutcome =
  | { outcome: 'granted'; codeId: string }
  | { outcome: 'pending' | 'slow_down' | 'denied' | 'expired' | 'unknown' }

/** Requests of the device grant (RFC 8628). Every operation is atomic across all instances. Outages reject. */
export interface DeviceStore {
  /** `false`, and nothing is written, if a live request has this id. */
  create(request: NewDeviceRequest): Promise<boolean>
  /**
   * Binds a request that waits to a browser session. Of several sessions the first one gets it. `null`: unknown,
   * expired, decided, or another session's.
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
