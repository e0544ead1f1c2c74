import type { NewAuthorizationCode, NewRefreshTokenFamily, RefreshTokenFamily, TokenUse } from '../../ports/token-store.ts'
import { flag, integer, text, textOrNull } from './database.ts'
import type { Connection, Row } from './database.ts'

export function familyOf (row: Row): RefreshTokenFamily {
  return {
    sid: text(row, 'sid'),
    userId: text(row, 'user_id'),
    clientId: textOrNull(row, 'client_id'),
    scope: text(row, 'scope'),
    authenticatedAt: integer(row, 'authenticated_at'),
    createdAt: integer(row, 'created_at'),
    lastUsedAt: integer(row, 'last_used_at'),
    expiresAt: integer(row, 'expires_at'),
    idleExpiresAt: integer(row, 'idle_expires_at'),
    userAgent: textOrNull(row, 'user_agent'),
    sessionSid: textOrNull(row, 'session_sid'),
    offline: flag(row, 'offline'),
    authorization: textOrNull(row, 'authorization')
  }
}

/** Which of the family's tokens is presented. `replaced` holds within the grace time only; anything else is a replay. */
export function presented (row: Row, use: Pick<TokenUse, 'digest' | 'now' | 'graceMs'>): 'current' | 'replaced' | 'replay' {
  if (text(row, 'current_digest') === use.digest) return 'current'
  if (row['previous_digest'] !== use.digest || use.graceMs <= 0) return 'replay'
  return use.now - integer(row, 'rotated_at') <= use.graceMs ? 'replaced' : 'replay'
}

/** A code is a row without a token, which ends when the code does. */
export function insertFamily ({ execute }: Connection, created: NewRefreshTokenFamily | NewAuthorizationCode): void {
  const { lastUsedAt, expiresAt, idleExpiresAt, userAgent, tokenDigest, codeDigest } = 'codeDigest' in created
    ? { ...created, lastUsedAt: created.createdAt, expiresAt: created.codeExpiresAt, idleExpiresAt: created.codeExpiresAt, userAgent: null, tokenDigest: null }
    : { ...created, codeDigest: null }
  execute(
    `INSERT INTO authority_families (sid, user_id, client_id, scope, authenticated_at, created_at, last_used_at, expires_at,
      idle_expires_at, user_agent, session_sid, offline, authorization, code_digest, current_digest)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    created.sid, created.userId, created.clientId, created.scope, created.authenticatedAt, created.createdAt, lastUsedAt, expiresAt,
    idleExpiresAt, userAgent, created.sessionSid, created.offline ? 1 : 0, created.authorization, codeDigest, tokenDigest
  )
}
