import { ok } from 'node:assert/strict'
import type { State } from '../../../lib/ports/state.ts'
import type {
  CodeRedemption,
  NewAuthorizationCode,
  NewRefreshTokenFamily,
  RefreshTokenFamily,
  Successor,
  TokenUse
} from '../../../lib/ports/token-store.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import type { Closable } from '../../../lib/testing/contract.ts'

/** The subject of the state suites. */
export interface StateSubject extends Closable {
  state: State
  /**
   * True if the engine removes expired records by its own clock, so that `sweep` has nothing to remove. Default false.
   */
  expiresByItself?: boolean
}

export const T0 = Date.UTC(2026, 0, 1)
export const MINUTE = 60_000
export const GRACE = 10_000

/** Names a time in a title: `offset` is -1, 0 or 1, in milliseconds from the field `end`. */
export const timeAt = (offset: number, end: string): string =>
  offset === 0 ? `at ${end}` : `1 ms ${offset < 0 ? 'before' : 'after'} ${end}`

/**
 * A readable name for a family, session or token of the user: it begins with their partition, as a store may expect.
 */
export const named = (name: string, userId = 'user-19367'): string => partitionOf(userId) + name

export const family = (fields: Partial<NewRefreshTokenFamily> = {}): NewRefreshTokenFamily => ({
  sid: named('sid-1'),
  userId: 'user-19367',
  clientId: 'client-1',
  scope: 'read write',
  authenticatedAt: T0 - 5,
  acr: 'mfa',
  amr: ['pwd', 'otp', 'mfa'],
  createdAt: T0,
  lastUsedAt: T0,
  expiresAt: T0 + 60 * MINUTE,
  idleExpiresAt: T0 + 30 * MINUTE,
  userAgent: 'Mozilla/5.0',
  sessionSid: null,
  offline: true,
  authorization: null,
  tokenDigest: 'digest-0',
  ...fields
})
export const use = (fields: Partial<TokenUse> = {}): TokenUse => ({
  sid: named('sid-1'),
  digest: 'digest-0',
  now: T0 + MINUTE,
  graceMs: GRACE,
  idleExpiresAt: T0 + 31 * MINUTE,
  ...fields
})
export const next = (index: number): Successor => ({ digest: `digest-${index}`, sealed: `sealed-${index}` })

export function publicPart(created: NewRefreshTokenFamily): RefreshTokenFamily {
  const { tokenDigest, ...rest } = created
  ok(tokenDigest)
  return rest
}

export const code = (fields: Partial<NewAuthorizationCode> = {}): NewAuthorizationCode => ({
  sid: named('sid-1'),
  userId: 'user-19367',
  clientId: 'client-1',
  scope: 'openid read',
  authenticatedAt: T0 - 5,
  acr: null,
  amr: ['face'],
  createdAt: T0,
  sessionSid: 'session-1',
  offline: true,
  authorization: '{"redirectUri":"https://app.example.com/"}',
  codeDigest: 'code-digest',
  codeExpiresAt: T0 + MINUTE,
  ...fields
})
export const redemption = (fields: Partial<CodeRedemption> = {}): CodeRedemption => ({
  sid: named('sid-1'),
  digest: 'code-digest',
  clientId: 'client-1',
  now: T0 + 1000,
  tokenDigest: 'digest-0',
  expiresAt: T0 + 60 * MINUTE,
  idleExpiresAt: T0 + 30 * MINUTE,
  onlineExpiresAt: T0 + 15 * MINUTE,
  userAgent: 'Mozilla/5.0',
  ...fields
})

/** The family that `redemption` makes of `code`. */
export function redeemed(
  created: NewAuthorizationCode,
  { now, expiresAt, idleExpiresAt, onlineExpiresAt, userAgent }: CodeRedemption
): RefreshTokenFamily {
  const { codeDigest, codeExpiresAt, ...rest } = created
  ok(codeDigest && codeExpiresAt)
  const ends = rest.offline
    ? { expiresAt, idleExpiresAt }
    : { expiresAt: onlineExpiresAt, idleExpiresAt: onlineExpiresAt }
  return { ...rest, lastUsedAt: now, ...ends, userAgent }
}
