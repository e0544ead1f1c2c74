import type { AuthorityEvents, Events, Origin } from '../events.ts'
import type { Clock } from '../ports/clock.ts'
import type { ConsentStore, OneTimeTokenStore } from '../ports/state.ts'
import type { BrowserSession, SessionStore } from '../ports/session-store.ts'
import type { RefreshTokenFamily, TokenStore } from '../ports/token-store.ts'
import type { User } from '../ports/user-store.ts'
import type { AuthenticationProof } from '../protocol/authentication.ts'
import { isFromFormerPassword, keepSignIn, type SignedIn } from './active-user.ts'

export type { Origin } from '../events.ts'
type EndedBy = AuthorityEvents['logged_out']['by']

/**
 * The sign-in that stays when all others of its user end. Its browser gets a new secret, so that copies of the former
 * cookie stop working.
 */
export interface StayingSignIn {
  /** A family, or a browser session. */
  sid: string
  /**
   * The session of the browser's cookie, with the secret that ends and the new one. `null` without a session cookie.
   */
  browser: {
    sid: string
    formerDigest: string
    digest: string
    /** Called when the browser must be given the new secret. Never throws. */
    replaced(): void
  } | null
}

/**
 * A user's sign-ins: refresh token families and browser sessions. Ends sign-ins for all other code, so that each end
 * has an event, this process refuses the access tokens at once, and the clients of a browser session are notified. The
 * store itself ends a sign-in at its expiry, after a replay (`forget`), and if the user has too many sign-ins.
 */
export interface Sessions {
  /** Live families, newest first. */
  list(userId: string): Promise<RefreshTokenFamily[]>
  /** Live browser sessions, newest first. */
  listBrowserSessions(userId: string): Promise<BrowserSession[]>
  /** Finds the family of an access token in the store. `null`: unknown, expired, or revoked on any instance. */
  find(sid: string): Promise<RefreshTokenFamily | null>
  /**
   * Ends one sign-in of the user: a family, or a browser session with its families that are not offline. `false` if the
   * user has no such sign-in.
   */
  revoke(userId: string, sid: string, by: EndedBy, origin: Origin): Promise<boolean>
  /**
   * Ends a browser session with its authorization codes and its families. Keeps offline families, except those of
   * `clientId`. Idempotent. `false` if nothing ended.
   */
  revokeBrowserSession(
    userId: string,
    sid: string,
    by: EndedBy,
    options: { clientId?: string | undefined; origin: Origin }
  ): Promise<boolean>
  /** Ends all codes and families of the user at this client. */
  revokeFamiliesOfClient(userId: string, clientId: string, by: EndedBy, origin: Origin): Promise<void>
  /**
   * Call it after the store has ended a family by itself (a replay), so that this process refuses its access tokens.
   */
  forget(sid: string): void
  /**
   * True if a stored sign-in is no longer valid: it is older than the user's password (if the user store keeps the time
   * of the change) and did not stay at the change, or it is a browser session without the second factor that the host
   * requires now.
   */
  isOver(user: User, signIn: SignedIn): Promise<boolean>
  /** True if the user has a live family or browser session with this id, read from the stores. */
  isAlive(userId: string, sid: string): Promise<boolean>
  /**
   * Ends all sign-ins of the user except `stays`: a browser session, or a family with the browser session in which it
   * began. With `password_changed`, `stays` also outlives the password change. The session that stays gets a new
   * secret, and its former secrets end at once. If the request did not show the cookie of that session, the session has
   * no secret afterwards: the browser is signed out, and the clients of the session are not notified.
   */
  revokeAll(
    userId: string,
    by: EndedBy,
    options: { stays?: StayingSignIn | null | undefined; origin: Origin }
  ): Promise<void>
}

/** Refuses malformed ids from URLs, because a NUL makes SQL stores reject, which would count as an outage. */
const SID = /^[A-Za-z0-9_-]{1,128}$/

interface SessionsDeps {
  tokens: TokenStore
  browserSessions: SessionStore
  oneTimeTokens: OneTimeTokenStore
  revocations: Revocations
  events: Events
  clock: Clock
  /** True if the host requires more of this user than the proofs of the session. Absent: `false` for every user. */
  requiresMore?(user: User, methods: readonly AuthenticationProof[]): Promise<boolean>
  /** Receives the browser sessions that ended. Returns at once and never throws. */
  onSessionsEnded(ended: BrowserSession[]): void
}

