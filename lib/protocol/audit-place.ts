import { OAuthError } from '../errors.ts'
import type { AuditEntry, AuditPage } from '../ports/audit-log.ts'

type Place = Pick<AuditEntry, 'at' | 'chain' | 'seq'>

const written = ({ at, chain, seq }: Place): string =>
  Buffer.from(JSON.stringify([at, chain, seq])).toString('base64url')
const MAX_PLACE = 500

/**
 * Makes a page of the entries that a store found. The store must read one entry more than `limit`, because that entry
 * tells whether there is a next page.
 */
export function pageOf(found: readonly AuditEntry[], limit: number): AuditPage {
  const entries = found.slice(0, limit)
  const last = entries.at(-1)
  return { entries, next: found.length > limit && last !== undefined ? written(last) : null }
}

/**
 * Parses the `next` of a former page. `null` for `undefined`.
 * @throws OAuthError `invalid_request` for any other text
 */
export function placeAfter(after: string | undefined): Place | null {
  if (after === undefined) return null
  const place = after.length <= MAX_PLACE ? placeIn(after) : null
  if (place === null || written(place) !== after)
    throw new OAuthError('invalid_request', 'after: it is no next of an answer.', { field: 'after' })
  return place
}

function placeIn(text: string): Place | null {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    return null
  }
  const [at, chain, seq] = Array.isArray(value) ? (value as unknown[]) : []
  const fits =
    Number.isSafeInteger(at) && Number.isSafeInteger(seq) && typeof chain === 'string' && /^[\w-]{1,64}$/.test(chain)
  return fits ? { at: at as number, chain, seq: seq as number } : null
}
