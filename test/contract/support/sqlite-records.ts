import type { Consent } from '../../../lib/ports/state.ts'
import type { BrowserSession, SessionRenewal } from '../../../lib/ports/session-store.ts'
import type { CodeRedemption, NewAuthorizationCode, NewRefreshTokenFamily } from '../../../lib/ports/token-store.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'

/** The partition of the only user of these records. */
const USER = 'user-19367'
export const sidOf = (name: string): string => partitionOf(USER) + name

export const family = (name: string, fields: Partial<NewRefreshTokenFamily> = {}): NewRefreshTokenFamily => ({
  sid: sidOf(name),
  userId: USER,
  clientId: null,
  scope: 's',
  authenticatedAt: 0,
  acr: 'password',
  amr: ['pwd'],
  createdAt: 0,
  lastUsedAt: 0,
  expiresAt: 1000,
  idleExpiresAt: 1000,
  userAgent: null,
  sessionSid: null,
  offline: true,
  authorization: null,
  tokenDigest: 'd',
  ...fields
})

export const code = (name: string): NewAuthorizationCode => ({
  sid: sidOf(name),
  userId: USER,
  clientId: 'c',
  scope: 's',
  authenticatedAt: 0,
  acr: 'password',
  amr: ['pwd'],
  createdAt: 0,
  sessionSid: null,
  offline: true,
  authorization: '{}',
  codeDigest: 'd',
  codeExpiresAt: 1000
})
export const redemption: CodeRedemption = {
  sid: sidOf('sid-2'),
  digest: 'd',
  clientId: 'c',
  now: 1,
  tokenDigest: 'e',
  expiresAt: 1000,
  idleExpiresAt: 900,
  onlineExpiresAt: 1000,
  userAgent: null
}
export const session = (name: string, fields: Partial<BrowserSession> = {}): BrowserSession => ({
  sid: sidOf(name),
  userId: USER,
  authenticatedAt: 0,
  methods: [{ method: 'password', at: 0 }],
  createdAt: 0,
  lastUsedAt: 0,
  expiresAt: 1000,
  idleExpiresAt: 1000,
  userAgent: null,
  clientIds: [],
  ...fields
})
export const consent: Consent = { userId: USER, clientId: 'c', scopes: ['s'], grantedAt: 0, expiresAt: 1000 }
export const renewal: SessionRenewal = {
  sid: sidOf('sid-1'),
  userId: USER,
  formerDigest: 'd',
  digest: 'e',
  now: 1,
  authenticatedAt: 1,
  methods: [{ method: 'password', at: 1 }],
  expiresAt: 1000,
  idleExpiresAt: 1000
}
