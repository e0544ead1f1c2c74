import { OAuthError } from '../../errors.ts'
import type { User, UserListQuery } from '../../ports/user-store.ts'
import { isStorable } from '../../protocol/bounds.ts'

type Place = NonNullable<UserListQuery['after']>

/** The time at which a user was made, in milliseconds since the epoch; `null`: not known. */
export function createdAtOf({ createdAt }: User): number | null {
  const at = createdAt instanceof Date ? createdAt.getTime() : createdAt
  return typeof at === 'number' && Number.isSafeInteger(at) && at > 0 ? at : null
}

/** The end of a page, as text for its reader. It needs no signature, because a store binds its parts as values. */
export function textOfPlace(user: User): string {
  return written({ createdAt: createdAtOf(user) ?? 0, id: user.id })
}

const written = ({ createdAt, id }: Place): string => Buffer.from(JSON.stringify([createdAt, id])).toString('base64url')

const MAX_LENGTH = 2000

/**
 * Reads exactly what `textOfPlace` writes.
 * @throws OAuthError `invalid_request`
 */
export function placeOf(text: unknown): Place {
  const place = typeof text === 'string' && text.length <= MAX_LENGTH ? read(text) : null
  if (place === null || written(place) !== text)
    throw new OAuthError('invalid_request', 'after: it is no next of an answer.', { field: 'after' })
  return place
}

function read(text: string): Place | null {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    return null
  }
  const [createdAt, id, ...others] = Array.isArray(value) ? (value as unknown[]) : []
  const fits = Number.isSafeInteger(createdAt) && typeof id === 'string' && isStorable(id) && others.length === 0
  return fits ? { createdAt: createdAt as number, id } : null
}
