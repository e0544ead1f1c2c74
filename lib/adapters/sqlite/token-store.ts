import type { RefreshTokenFamily, TokenStore, TokenUse } from '../../ports/token-store.ts'
import { integer, text, textOrNull } from './database.ts'
import type { Connection, Row } from './database.ts'

const ALIVE = 'expires_at > ? AND idle_expires_at > ?'

function familyOf (row: Row): RefreshTokenFamily {
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
    userAgent: textOrNull(row, 'user_agent')
  }
}

/** Which of the family's tokens is presented. `replaced` holds within the grace time only; anything else is a replay. */
function presented (row: Row, use: TokenUse): 'current' | 'replaced' | 'replay' {
  if (text(row, 'current_digest') === use.digest) return 'current'
  if (row['previous_digest'] !== use.digest || use.graceMs <= 0) return 'replay'
  return use.now - integer(row, 'rotated_at') <= use.graceMs ? 'replaced' : 'replay'
}

/**
 * Refresh token families in SQLite. A user has at most `maxFamiliesPerUser`: one more ends the one created first. Uses and
 * rotations read and write under the write lock of one transaction, so those of other processes come before or after.
 */
export function sqliteTokenStore (connection: Connection, maxFamiliesPerUser: number): TokenStore {
  const { query, change, execute, transaction } = connection

  const alive = ({ sid, now }: TokenUse): Row | undefined =>
    query(`SELECT * FROM authority_families WHERE sid = ? AND ${ALIVE}`, sid, now, now)[0]
  const remove = (sid: string): void => { execute('DELETE FROM authority_families WHERE sid = ?', sid) }
  const touch = (row: Row, use: TokenUse): RefreshTokenFamily => {
    const family = familyOf(row)
    family.lastUsedAt = use.now
    family.idleExpiresAt = Math.min(use.idleExpiresAt, family.expiresAt)
    execute('UPDATE authority_families SET last_used_at = ?, idle_expires_at = ? WHERE sid = ?', family.lastUsedAt, family.idleExpiresAt, family.sid)
    return family
  }

  return {
    async createFamily (family) {
      transaction(() => {
        execute(
          `INSERT INTO authority_families (sid, user_id, client_id, scope, authenticated_at, created_at, last_used_at, expires_at,
            idle_expires_at, user_agent, current_digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
          family.sid, family.userId, family.clientId, family.scope, family.authenticatedAt, family.createdAt, family.lastUsedAt,
          family.expiresAt, family.idleExpiresAt, family.userAgent, family.tokenDigest
        )
        execute(
          `DELETE FROM authority_families WHERE rowid IN (SELECT rowid FROM authority_families WHERE user_id = ? AND sid <> ?
            ORDER BY created_at DESC, rowid DESC LIMIT -1 OFFSET ?)`,
          family.userId, family.sid, maxFamiliesPerUser - 1
        )
      })
    },

    async findFamily (sid, now) {
      const [row] = query(`SELECT * FROM authority_families WHERE sid = ? AND ${ALIVE}`, sid, now, now)
      return row === undefined ? null : familyOf(row)
    },

    async useToken (use) {
      return transaction(() => {
        const row = alive(use)
        if (row === undefined) return { outcome: 'unknown' }
        if (presented(row, use) !== 'replay') return { outcome: 'used', family: touch(row, use) }
        remove(use.sid)
        return { outcome: 'replayed', family: familyOf(row) }
      })
    },

    async rotateToken (use, next) {
      return transaction(() => {
        const row = alive(use)
        if (row === undefined) return { outcome: 'unknown' }
        const which = presented(row, use)
        if (which === 'replaced') return { outcome: 'repeated', family: familyOf(row), sealed: text(row, 'sealed') }
        if (which === 'replay') {
          remove(use.sid)
          return { outcome: 'replayed', family: familyOf(row) }
        }
        execute(
          'UPDATE authority_families SET current_digest = ?, previous_digest = ?, sealed = ?, rotated_at = ? WHERE sid = ?',
          next.digest, use.digest, next.sealed, use.now, use.sid
        )
        return { outcome: 'rotated', family: touch(row, use) }
      })
    },

    async revokeFamily (sid, userId) {
      const ended = userId === undefined
        ? change('DELETE FROM authority_families WHERE sid = ? RETURNING sid', sid)
        : change('DELETE FROM authority_families WHERE sid = ? AND user_id = ? RETURNING sid', sid, userId)
      return ended.length === 1
    },

    async revokeFamiliesOfUser (userId, exceptSid) {
      return change('DELETE FROM authority_families WHERE user_id = ? AND sid IS NOT ? RETURNING sid', userId, exceptSid ?? null)
        .map((row) => text(row, 'sid'))
    },

    async listFamiliesOfUser (userId, now) {
      return query(`SELECT * FROM authority_families WHERE user_id = ? AND ${ALIVE} ORDER BY created_at DESC, rowid DESC`, userId, now, now)
        .map(familyOf)
    }
  }
}
