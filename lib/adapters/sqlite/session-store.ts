import { MAX_SECRETS, type SessionStore, type SessionUse } from '../../ports/session-store.ts'
import { formatProofs } from '../../protocol/authentication.ts'
import { sessionOf } from '../sql/session-rows.ts'
import { text, texts } from '../sql/rows.ts'
import type { Row } from '../sql/rows.ts'
import type { Connection } from './database.ts'
import { ALIVE, bound } from './lifetime.ts'

const SESSIONS = { table: 'authority_browser_sessions', counts: 'TRUE' }

const aliveSession = ({ query }: Connection, sid: string, now: number): Row | undefined =>
  query(`SELECT * FROM authority_browser_sessions WHERE sid = ? AND ${ALIVE}`, sid, now, now)[0]

/** Inside a transaction, and in it with whatever else has to happen together. */
export function useSessionIn(connection: Connection, { sid, now, idleExpiresAt, clientId }: SessionUse): boolean {
  const row = aliveSession(connection, sid, now)
  if (row === undefined) return false
  const { expiresAt, clientIds } = sessionOf(row)
  if (clientId !== undefined && !clientIds.includes(clientId)) clientIds.push(clientId)
  connection.execute(
    'UPDATE authority_browser_sessions SET last_used_at = ?, idle_expires_at = ?, client_ids = ? WHERE sid = ?',
    now,
    Math.min(idleExpiresAt, expiresAt),
    JSON.stringify(clientIds),
    sid
  )
  return true
}

/**
 * Browser sessions in SQLite. A user has at most `maxSessionsPerUser`: one more ends the one created first. What reads
 * before it writes does both under the write lock of one transaction.
 */
export function sqliteSessionStore(connection: Connection, maxSessionsPerUser: number): SessionStore {
  const { query, change, execute, transaction } = connection

  return {
    async createSession(session, digest) {
      transaction(() => {
        execute(
          `INSERT INTO authority_browser_sessions (sid, user_id, authenticated_at, created_at, last_used_at, expires_at,
            idle_expires_at, user_agent, client_ids, digests, methods) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
          session.sid,
          session.userId,
          session.authenticatedAt,
          session.createdAt,
          session.lastUsedAt,
          session.expiresAt,
          session.idleExpiresAt,
          session.userAgent,
          JSON.stringify(session.clientIds),
          JSON.stringify([digest]),
          formatProofs(session)
        )
        bound(connection, SESSIONS, { ...session, max: maxSessionsPerUser, now: session.createdAt })
      })
    },

    async findSession(sid, digest, now) {
      const row = aliveSession(connection, sid, now)
      return row !== undefined && texts(row, 'digests').includes(digest) ? sessionOf(row) : null
    },

    useSession: async (use) => transaction(() => useSessionIn(connection, use)),

    async renewSession({ sid, userId, formerDigest, digest, now, methods, expiresAt, idleExpiresAt }) {
      return transaction(() => {
        const row = aliveSession(connection, sid, now)
        if (row === undefined || text(row, 'user_id') !== userId) return false
        const digests = [...texts(row, 'digests').filter((live) => live !== formerDigest), digest].slice(-MAX_SECRETS)
        execute(
          `UPDATE authority_browser_sessions SET authenticated_at = ?, methods = ?, last_used_at = ?, expires_at = ?, idle_expires_at = ?,
            digests = ? WHERE sid = ?`,
          now,
          formatProofs({ methods, authenticatedAt: now }),
          now,
          expiresAt,
          idleExpiresAt,
          JSON.stringify(digests),
          sid
        )
        return true
      })
    },

    async revokeSessionsOfUser(userId, exceptSid) {
      return change(
        'DELETE FROM authority_browser_sessions WHERE user_id = ? AND sid IS NOT ? RETURNING *',
        userId,
        exceptSid ?? null
      ).map(sessionOf)
    },

    async listSessionsOfUser(userId, now) {
      return query(
        `SELECT * FROM authority_browser_sessions WHERE user_id = ? AND ${ALIVE} ORDER BY created_at DESC, rowid DESC`,
        userId,
        now,
        now
      ).map(sessionOf)
    }
  }
}
