import { EventEmitter } from 'node:events'
import { channel } from 'node:diagnostics_channel'

/** Why a sign-in failed: for the log and for handlers, never for the wire. */
export type LoginFailure = 'unknown_user' | 'wrong_password' | 'disabled' | 'no_password' | 'email_not_verified' | 'unusable_hash' | 'changed_meanwhile'

/** Where the request came from that led to an event. */
export interface Origin {
  /** The client's address as Fastify's `request.ip` has it. */
  ip?: string
  userAgent?: string | null
}

/** Every event with its payload. No payload carries a password, a token, a code or a digest of one. */
export interface AuthorityEvents {
  authenticated: Origin & { userId: string, clientId: string | null, method: 'password' }
  login_failed: Origin & { reason: LoginFailure, userId?: string, username?: string, clientId: string | null }
  registered: Origin & { userId: string, username: string }
  /** `userId` and `sid` are `null` where a client got a token of its own (client credentials): no user, no session. */
  token_issued: Origin & { userId: string | null, sid: string | null, clientId: string | null, scope: string, grantType: string }
  token_refreshed: Origin & { userId: string, sid: string, clientId: string | null, rotated: boolean }
  refresh_token_reused: Origin & { userId: string, sid: string, clientId: string | null }
  password_reset_requested: Origin & { userId: string }
  password_changed: Origin & { userId: string, by: 'change' | 'reset' | 'disowned' }
  email_verified: Origin & { userId: string }
  logged_out: Origin & { userId: string, sids: string[], by: 'user' | 'host' | 'password_changed' | 'disabled' | 'code_reused' | 'undone' }
  rate_limited: Origin & { rule: string, max: number, windowMs: number, retryAfter: number }
  hash_queue_full: { running: number, waiting: number, maxQueue: number }
  store_degraded: { store: string, error: string }
}

export type AuthorityEventName = keyof AuthorityEvents
export type AuthorityEventHandler<Name extends AuthorityEventName> = (payload: AuthorityEvents[Name]) => void | Promise<void>

export const EVENT_NAMES: readonly AuthorityEventName[] = [
  'authenticated', 'login_failed', 'registered', 'token_issued', 'token_refreshed', 'refresh_token_reused', 'password_reset_requested',
  'password_changed', 'email_verified', 'logged_out', 'rate_limited', 'hash_queue_full', 'store_degraded'
]

export interface Events {
  emit<Name extends AuthorityEventName>(name: Name, payload: AuthorityEvents[Name]): void
  on<Name extends AuthorityEventName>(name: Name, handler: AuthorityEventHandler<Name>): void
  off<Name extends AuthorityEventName>(name: Name, handler: AuthorityEventHandler<Name>): void
}

/**
 * The emitter behind `app.authority.on`. Each event also goes out on the diagnostics channel `fastify-authority.<event>`.
 * A handler that throws or rejects is reported to `onHandlerError` and breaks neither the request nor the other handlers.
 */
export function createEvents (onHandlerError: (error: unknown, event: AuthorityEventName) => void): Events {
  const emitter = new EventEmitter()
  // A host may have as many handlers as it likes: Node.js takes the eleventh for a leak, and prints a warning.
  emitter.setMaxListeners(0)
  const channels = new Map(EVENT_NAMES.map((name) => [name, channel(`fastify-authority.${name}`)]))
  return {
    emit (name, payload) {
      const onChannel = channels.get(name)
      if (onChannel?.hasSubscribers !== true && emitter.listenerCount(name) === 0) return
      const frozen = Object.freeze({ ...payload })
      onChannel?.publish(frozen)
      for (const handler of emitter.listeners(name)) {
        try {
          const result: unknown = handler(frozen)
          if (result instanceof Promise) result.catch((error: unknown) => { onHandlerError(error, name) })
        } catch (error) {
          onHandlerError(error, name)
        }
      }
    },
    on (name, handler) { emitter.on(name, handler) },
    off (name, handler) { emitter.off(name, handler) }
  }
}
