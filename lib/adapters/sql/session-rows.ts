import type { BrowserSession } from '../../ports/session-store.ts'
import { readProofs } from '../../protocol/authentication.ts'
import { integer, text, textOrNull, texts } from './rows.ts'
import type { Row } from './rows.ts'

export function sessionOf(row: Row): BrowserSession {
  const authenticatedAt = integer(row, 'authenticated_at')
  return {
    sid: text(row, 'sid'),
    userId: text(row, 'user_id'),
    authenticatedAt,
    methods: readProofs(row['methods'], authenticatedAt),
    createdAt: integer(row, 'created_at'),
    lastUsedAt: integer(row, 'last_used_at'),
    expiresAt: integer(row, 'expires_at'),
    idleExpiresAt: integer(row, 'idle_expires_at'),
    userAgent: textOrNull(row, 'user_agent'),
    clientIds: texts(row, 'client_ids')
  }
}
