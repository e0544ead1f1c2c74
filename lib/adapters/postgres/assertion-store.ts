import type { AssertionStore } from '../../ports/assertion-store.ts'
import type { Query } from './database.ts'

/** Claimed assertions in PostgreSQL: a row each, and one statement a method. */
export function postgresAssertionStore(query: Query, prefix: string): AssertionStore {
  return {
    async claim(digest, expiresAt) {
      // Whoever comes second waits for the first to commit, and adds nothing.
      const added = await query(
        `INSERT INTO ${prefix}authority_assertions (digest, expires_at) VALUES ($1, $2) ON ` +
          'CONFLICT DO NOTHING RETURNING digest',
        digest,
        expiresAt
      )
      return added.length === 1 ? 'fresh' : 'replayed'
    }
  }
}
