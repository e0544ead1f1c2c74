import type { AuthorityEvents, Events } from '../events.ts'
import type { Clock } from '../ports/clock.ts'
import type { RefreshTokenFamily, TokenStore } from '../ports/token-store.ts'
import type { Revocations } from './revocations.ts'

/** Where a request came from, for events and for the list of a user's sessions. */
export interface Origin {
  ip?: string
  userAgent?: string | null
}

type EndedBy = AuthorityEvents['logged_out']['by']

/** A user's sign-ins: every one is a refresh token family today. */
export interface Sessions {
  /** Alive now, newest first. */
  list(userId: string): Promise<RefreshTokenFamily[]>
  /** The family an access token belongs to, looked up in the store: `null` after a revocation on any instance. */
  find(sid: string): Promise<RefreshTokenFamily | null>
  /** Ends one of the user's own. `false` where the user has no such session. */
  revoke(userId: string, sid: string, by: EndedBy, origin?: Origin): Promise<boolean>
  /** The store has ended this family by itself: access tokens of it are refused here from now on. */
  forget(sid: string): void
  /** Ends all of the user's but `exceptSid`. */
  revokeAll(userId: string, by: EndedBy, options?: { exceptSid?: string | undefined, origin?: Origin }): Promise<void>
}

export function sessions (deps: { tokens: TokenStore, revocations: Revocations, events: Events, clock: Clock }): Sessions {
  const { tokens, revocations, events, clock } = deps
  return {
    list: (userId) => tokens.listFamiliesOfUser(userId, clock.now()),
    find: (sid) => tokens.findFamily(sid, clock.now()),
    async revoke (userId, sid, by, origin = {}) {
      const ended = await tokens.revokeFamily(sid, userId)
      if (ended) {
        revocations.add(sid)
        events.emit('logged_out', { ...origin, userId, sids: [sid], by })
      }
      return ended
    },
    forget: (sid) => { revocations.add(sid) },
    async revokeAll (userId, by, { exceptSid, origin = {} } = {}) {
      const sids = await tokens.revokeFamiliesOfUser(userId, exceptSid)
      for (const sid of sids) revocations.add(sid)
      if (sids.length > 0) events.emit('logged_out', { ...origin, userId, sids, by })
    }
  }
}
