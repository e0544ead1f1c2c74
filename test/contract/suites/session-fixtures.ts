import type {
  BrowserSession,
  SessionRenewal,
  SessionStore,
  SessionUse,
  StayingSession
} from '../../../lib/ports/session-store.ts'
import { MINUTE, T0, named } from './token-fixtures.ts'

export const NOW = T0 + MINUTE

export const session = (fields: Partial<BrowserSession> = {}): BrowserSession => ({
  sid: named('sid-1'),
  userId: 'user-19367',
  authenticatedAt: T0 - 5,
  methods: [
    { method: 'host', at: T0 - 5, amr: ['face'] },
    { method: 'otp', at: T0 - 3 }
  ],
  createdAt: T0,
  lastUsedAt: T0,
  expiresAt: T0 + 60 * MINUTE,
  idleExpiresAt: T0 + 30 * MINUTE,
  userAgent: 'Mozilla/5.0',
  clientIds: ['client-1'],
  ...fields
})
export const use = (fields: Partial<SessionUse> = {}): SessionUse => ({
  sid: named('sid-1'),
  digest: 'digest-0',
  now: NOW,
  idleExpiresAt: T0 + 31 * MINUTE,
  ...fields
})
export const renewal = (fields: Partial<SessionRenewal> = {}): SessionRenewal => ({
  sid: named('sid-1'),
  userId: 'user-19367',
  formerDigest: 'digest-0',
  digest: 'digest-1',
  now: NOW,
  authenticatedAt: NOW,
  methods: [{ method: 'password', at: NOW }],
  expiresAt: T0 + 61 * MINUTE,
  idleExpiresAt: T0 + 31 * MINUTE,
  ...fields
})
/** The session that stays when all others end, with `digest-1` for `digest-0`. */
export const staying = (
  name = 'sid-1',
  secret: StayingSession['secret'] = { formerDigest: 'digest-0', digest: 'digest-1' }
): StayingSession => ({ sid: named(name), secret })
/** `session` after `renewal`. */
export const renewed = {
  ...session(),
  authenticatedAt: NOW,
  methods: renewal().methods,
  lastUsedAt: NOW,
  expiresAt: T0 + 61 * MINUTE,
  idleExpiresAt: T0 + 31 * MINUTE
}

/** The digests by which named(`sid-1`) is found. */
export async function live(sessions: SessionStore, digests: readonly string[], now = NOW): Promise<string[]> {
  const found = await Promise.all(digests.map((digest) => sessions.findSession(named('sid-1'), digest, now)))
  return digests.filter((_, index) => found[index] !== null)
}

export const sids = (found: readonly BrowserSession[]): string[] => found.map(({ sid }) => sid)
