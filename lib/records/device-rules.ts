import type {
  DeviceDecision,
  DevicePoll,
  DevicePollOutcome,
  DeviceRequest,
  NewDeviceRequest
} from '../ports/device-store.ts'
import { DEVICE_REQUEST, rowOf, type View } from './view.ts'

/** `handed_out`: the device got its code. */
type Stage = 'waiting' | 'denied' | 'allowed' | 'handed_out'

interface Held extends NewDeviceRequest {
  stage: Stage
  /** The browser session that has claimed the request, and may decide it. `null`: none yet. */
  sid: string | null
  codeId: string | null
  polledAt: number | null
}

type PackedRequest = [
  id: string,
  digest: string,
  clientId: string,
  scope: string,
  resources: string[],
  jkt: string | null,
  createdAt: number,
  expiresAt: number,
  ip: string | null,
  userAgent: string | null,
  intervalMs: number,
  stage: Stage,
  sid: string | null,
  codeId: string | null,
  polledAt: number | null
]

/** An early poll adds this to the interval. @see RFC 8628 §3.5 */
const SLOWER_MS = 5000
/** How long after its end a request is still known, so that a poll gets `expired` and not `unknown`. */
const REMEMBERED_MS = 600_000

function stored(view: View, id: string): Held | null {
  const packed = rowOf<PackedRequest>(view.get(DEVICE_REQUEST), 15)
  if (packed === null || packed[0] !== id) return null
  const [, digest, clientId, scope, resources, jkt, createdAt, expiresAt, ip, userAgent, intervalMs, ...rest] = packed
  const [stage, sid, codeId, polledAt] = rest
  return {
    id,
    digest,
    clientId,
    scope,
    resources: [...resources],
    jkt,
    createdAt,
    expiresAt,
    ip,
    userAgent,
    intervalMs,
    stage,
    sid,
    codeId,
    polledAt
  }
}

function save(view: View, held: Held): void {
  const value: PackedRequest = [
    held.id,
    held.digest,
    held.clientId,
    held.scope,
    [...held.resources],
    held.jkt,
    held.createdAt,
    held.expiresAt,
    held.ip,
    held.userAgent,
    held.intervalMs,
    held.stage,
    held.sid,
    held.codeId,
    held.polledAt
  ]
  view.put(DEVICE_REQUEST, {
    kind: 'device_request',
    userId: null,
    value,
    expiresAt: held.expiresAt + REMEMBERED_MS
  })
}

export function createDeviceRequest(view: View, request: NewDeviceRequest): boolean {
  const former = stored(view, request.id)
  if (former !== null && request.createdAt < former.expiresAt) return false
  save(view, { ...request, stage: 'waiting', sid: null, codeId: null, polledAt: null })
  return true
}

/** The request if it waits for a decision and no other session has claimed it. */
function waiting(view: View, id: string, sid: string, now: number): Held | null {
  const held = stored(view, id)
  const isTheirs = held !== null && (held.sid === null || held.sid === sid)
  return isTheirs && held.stage === 'waiting' && now < held.expiresAt ? held : null
}

export function claimDeviceRequest(view: View, id: string, sid: string, now: number): DeviceRequest | null {
  const held = waiting(view, id, sid, now)
  if (held === null) return null
  if (held.sid === null) save(view, { ...held, sid })
  const { digest, clientId, scope, resources, jkt, createdAt, expiresAt, ip, userAgent } = held
  return { id, digest, clientId, scope, resources, jkt, createdAt, expiresAt, ip, userAgent }
}

export function decideDeviceRequest(view: View, { id, sid, now, codeId }: DeviceDecision): boolean {
  const held = waiting(view, id, sid, now)
  if (held === null || held.sid === null) return false
  save(view, { ...held, stage: codeId === null ? 'denied' : 'allowed', codeId })
  return true
}

export function pollDeviceRequest(view: View, { id, digest, clientId, now }: DevicePoll): DevicePollOutcome {
  const held = stored(view, id)
  if (held === null || held.digest !== digest || held.clientId !== clientId || held.stage === 'handed_out')
    return { outcome: 'unknown' }
  if (now >= held.expiresAt) return { outcome: 'expired' }
  if (held.stage === 'denied') return { outcome: 'denied' }
  if (held.codeId !== null) {
    save(view, { ...held, stage: 'handed_out' })
    return { outcome: 'granted', codeId: held.codeId }
  }
  const isEarly = held.polledAt !== null && now < held.polledAt + held.intervalMs
  save(view, { ...held, polledAt: now, intervalMs: held.intervalMs + (isEarly ? SLOWER_MS : 0) })
  return { outcome: isEarly ? 'slow_down' : 'pending' }
}
