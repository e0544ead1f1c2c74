import type { NewAuthorizationCode, NewRefreshTokenFamily } from '../../ports/token-store.ts'
import type { Connection } from './database.ts'

/** A code is a row without a token, which ends when the code does. */
export function insertFamily({ execute }: Connection, created: NewRefreshTokenFamily | NewAuthorizationCode): void {
  const { lastUsedAt, expiresAt, idleExpiresAt, userAgent, tokenDigest, codeDigest } =
    'codeDigest' in created
      ? {
          ...created,
          lastUsedAt: created.createdAt,
          expiresAt: created.codeExpiresAt,
          idleExpiresAt: created.codeExpiresAt,
          userAgent: null,
          tokenDigest: null
        }
      : { ...created, codeDigest: null }
  execute(
    `INSERT INTO authority_families (sid, user_id, client_id, scope, authenticated_at, created_at, last_used_at, expires_at,
      idle_expires_at, user_agent, session_sid, offline, authorization, code_digest, current_digest, acr, amr)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    created.sid,
    created.userId,
    created.clientId,
    created.scope,
    created.authenticatedAt,
    created.createdAt,
    lastUsedAt,
    expiresAt,
    idleExpiresAt,
    userAgent,
    created.sessionSid,
    created.offline ? 1 : 0,
    created.authorization,
    codeDigest,
    tokenDigest,
    created.acr,
    JSON.stringify(created.amr)
  )
}
