import type { AssertionStore } from '../../ports/assertion-store.ts'
import type { Connection } from './database.ts'

/** Claimed assertions in SQLite: a row each, and one statement a method. */
export function sqliteAssertionStore({ change }: Connection): AssertionStore {
  return {
    async claim(digest, expiresAt) {
      const added = change(
        'INSERT INTO authority_assertions (digest, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING digest',
        digest,
        expiresAt
      )
      return added.length === 1 ? 'fresh' : 'replayed'
    }
  }
}
