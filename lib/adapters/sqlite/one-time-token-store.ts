import {
  MAX_CODE_FAILURES,
  type OneTimeToken,
  type OneTimeTokenPurpose,
  type OneTimeTokenStore
} from '../../ports/one-time-token-store.ts'
import { integer, text } from '../sql/rows.ts'
import type { Row } from '../sql/rows.ts'
import type { Connection } from './database.ts'

/**
 * One-time tokens in SQLite: a row a user and purpose, and one statement or transaction a method. A `put` leaves the
 * wrong guesses at a code as they are.
 */
export function sqliteOneTimeTokenStore({ query, change, execute, transaction }: Connection): OneTimeTokenStore {
  const tokenOf = (purpose: OneTimeTokenPurpose, digest: string, row: Row | undefined): OneTimeToken | null =>
    row === undefined ? null : { purpose, digest, userId: text(row, 'user_id'), expiresAt: integer(row, 'expires_at') }

  return {
    async put({ purpose, digest, userId, expiresAt }) {
      execute(
        `INSERT INTO authority_one_time_tokens (purpose, user_id, digest, expires_at) VALUES (?, ?, ?, ?)
        ON CONFLICT (purpose, user_id) DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at`,
        purpose,
        userId,
        digest,
        expiresAt
      )
    },
    async find(purpose, digest, now) {
      const [row] = query(
        'SELECT user_id, expires_at FROM authority_one_time_tokens WHERE purpose = ? AND digest = ? AND expires_at > ?',
        purpose,
        digest,
        now
      )
      return tokenOf(purpose, digest, row)
    },
    async consume(purpose, digest, now) {
      const [row] = change(
        'DELETE FROM authority_one_time_tokens WHERE purpose = ? AND digest = ? AND expires_at > ? ' +
          'RETURNING user_id, expires_at',
        purpose,
        digest,
        now
      )
      return tokenOf(purpose, digest, row)
    },
    async discard(purpose, userId) {
      execute('DELETE FROM authority_one_time_tokens WHERE purpose = ? AND user_id = ?', purpose, userId)
    },
    redeemCode: async ({ purpose, owner, codeDigest, now }) =>
      transaction(() => {
        const [row] = query(
          'SELECT digest, expires_at, failures, failures_until FROM authority_one_time_tokens WHERE ' +
            'purpose = ? AND user_id = ? AND expires_at > ?',
          purpose,
          owner,
          now
        )
        if (row === undefined) return 'unknown'
        const counts = now < integer(row, 'failures_until')
        if (counts && integer(row, 'failures') >= MAX_CODE_FAILURES) return 'spent'
        if (text(row, 'digest') === codeDigest) {
          execute('DELETE FROM authority_one_time_tokens WHERE purpose = ? AND user_id = ?', purpose, owner)
          return 'redeemed'
        }
        execute(
          'UPDATE authority_one_time_tokens SET failures = ?, failures_until = ? WHERE purpose = ? AND user_id = ?',
          counts ? integer(row, 'failures') + 1 : 1,
          integer(row, counts ? 'failures_until' : 'expires_at'),
          purpose,
          owner
        )
        return 'wrong'
      })
  }
}
