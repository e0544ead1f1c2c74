import { MAX_SECRETS, type SessionStore } from '../../ports/session-store.ts'
import { formatProofs } from '../../protocol/authentication.ts'
import { sessionOf } from '../sql/session-rows.ts'
import type { Query } from './database.ts'
import { alive, sweepAfter } from './lifetime.ts'

/** A use of a session, as a statement that returns its `sid`. Takes the parameters' places. */
export const sessionUse = (
  prefix: string,
  { sid, now, idleExpiresAt, clientId }: Record<'sid' | 'now' | 'idleExpiresAt' | 'clientId', string>
): string => `UPDATE ${prefix}authority_browser_sessions SET last_used_at = ${now}, idle_expires_at = least(${idleExpiresAt}::bigint, expires_at),
  sweep_after = ${sweepAfter(prefix, `least(${idleExpiresAt}::bigint, expires_at)`, `${now}::bigint`)},
  client_ids = CASE WHEN ${clientId}::text IS NULL OR ${clientId} = ANY (client_ids) THEN client_ids ELSE array_append(client_ids, ${clientId}) END
  WHERE sid = ${sid} AND ${alive(`${now}::bigint`)} RETURNING sid`

/**
 * Browser sessions in PostgreSQL. A user has at most `maxSessionsPerUser`: one more ends the one created first. Every
 * method is one statement. An UPDATE that had to wait for another works on what that one left, so none of several at
 * once is lost.
 */
export function postgresSessionStore(query: Query, prefix: string, maxSessionsPerUser: number): SessionStore {
  const sessions = `${prefix}authority_browser_sessions`
  const USE = sessionUse(prefix, { sid: '$1', now: '$2', idleExpiresAt: '$3', clientId: '$4' })

  return {
    async createSession(session, digest) {
      await query(
        `SELECT ${prefix}authority_add_session_2($1, $2, $3, $4, $5, $6, $7, $8, $9::text::json, $10, $11, $12)`,
        session.sid,
        session.userId,
        session.authenticatedAt,
        session.createdAt,
        session.lastUsedAt,
        session.expiresAt,
        session.idleExpiresAt,
        session.userAgent,
        JSON.stringify(session.clientIds),
        digest,
        formatProofs(session),
        maxSessionsPerUser
      )
    },

    async findSession(sid, digest, now) {
      const [row] = await query(
        `SELECT * FROM ${sessions} WHERE sid = $1 AND $2 = ANY (digests) AND ${alive('$3::bigint')}`,
        sid,
        digest,
        now
      )
      return row === undefined ? null : sessionOf(row)
    },

    async useSession({ sid, now, idleExpiresAt, clientId }) {
      return (await query(USE, sid, now, idleExpiresAt, clientId ?? null)).length === 1
    },

    async renewSession({ sid, userId, formerDigest, digest, now, methods, expiresAt, idleExpiresAt }) {
      return (
        (
          await query(
            `UPDATE ${sessions} SET authenticated_at = $3, methods = $8, last_used_at = $3, expires_at = $4, idle_expires_at = $5,
          sweep_after = ${sweepAfter(prefix, 'least($4::bigint, $5::bigint)', '$3::bigint')},
          digests = (SELECT live[greatest(1, cardinality(live) - ${MAX_SECRETS - 1}):] FROM (SELECT array_append(array_remove(digests, $6), $7) AS live) AS renewed)
        WHERE sid = $1 AND user_id = $2 AND ${alive('$3::bigint')} RETURNING sid`,
            sid,
            userId,
            now,
            expiresAt,
            idleExpiresAt,
            formerDigest,
            digest,
            formatProofs({ methods, authenticatedAt: now })
          )
        ).length === 1
      )
    },

    async revokeSessionsOfUser(userId, exceptSid) {
      return (await query(`SELECT * FROM ${prefix}authority_revoke_sessions($1, $2)`, userId, exceptSid ?? null)).map(
        sessionOf
      )
    },

    async listSessionsOfUser(userId, now) {
      return (
        await query(
          `SELECT * FROM ${sessions} WHERE user_id = $1 AND ${alive('$2::bigint')} ORDER BY created_at DESC, sid DESC`,
          userId,
          now
        )
      ).map(sessionOf)
    }
  }
}
