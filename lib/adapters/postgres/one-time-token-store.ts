import type {
  CodeOutcome,
  OneTimeToken,
  OneTimeTokenPurpose,
  OneTimeTokenStore
} from '../../ports/one-time-token-store.ts'
import { integer, text } from '../sql/rows.ts'
import type { Row } from '../sql/rows.ts'
import type { Query } from './database.ts'

/**
 * One-time tokens in PostgreSQL: a row a user and purpose, and one statement a method. A `put` leaves the wrong guesses
 * at a code as they are.
 */
export function postgresOneTimeTokenStore(query: Query, prefix: string): OneTimeTokenStore {
  const tokens = `${prefix}authority_one_time_tokens`
  const tokenOf = (purpose: OneTimeTokenPurpose, digest: string, row: Row | undefined): OneTimeToken | null =>
    row === undefined ? null : { purpose, digest, userId: text(row, 'user_id'), expiresAt: integer(row, 'expires_at') }

  return {
    async put({ purpose, digest, userId, expiresAt }) {
      await query(
        `INSERT INTO ${tokens} (purpose, user_id, digest, expires_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (purpose, user_id) DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at`,
        purpose,
        userId,
        digest,
        expiresAt
      )
    },
    async find(purpose, digest, now) {
      const [row] = await query(
        `SELECT user_id, expires_at FROM ${tokens} WHERE purpose = $1 AND digest = $2 AND expires_at > $3`,
        purpose,
        digest,
        now
      )
      return tokenOf(purpose, digest, row)
    },
    async consume(purpose, digest, now) {
      const [row] = await query(
        `DELETE FROM ${tokens} WHERE purpose = $1 AND digest = $2 AND expires_at > $3 RETURNING user_id, expires_at`,
        purpose,
        digest,
        now
      )
      return tokenOf(purpose, digest, row)
    },
    async discard(purpose, userId) {
      await query(`DELETE FROM ${tokens} WHERE purpose = $1 AND user_id = $2`, purpose, userId)
    },
    async redeemCode({ purpose, owner, codeDigest, now }) {
      const [row] = await query(
        `SELECT ${prefix}authority_redeem_sign_in_code($1, $2, $3, $4) AS outcome`,
        purpose,
        owner,
        codeDigest,
        now
      )
      return (row === undefined ? 'unknown' : text(row, 'outcome')) as CodeOutcome
    }
  }
}
