import type { Consent, ConsentStore } from '../../ports/consent-store.ts'
import { consentOf } from '../sql/consent-rows.ts'
import type { Connection } from './database.ts'

/** Consents in SQLite: a row a user and client. Scopes are added under the write lock of one transaction. */
export function sqliteConsentStore({ query, change, execute, transaction }: Connection): ConsentStore {
  const find = (userId: string, clientId: string, now: number): Consent | null => {
    const [row] = query(
      'SELECT * FROM authority_consents WHERE user_id = ? AND client_id = ? AND expires_at > ?',
      userId,
      clientId,
      now
    )
    return row === undefined ? null : consentOf(row)
  }

  return {
    async findConsent(userId, clientId, now) {
      return find(userId, clientId, now)
    },
    async grantConsent({ userId, clientId, scopes, grantedAt, expiresAt }) {
      transaction(() => {
        // One that has expired must not come to life again with the scopes it once had.
        const former = find(userId, clientId, grantedAt)?.scopes ?? []
        execute(
          `INSERT INTO authority_consents (user_id, client_id, scopes, granted_at, expires_at) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (user_id, client_id) DO UPDATE SET scopes = excluded.scopes, granted_at = excluded.granted_at, expires_at = excluded.expires_at`,
          userId,
          clientId,
          JSON.stringify([...new Set([...former, ...scopes])]),
          grantedAt,
          expiresAt
        )
      })
    },
    async revokeConsent(userId, clientId) {
      return (
        change(
          'DELETE FROM authority_consents WHERE user_id = ? AND client_id = ? RETURNING client_id',
          userId,
          clientId
        ).length === 1
      )
    },
    async listConsents(userId, now) {
      return query(
        'SELECT * FROM authority_consents WHERE user_id = ? AND expires_at > ? ORDER BY granted_at DESC, rowid DESC',
        userId,
        now
      ).map(consentOf)
    }
  }
}
