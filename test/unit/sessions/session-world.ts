import { memoryState } from '../../../lib/adapters/memory/record-store.ts'
import { systemRandom } from '../../../lib/adapters/node/system.ts'
import { createEvents } from '../../../lib/events/emitter.ts'
import type { BrowserSession, SessionUse } from '../../../lib/ports/session-store.ts'
import type { RefreshTokenFamily } from '../../../lib/ports/token-store.ts'
import { passwordProof } from '../../../lib/protocol/authentication.ts'
import { parseCredential } from '../../../lib/protocol/credential.ts'
import { delayed, steppedClock } from '../../../lib/testing/doubles.ts'
import { browserSessions } from '../../../lib/sessions/browser-sessions.ts'
import { revocations as createRevocations, sessions as createSessions } from '../../../lib/sessions/sessions.ts'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const EXPIRES_IN = 12 * HOUR
export const IDLE_TIMEOUT = 2 * HOUR
export const origin = { requestId: 'req-1', ip: '192.0.2.1', userAgent: 'Firefox' }
/** A browser in which nobody has signed in yet. */
export const NEW_BROWSER = { cookie: undefined, session: null, origin }

/** Sessions over memory state that answers late; what they say is recorded. */
export function sessionWorld() {
  const clock = steppedClock()
  const random = systemRandom()
  const state = memoryState()
  const events = createEvents(
    () => clock.now(),
    (error) => {
      throw error
    }
  )
  const loggedOut: Array<{ userId: string; sids: string[]; by: string; ip?: string }> = []
  events.on('logged_out', (payload) => {
    loggedOut.push(payload)
  })
  const ended: BrowserSession[][] = []
  const revocations = createRevocations(900_000, clock)
  const deps = {
    tokens: delayed(state.tokens),
    browserSessions: delayed(state.browserSessions),
    oneTimeTokens: delayed(state.oneTimeTokens),
    revocations,
    events,
    clock,
    onSessionsEnded: (sessions: BrowserSession[]) => {
      ended.push(sessions)
    }
  }
  const sessions = createSessions(deps)
  const browser = browserSessions(
    { expiresInMs: EXPIRES_IN, idleTimeoutMs: IDLE_TIMEOUT },
    { store: delayed(state.browserSessions), sessions, clock, random }
  )
  return {
    clock,
    random,
    state,
    events,
    deps,
    revocations,
    sessions,
    browser,
    /** The proofs of a new sign-in. */
    byPassword: () => [passwordProof(clock.now())],
    loggedOut,
    ended,
    async addFamily(fields: Partial<RefreshTokenFamily> & { sid: string }): Promise<void> {
      const now = clock.now()
      await state.tokens.createFamily({
        userId: 'ann',
        clientId: 'app',
        scope: 'openid',
        authenticatedAt: now,
        acr: 'password',
        amr: ['pwd'],
        createdAt: now,
        lastUsedAt: now,
        expiresAt: now + 1e9,
        idleExpiresAt: now + 1e9,
        userAgent: null,
        sessionSid: null,
        offline: true,
        authorization: null,
        tokenDigest: `digest-${fields.sid}`,
        ...fields
      })
    },
    async addCode(
      fields: { sid: string; sessionSid: string; userId?: string; clientId?: string; offline?: boolean },
      use?: SessionUse
    ): Promise<boolean> {
      const now = clock.now()
      return await state.tokens.createCode(
        {
          userId: 'ann',
          clientId: 'app',
          scope: 'openid',
          authenticatedAt: now,
          acr: 'password',
          amr: ['pwd'],
          createdAt: now,
          offline: false,
          authorization: '{}',
          codeDigest: `digest-${fields.sid}`,
          codeExpiresAt: now + MINUTE,
          ...fields
        },
        use
      )
    },
    /** True if a code can be redeemed. Uses it up. */
    async redeems(sid: string, clientId = 'app'): Promise<boolean> {
      const now = clock.now()
      const { outcome } = await state.tokens.redeemCode({
        sid,
        digest: `digest-${sid}`,
        clientId,
        now,
        tokenDigest: 'first',
        expiresAt: now + HOUR,
        onlineExpiresAt: now + HOUR,
        idleExpiresAt: now + HOUR,
        userAgent: null
      } as Parameters<typeof state.tokens.redeemCode>[0])
      return outcome === 'redeemed'
    },
    families: async (userId = 'ann') =>
      (await sessions.list(userId)).map(({ sid }) => sid).toSorted((a, b) => a.localeCompare(b)),
    browsers: async (userId = 'ann') => (await sessions.listBrowserSessions(userId)).map(({ sid }) => sid),
    sidOf: (cookie: string) => parseCredential(cookie)?.sid
  }
}

export type SessionWorld = ReturnType<typeof sessionWorld>
