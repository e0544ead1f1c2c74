import type { RefreshTokenFamily, TokenStore, TokenUse } from '../../ports/token-store.ts'
import { familyOf, presented, replacedIn } from '../sql/family-rows.ts'
import { text } from '../sql/rows.ts'
import { sessionOf } from '../sql/session-rows.ts'
import type { Row } from '../sql/rows.ts'
import type { Connection } from './database.ts'
import { insertFamily } from './family-rows.ts'
import { ALIVE, bound } from './lifetime.ts'
import { useSessionIn } from './session-store.ts'

const IS_FAMILY = 'current_digest IS NOT NULL'
/**
 * Each kind is bounded on its own: codes and online families are many and short-lived, and must not push out the
 * offline family of a device.
 */
const CODES = { table: 'authority_families', counts: 'current_digest IS NULL' }
const ONLINE = { table: 'authority_families', counts: `${IS_FAMILY} AND offline = 0` }
const OFFLINE = { table: 'authority_families', counts: `${IS_FAMILY} AND offline = 1` }

const sidsOf = (rows: readonly Row[]): string[] => rows.map((row) => text(row, 'sid'))

/**
 * Refresh token families and authorization codes in SQLite. A user has at most `maxFamiliesPerUser` families that are
 * offline, as many that are not, and as many codes that wait: one more ends the one created first. Uses, rotations and
 * redemptions read and write under the write lock of one transaction, so those of other processes come before or after.
 */
