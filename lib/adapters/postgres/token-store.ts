import type {
  CodeRedemption,
  NewAuthorizationCode,
  NewRefreshTokenFamily,
  RefreshTokenFamily,
  Successor,
  TokenStore,
  TokenUse
} from '../../ports/token-store.ts'
import { familyOf, presented, replacedIn } from '../sql/family-rows.ts'
import { isRow, text, texts } from '../sql/rows.ts'
import { sessionOf } from '../sql/session-rows.ts'
import type { Row } from '../sql/rows.ts'
import type { PostgresValue, Query } from './database.ts'
import { alive } from './lifetime.ts'
import { sessionUse } from './session-store.ts'

/** What a function of the tables answered. `row` is as it was before. */
type Answer = { outcome: 'unknown' } | { outcome: string; row: Row }

/** A column of JSON, which most drivers parse. */
function jsonIn(row: Row | undefined, column: string): unknown {
  const given = row?.[column]
  return typeof given === 'string' ? JSON.parse(given) : given
}

function answerOf(rows: readonly Row[]): Answer {
  const answer = jsonIn(rows[0], 'answer')
  if (!isRow(answer)) throw new TypeError('The database gave no answer.')
  if (answer['outcome'] === 'unknown') return { outcome: 'unknown' }
  if (!isRow(answer['family'])) throw new TypeError('The database gave no family.')
  return { outcome: text(answer, 'outcome'), row: answer['family'] }
}

const unexpected = (outcome: string): TypeError => new TypeError(`The database gave the outcome ${outcome}.`)

function used(row: Row, { now, idleExpiresAt }: TokenUse): RefreshTokenFamily {
  const family = familyOf(row)
  return { ...family, lastUsedAt: now, idleExpiresAt: Math.min(idleExpiresAt, family.expiresAt) }
}

function redeemed(
  row: Row,
  { now, expiresAt, idleExpiresAt, onlineExpiresAt, userAgent }: CodeRedemption
): RefreshTokenFamily {
  const family = familyOf(row)
  const ends = family.offline
    ? { expiresAt, idleExpiresAt }
    : { expiresAt: onlineExpiresAt, idleExpiresAt: onlineExpiresAt }
  return { ...family, lastUsedAt: now, ...ends, userAgent }
}

/**
 * Refresh token families and authorization codes in PostgreSQL. A user has at most `maxFamiliesPerUser` families that
 * are offline, as many that are not, and as many codes that wait: one more ends the one created first. Every method is
 * one statement.
 */
