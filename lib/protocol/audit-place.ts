import type { AuditEntry, AuditPage } from '../ports/audit-log.ts'
import { cursorOf } from './cursor.ts'

type Place = Pick<AuditEntry, 'at' | 'chain' | 'seq'>

const cursor = cursorOf<Place>(
  ({ at, chain, seq }) => [at, chain, seq],
  ([at, chain, seq]) => {
    const fits =
      Number.isSafeInteger(at) && Number.isSafeInteger(seq) && typeof chain === 'string' && /^[\w-]{1,64}$/.test(chain)
    return fits ? { at: at as number, chain, seq: seq as number } : null
  }
)

/**
 * Makes a page of the entries that a store found. The store must read one entry more than `limit`, because that entry
 * tells whether there is a next page.
 */
export function pageOf(found: readonly AuditEntry[], limit: number): AuditPage {
  const entries = found.slice(0, limit)
  const last = entries.at(-1)
  return { entries, next: found.length > limit && last !== undefined ? cursor.write(last) : null }
}

/**
 * Reads the `next` of a page. `null` without `after`: the first page.
 * @throws OAuthError `invalid_request` for a text of another form than `pageOf` makes
 */
export function placeAfter(after: string | undefined): Place | null {
  return after === undefined ? null : cursor.read(after)
}