export function sessions({
  tokens,
  browserSessions,
  oneTimeTokens,
  revocations,
  events,
  clock,
  requiresMore = async () => false,
  onSessionsEnded
}: SessionsDeps): Sessions {
  /** Reports the sign-ins that ended, even if another step failed. */
  function conclude(
    userId: string,
    by: EndedBy,
    origin: Origin,
    ended: { browser?: BrowserSession[]; families?: string[] }
  ): void {
    const { browser = [], families = [] } = ended
    for (const sid of families) revocations.add(sid)
    const sids = [...browser.map(({ sid }) => sid), ...families]
    if (sids.length > 0) events.emit('logged_out', { userId, sids, by }, origin)
    if (browser.length > 0) onSessionsEnded(browser)
  }

  /** Ends browser sessions and families by `steps`. Runs both steps, even if one fails. */
  async function endAll(
    userId: string,
    by: EndedBy,
    origin: Origin,
    steps: { browser: () => Promise<BrowserSession[]>; families: () => Promise<string[]> }
  ): Promise<void> {
    // Ends browser sessions before families. A code is committed together with a use of its session. So either the
    // session has ended and no code is made, or the code exists before the families end, and ends with them.
    const [browser] = await Promise.allSettled([steps.browser()])
    const [families] = await Promise.allSettled([steps.families()])
    conclude(userId, by, origin, { browser: valueOf(browser), families: valueOf(families) })
    for (const step of [browser, families]) if (step.status === 'rejected') throw step.reason
  }

  async function revokeBrowserSession(
    userId: string,
    sid: string,
    by: EndedBy,
    { clientId, origin }: { clientId?: string | undefined; origin: Origin }
  ): Promise<boolean> {
    const { session, sids } = await tokens.revokeSession(userId, sid, clientId)
    conclude(userId, by, origin, { browser: session === null ? [] : [session], families: sids })
    return session !== null || sids.length > 0
  }

  return {
    list: (userId) => tokens.listFamiliesOfUser(userId, clock.now()),
    listBrowserSessions: (userId) => browserSessions.listSessionsOfUser(userId, clock.now()),
    find: (sid) => tokens.findFamily(sid, clock.now()),
    revokeBrowserSession,

    async revoke(userId, sid, by, origin) {
      if (!SID.test(sid)) return false
      if (!(await tokens.revokeFamily(sid, userId))) return await revokeBrowserSession(userId, sid, by, { origin })
      conclude(userId, by, origin, { families: [sid] })
      return true
    },

    async revokeFamiliesOfClient(userId, clientId, by, origin) {
      conclude(userId, by, origin, { families: await tokens.revokeFamiliesOfClient(userId, clientId) })
    },

    isOver: async (user, signIn) =>
      (await isFromFormerPassword(user, signIn, { oneTimeTokens, clock })) ||
      (signIn.methods !== undefined && (await requiresMore(user, signIn.methods))),

    forget: (sid) => {
      revocations.add(sid)
    },

    async isAlive(userId, sid) {
      const now = clock.now()
      const [family, ofBrowsers] = await Promise.all([
        tokens.findFamily(sid, now),
        browserSessions.listSessionsOfUser(userId, now)
      ])
      return family?.userId === userId || ofBrowsers.some((session) => session.sid === sid)
    },

    async revokeAll(userId, by, { stays = null, origin }) {
      revocations.addActedFor(userId)
      const family = stays === null ? null : await tokens.findFamily(stays.sid, clock.now())
      const sessionSid = family === null ? stays?.sid : family.sessionSid
      const shown = stays?.browser?.sid === sessionSid ? (stays?.browser ?? null) : null
      const secret = shown === null ? null : { formerDigest: shown.formerDigest, digest: shown.digest }
      // Notes the sign-in that stays only if the password changes. Otherwise a thief who ends all other sign-ins would
      // stay signed in when the owner sets a new password. If no sign-in stays, removes the former note.
      const keeps = by === 'password_changed' || stays === null
      const [noted] = await Promise.allSettled([
        keeps ? keepSignIn(userId, family ?? stays, { oneTimeTokens, clock }) : undefined
      ])
      await endAll(userId, by, origin, {
        async browser() {
          const ended = await browserSessions.revokeSessionsOfUser(
            userId,
            sessionSid === null || sessionSid === undefined ? undefined : { sid: sessionSid, secret }
          )
          if (ended.every(({ sid }) => sid !== sessionSid)) shown?.replaced()
          return ended
        },
        families: () => tokens.revokeFamiliesOfUser(userId, stays?.sid)
      })
      if (noted.status === 'rejected') throw noted.reason
    }
  }
}

function valueOf<T>(result: PromiseSettledResult<T[]>): T[] {
  return result.status === 'fulfilled' ? result.value : []
}

/**
 * The refresh token families that this instance ended, for as long as an access token of theirs could still live. With
 * them, `app.authenticate` on this instance sees a revocation at once, without reading the store. Endpoints that read
 * the store also see a revocation by another instance.
 */
export interface Revocations {
  add(sid: string): void
  has(sid: string | undefined): boolean
  /** Ends, on this instance, the tokens with which others act in the name of the user. */
  addActedFor(userId: string): void
  /** True for a token that acts in the name of the user and was issued before `addActedFor`, or in the same second. */
  hasActedFor(token: { sub: string; iat: number }): boolean
}

/** The name under which `addActedFor` is noted. No session id equals it, because none has a space. */
const actedFor = (userId: string): string => `acted for ${userId}`

export function revocations(tokenLifetimeMs: number, clock: Clock): Revocations {
  const ended = new Map<string, { at: number; until: number }>()
  const add = (name: string): void => {
    const now = clock.monotonic()
    // All have the same lifetime, so they expire in the order in which they were added.
    for (const [known, { until }] of ended) {
      if (until > now) break
      ended.delete(known)
    }
    ended.delete(name)
    ended.set(name, { at: clock.now(), until: now + tokenLifetimeMs })
  }
  return {
    add,
    has: (sid) => ended.size > 0 && sid !== undefined && ended.has(sid),
    addActedFor(userId) {
      add(actedFor(userId))
    },
    hasActedFor: ({ sub, iat }) => (ended.get(actedFor(sub))?.at ?? -Infinity) >= iat * 1000
  }
}

/**
 * Revokes a user's consent for a client, and emits the event. Does not end the tokens of the client. `false` if there
 * was no consent.
 */
export async function revokeConsent(
  userId: string,
  clientId: string,
  { by, sid = null, origin }: { by: AuthorityEvents['consent_revoked']['by']; sid?: string | null; origin: Origin },
  { consents, events }: { consents: ConsentStore; events: Events }
): Promise<boolean> {
  const revoked = await consents.revokeConsent(userId, clientId)
  if (revoked) events.emit('consent_revoked', { userId, sid, clientId, by }, origin)
  return revoked
}
