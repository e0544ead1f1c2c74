import type { ConsentStore } from '../../ports/consent-store.ts'
import { consentOf } from '../sql/consent-rows.ts'
import type { Query } from './database.ts'

/** Consents in PostgreSQL: a row a user and client, and one statement a method. */
export function postgresConsentStore(query: Query, prefix: string): ConsentStore {
  const consents = `${prefix}authority_consents`

  return {
    async findConsent(userId, clientId, now) {
      const [row] = await query(
        `SELECT * FROM ${consents} WHERE user_id = $1 AND client_id = $2 AND expires_at > $3`,
        userId,
        clientId,
        now
      )
      return row === undefined ? null : consentOf(row)
    },
    async grantConsent({ userId, clientId, scopes, grantedAt, expiresAt }) {
      // One that has expired must not come to life again with the scopes it once had. The row in conflict is locked and
      // its newest version read, so of several grants at once each adds to what the one before left.
      await query(
        `INSERT INTO ${consents} AS former (user_id, client_id, scopes, granted_at, expires_at)
        VALUES ($1, $2, ARRAY(SELECT json_array_elements_text($3::text::json)), $4, $5)
        ON CONFLICT (user_id, client_id) DO UPDATE SET granted_at = excluded.granted_at, expires_at = excluded.expires_at,
          scopes = CASE WHEN former.expires_at > excluded.granted_at
            THEN former.scopes || ARRAY(SELECT scope FROM unnest(excluded.scopes) AS scope WHERE scope <> ALL (former.scopes))
            ELSE excluded.scopes END`,
        userId,
        clientId,
        JSON.stringify([...new Set(scopes)]),
        grantedAt,
        expiresAt
      )
    },
    async revokeConsent(userId, clientId) {
      return (
        (
          await query(
            `DELETE FROM ${consents} WHERE user_id = $1 AND client_id = $2 RETURNING client_id`,
            userId,
            clientId
          )
        ).length === 1
      )
    },
    async listConsents(userId, now) {
      return (
        await query(
          `SELECT * FROM ${consents} WHERE user_id = $1 AND expires_at > $2 ORDER BY granted_at DESC, client_id`,
          userId,
          now
        )
      ).map(consentOf)
    }
  }
}