export function postgresTokenStore(query: Query, prefix: string, maxFamiliesPerUser: number): TokenStore {
  const families = `${prefix}authority_families`
  const ALIVE_FAMILY = `SELECT * FROM ${families}
    WHERE sid = $1 AND current_digest IS NOT NULL AND ${alive('$2::bigint')}`

  const ADD =
    `SELECT ${prefix}authority_add_family_2($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, ` +
    '$13, $14, $15, $16, $17, $18)'
  const USE_OF_SESSION = sessionUse(prefix, { sid: '$19', now: '$20', idleExpiresAt: '$21', clientId: '$22' })

  /** A code is a row without a token, which ends when the code does. */
  const valuesOf = (created: NewRefreshTokenFamily | NewAuthorizationCode): PostgresValue[] => {
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
    return [
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
      created.offline,
      created.authorization,
      codeDigest,
      tokenDigest,
      created.acr,
      JSON.stringify(created.amr),
      maxFamiliesPerUser
    ]
  }
  const present = async (
    { sid, digest, now, graceMs, idleExpiresAt, clientId }: TokenUse,
    next: Successor | null
  ): Promise<Answer> =>
    answerOf(
      await query(
        `SELECT ${prefix}authority_present_token($1, $2, $3, $4, $5, $6, $7, $8, $9) AS answer`,
        sid,
        digest,
        now,
        graceMs,
        idleExpiresAt,
        clientId === undefined,
        clientId ?? null,
        next?.digest ?? null,
        next?.sealed ?? null
      )
    )
  const revoke = async (
    userId: string,
    { exceptSid, clientId }: { exceptSid?: string | undefined; clientId?: string }
  ): Promise<string[]> =>
    (
      await query(
        `SELECT revoked_sid FROM ${prefix}authority_revoke_families($1, $2, NULL, NULL, $3)`,
        userId,
        exceptSid ?? null,
        clientId ?? null
      )
    ).map((row) => text(row, 'revoked_sid'))

  return {
    async createFamily(created) {
      await query(ADD, ...valuesOf(created))
    },

    async createCode(created, use) {
      if (use === undefined) return (await query(ADD, ...valuesOf(created))).length === 1
      // The row of the session is held until both are done, so whoever ends it finds the code; and no row of it, no
      // code.
      return (
        (
          await query(
            `WITH used AS (${USE_OF_SESSION}) ${ADD} FROM used`,
            ...valuesOf(created),
            use.sid,
            use.now,
            use.idleExpiresAt,
            use.clientId ?? null
          )
        ).length === 1
      )
    },

    async redeemCode(redemption) {
      const { sid, digest, clientId, now, tokenDigest, expiresAt, idleExpiresAt, onlineExpiresAt, userAgent } =
        redemption
      const answer = answerOf(
        await query(
          `SELECT ${prefix}authority_redeem_code($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS answer`,
          sid,
          digest,
          clientId,
          now,
          tokenDigest,
          expiresAt,
          idleExpiresAt,
          onlineExpiresAt,
          userAgent,
          maxFamiliesPerUser
        )
      )
      if (!('row' in answer)) return { outcome: 'unknown' }
      if (answer.outcome === 'replayed') return { outcome: 'replayed', family: familyOf(answer.row) }
      if (answer.outcome === 'redeemed') return { outcome: 'redeemed', family: redeemed(answer.row, redemption) }
      throw unexpected(answer.outcome)
    },

    async findFamily(sid, now) {
      const [row] = await query(ALIVE_FAMILY, sid, now)
      return row === undefined ? null : familyOf(row)
    },

    async peekToken(use) {
      const [row] = await query(ALIVE_FAMILY, use.sid, use.now)
      return row === undefined || presented(row, use) === 'replay' ? null : familyOf(row)
    },

    async useToken(use) {
      const answer = await present(use, null)
      if (!('row' in answer)) return { outcome: 'unknown' }
      if (answer.outcome === 'replayed') return { outcome: 'replayed', family: familyOf(answer.row) }
      if (answer.outcome === 'used') return { outcome: 'used', family: used(answer.row, use) }
      throw unexpected(answer.outcome)
    },

    async rotateToken(use, next) {
      const answer = await present(use, next)
      if (!('row' in answer)) return { outcome: 'unknown' }
      const { outcome, row } = answer
      if (outcome === 'replayed') return { outcome, family: familyOf(row) }
      if (outcome === 'repeated') {
        const undo = { sid: use.sid, digest: text(row, 'current_digest'), replacedDigest: use.digest, former: null }
        return { outcome, family: familyOf(row), sealed: text(row, 'sealed'), undo }
      }
      if (outcome !== 'rotated') throw unexpected(outcome)
      const undo = { sid: use.sid, digest: next.digest, replacedDigest: use.digest, former: replacedIn(row) }
      return { outcome, family: used(row, use), undo }
    },

    async undoRotation({ sid, digest, replacedDigest, former }) {
      // What is current again is somebody's for good: `holders` stays 0.
      await query(
        `UPDATE ${families} SET holders = holders - 1,
          current_digest = CASE holders WHEN 1 THEN $3 ELSE current_digest END,
          previous_digest = CASE holders WHEN 1 THEN $4 ELSE previous_digest END,
          sealed = CASE holders WHEN 1 THEN $5 ELSE sealed END,
          rotated_at = CASE holders WHEN 1 THEN $6::bigint ELSE rotated_at END
        WHERE sid = $1 AND current_digest = $2 AND holders > 0`,
        sid,
        digest,
        replacedDigest,
        former?.digest ?? null,
        former?.sealed ?? null,
        former?.rotatedAt ?? null
      )
    },

    async revokeFamily(sid, userId) {
      return (
        (
          await query(
            `DELETE FROM ${families} WHERE sid = $1 AND ($2::text IS NULL OR user_id = $2) RETURNING sid`,
            sid,
            userId ?? null
          )
        ).length === 1
      )
    },

    revokeFamiliesOfUser: (userId, exceptSid) => revoke(userId, { exceptSid }),
    revokeFamiliesOfClient: (userId, clientId) => revoke(userId, { clientId }),

    async revokeSession(userId, sessionSid, clientId) {
      // The row of the session goes first. Whoever makes a code of it holds that row until the code is there, and the
      // function sees all that was committed before it is called; the CTE is materialized, or it might be called
      // before.
      const [row] = await query(
        `WITH ended AS (DELETE FROM ${prefix}authority_browser_sessions WHERE sid = $2 AND user_id = $1 RETURNING *),
          gone AS MATERIALIZED (SELECT (SELECT row_to_json(ended) FROM ended) AS session, $2::text AS sid)
        SELECT session, ARRAY(SELECT revoked_sid FROM ${prefix}authority_revoke_families($1, NULL, gone.sid, $3, NULL)) AS sids FROM gone`,
        userId,
        sessionSid,
        clientId ?? null
      )
      if (row === undefined) throw new TypeError('The database gave no answer.')
      const session = jsonIn(row, 'session')
      return { session: isRow(session) ? sessionOf(session) : null, sids: texts(row, 'sids') }
    },

    async listFamiliesOfUser(userId, now) {
      return (
        await query(
          `SELECT * FROM ${families} WHERE user_id = $1 AND current_digest IS NOT NULL AND ` +
            `${alive('$2::bigint')} ORDER BY created_at DESC, sid DESC`,
          userId,
          now
        )
      ).map(familyOf)
    }
  }
}