export function sqliteTokenStore(connection: Connection, maxFamiliesPerUser: number): TokenStore {
  const { query, change, execute, transaction } = connection

  const alive = (sid: string, now: number): Row | undefined =>
    query(`SELECT * FROM authority_families WHERE sid = ? AND ${IS_FAMILY} AND ${ALIVE}`, sid, now, now)[0]
  const usable = ({ sid, clientId, now }: TokenUse): Row | undefined => {
    const row = alive(sid, now)
    return clientId === undefined || row?.['client_id'] === clientId ? row : undefined
  }
  const remove = (sid: string): void => {
    execute('DELETE FROM authority_families WHERE sid = ?', sid)
  }
  const boundFamilies = ({ userId, sid, offline }: RefreshTokenFamily, now: number): void => {
    bound(connection, offline ? OFFLINE : ONLINE, { userId, sid, max: maxFamiliesPerUser, now })
  }
  const touch = (row: Row, use: TokenUse): RefreshTokenFamily => {
    const family = familyOf(row)
    family.lastUsedAt = use.now
    family.idleExpiresAt = Math.min(use.idleExpiresAt, family.expiresAt)
    execute(
      'UPDATE authority_families SET last_used_at = ?, idle_expires_at = ? WHERE sid = ?',
      family.lastUsedAt,
      family.idleExpiresAt,
      family.sid
    )
    return family
  }

  return {
    async createFamily(family) {
      transaction(() => {
        insertFamily(connection, family)
        boundFamilies(family, family.createdAt)
      })
    },

    async createCode(code, use) {
      return transaction(() => {
        if (use !== undefined && !useSessionIn(connection, use)) return false
        insertFamily(connection, code)
        bound(connection, CODES, { ...code, max: maxFamiliesPerUser, now: code.createdAt })
        return true
      })
    },

    async redeemCode({
      sid,
      digest,
      clientId,
      now,
      tokenDigest,
      expiresAt,
      idleExpiresAt,
      onlineExpiresAt,
      userAgent
    }) {
      return transaction(() => {
        // The client is looked at before anything that revokes, or one client could end what another was given.
        const [row] = query(
          `SELECT * FROM authority_families WHERE sid = ? AND client_id = ? AND code_digest IS NOT NULL AND ${ALIVE}`,
          sid,
          clientId,
          now,
          now
        )
        if (row === undefined) return { outcome: 'unknown' }
        if (row['current_digest'] !== null || text(row, 'code_digest') !== digest) {
          remove(sid)
          return { outcome: 'replayed', family: familyOf(row) }
        }
        const created = familyOf(row)
        const ends = created.offline
          ? { expiresAt, idleExpiresAt }
          : { expiresAt: onlineExpiresAt, idleExpiresAt: onlineExpiresAt }
        const family = { ...created, lastUsedAt: now, ...ends, userAgent }
        execute(
          'UPDATE authority_families SET current_digest = ?, last_used_at = ?, expires_at = ?, ' +
            'idle_expires_at = ?, user_agent = ? WHERE sid = ?',
          tokenDigest,
          now,
          family.expiresAt,
          family.idleExpiresAt,
          userAgent,
          sid
        )
        boundFamilies(family, now)
        return { outcome: 'redeemed', family }
      })
    },

    async findFamily(sid, now) {
      const row = alive(sid, now)
      return row === undefined ? null : familyOf(row)
    },

    async peekToken(use) {
      const row = alive(use.sid, use.now)
      return row === undefined || presented(row, use) === 'replay' ? null : familyOf(row)
    },

    async useToken(use) {
      return transaction(() => {
        const row = usable(use)
        if (row === undefined) return { outcome: 'unknown' }
        if (presented(row, use) !== 'replay') return { outcome: 'used', family: touch(row, use) }
        remove(use.sid)
        return { outcome: 'replayed', family: familyOf(row) }
      })
    },

    async rotateToken(use, next) {
      return transaction(() => {
        const row = usable(use)
        if (row === undefined) return { outcome: 'unknown' }
        const which = presented(row, use)
        if (which === 'replaced') {
          execute('UPDATE authority_families SET holders = holders + 1 WHERE sid = ? AND holders > 0', use.sid)
          const undo = { sid: use.sid, digest: text(row, 'current_digest'), replacedDigest: use.digest, former: null }
          return { outcome: 'repeated', family: familyOf(row), sealed: text(row, 'sealed'), undo }
        }
        if (which === 'replay') {
          remove(use.sid)
          return { outcome: 'replayed', family: familyOf(row) }
        }
        execute(
          'UPDATE authority_families SET current_digest = ?, previous_digest = ?, sealed = ?, ' +
            'rotated_at = ?, holders = 1 WHERE sid = ?',
          next.digest,
          use.digest,
          next.sealed,
          use.now,
          use.sid
        )
        const undo = { sid: use.sid, digest: next.digest, replacedDigest: use.digest, former: replacedIn(row) }
        return { outcome: 'rotated', family: touch(row, use), undo }
      })
    },

    async undoRotation({ sid, digest, replacedDigest, former }) {
      // The last undo brings `holders` to 0, so an undo of the rotation before it finds no row and changes nothing.
      execute(
        `UPDATE authority_families SET holders = holders - 1,
          current_digest = CASE holders WHEN 1 THEN ? ELSE current_digest END,
          previous_digest = CASE holders WHEN 1 THEN ? ELSE previous_digest END,
          sealed = CASE holders WHEN 1 THEN ? ELSE sealed END,
          rotated_at = CASE holders WHEN 1 THEN ? ELSE rotated_at END
        WHERE sid = ? AND current_digest = ? AND holders > 0`,
        replacedDigest,
        former?.digest ?? null,
        former?.sealed ?? null,
        former?.rotatedAt ?? null,
        sid,
        digest
      )
    },

    async revokeFamily(sid, userId) {
      const ended =
        userId === undefined
          ? change('DELETE FROM authority_families WHERE sid = ? RETURNING sid', sid)
          : change('DELETE FROM authority_families WHERE sid = ? AND user_id = ? RETURNING sid', sid, userId)
      return ended.length === 1
    },

    async revokeFamiliesOfUser(userId, exceptSid) {
      return sidsOf(
        change(
          'DELETE FROM authority_families WHERE user_id = ? AND sid IS NOT ? RETURNING sid',
          userId,
          exceptSid ?? null
        )
      )
    },

    async revokeSession(userId, sessionSid, clientId) {
      const {
        session: [session],
        families
      } = transaction(() => ({
        session: change(
          'DELETE FROM authority_browser_sessions WHERE sid = ? AND user_id = ? RETURNING *',
          sessionSid,
          userId
        ),
        families: change(
          `DELETE FROM authority_families WHERE user_id = ? AND session_sid = ? AND (current_digest IS NULL OR offline = 0 OR client_id = ?)
          RETURNING sid`,
          userId,
          sessionSid,
          clientId ?? null
        )
      }))
      // Read when all has ended: nobody could sign out of a session whose row can't be read.
      return { session: session === undefined ? null : sessionOf(session), sids: sidsOf(families) }
    },

    async revokeFamiliesOfClient(userId, clientId) {
      return sidsOf(
        change('DELETE FROM authority_families WHERE user_id = ? AND client_id = ? RETURNING sid', userId, clientId)
      )
    },

    async listFamiliesOfUser(userId, now) {
      return query(
        `SELECT * FROM authority_families WHERE user_id = ? AND ${IS_FAMILY} AND ${ALIVE} ORDER BY ` +
          'created_at DESC, rowid DESC',
        userId,
        now,
        now
      ).map(familyOf)
    }
  }
}
