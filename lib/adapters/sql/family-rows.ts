import type { RefreshTokenFamily, ReplacedToken, TokenUse } from '../../ports/token-store.ts'
import { PASSWORD_ACR, PASSWORD_AMR } from '../../protocol/authentication.ts'
import { flag, integer, text, textOrNull, texts } from './rows.ts'
import type { Row } from './rows.ts'

export function familyOf(row: Row): RefreshTokenFamily {
  return {
    sid: text(row, 'sid'),
    userId: text(row, 'user_id'),
    clientId: textOrNull(row, 'client_id'),
    scope: text(row, 'scope'),
    authenticatedAt: integer(row, 'authenticated_at'),
    ...contextIn(row),
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

/** Releases that knew nothing but passwords leave both columns empty. */
function contextIn(row: Row): Pick<RefreshTokenFamily, 'acr' | 'amr'> {
  return row['amr'] === null
    ? { acr: PASSWORD_ACR, amr: [...PASSWORD_AMR] }
    : { acr: textOrNull(row, 'acr'), amr: texts(row, 'amr') }
}

/**
 * Which of the family's tokens is presented. `replaced` holds within the grace time only; anything else is a replay.
 */
export function presented(
  row: Row,
  use: Pick<TokenUse, 'digest' | 'now' | 'graceMs'>
): 'current' | 'replaced' | 'replay' {
  if (text(row, 'current_digest') === use.digest) return 'current'
  if (row['previous_digest'] !== use.digest || use.graceMs <= 0) return 'replay'
  return use.now - integer(row, 'rotated_at') <= use.graceMs ? 'replaced' : 'replay'
}

/** The token that the current one replaced. */
export function replacedIn(row: Row): ReplacedToken | null {
  if (row['previous_digest'] === null) return null
  return { digest: text(row, 'previous_digest'), rotatedAt: integer(row, 'rotated_at'), sealed: text(row, 'sealed') }
}
