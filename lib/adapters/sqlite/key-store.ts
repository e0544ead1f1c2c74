import type { KeyStore } from '../../ports/key-store.ts'
import { keyOf } from '../sql/key-rows.ts'
import type { Connection } from './database.ts'

/**
 * Signing keys in SQLite. The constraint `UNIQUE (alg, sequence)` keeps two processes from both adding the next key.
 */
export function sqliteKeyStore({ query, change, execute }: Connection): KeyStore {
  return {
    async list() {
      return query('SELECT * FROM authority_keys ORDER BY alg, sequence').map(keyOf)
    },
    async addIfAbsent({ kid, alg, sequence, signsFrom, createdAt, publicJwk, sealed }) {
      return (
        change(
          `INSERT INTO authority_keys (kid, alg, sequence, signs_from, created_at, public_jwk, sealed) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT DO NOTHING RETURNING kid`,
          kid,
          alg,
          sequence,
          signsFrom,
          createdAt,
          JSON.stringify(publicJwk),
          sealed
        ).length === 1
      )
    },
    async remove(kid) {
      execute('DELETE FROM authority_keys WHERE kid = ?', kid)
    }
  }
}
