import type { KeyStore } from '../../ports/key-store.ts'
import { keyOf } from '../sql/key-rows.ts'
import type { Query } from './database.ts'

/**
 * Signing keys in PostgreSQL. That two instances can't both add "the next key" is the table's `UNIQUE (alg, sequence)`.
 */
export function postgresKeyStore(query: Query, prefix: string): KeyStore {
  const keys = `${prefix}authority_keys`

  return {
    async list() {
      return (await query(`SELECT * FROM ${keys} ORDER BY alg, sequence`)).map(keyOf)
    },
    async addIfAbsent({ kid, alg, sequence, signsFrom, createdAt, publicJwk, sealed }) {
      return (
        (
          await query(
            `INSERT INTO ${keys} (kid, alg, sequence, signs_from, created_at, public_jwk, sealed) VALUES ($1, $2, $3, $4, $5, $6::text::jsonb, $7)
        ON CONFLICT DO NOTHING RETURNING kid`,
            kid,
            alg,
            sequence,
            signsFrom,
            createdAt,
            JSON.stringify(publicJwk),
            sealed
          )
        ).length === 1
      )
    },
    async remove(kid) {
      await query(`DELETE FROM ${keys} WHERE kid = $1`, kid)
    }
  }
}
