import type { StoredKey } from '../../ports/key-store.ts'
import { integer, jsonObject, text } from './rows.ts'
import type { Row } from './rows.ts'

export function keyOf(row: Row): StoredKey {
  return {
    kid: text(row, 'kid'),
    alg: text(row, 'alg'),
    sequence: integer(row, 'sequence'),
    signsFrom: integer(row, 'signs_from'),
    createdAt: integer(row, 'created_at'),
    publicJwk: jsonObject(row, 'public_jwk'),
    sealed: text(row, 'sealed')
  }
}
