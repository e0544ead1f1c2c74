import type { User, UserListQuery } from '../../ports/user-store.ts'
import { isStorable } from '../../protocol/bounds.ts'
import { cursorOf } from '../../protocol/cursor.ts'

type Place = NonNullable<UserListQuery['after']>

/** The creation time of a user in milliseconds since the epoch. `null`: unknown. */
export function createdAtOf({ createdAt }: User): number | null {
  const at = createdAt instanceof Date ? createdAt.getTime() : createdAt
  return typeof at === 'number' && Number.isSafeInteger(at) && at > 0 ? at : null
}

/** Writes and reads the text for the end of a page of users (`next` and `after`). */
export const USER_CURSOR = cursorOf<Place>(
  ({ createdAt, id }) => [createdAt, id],
  ([createdAt, id, ...others]) => {
    const fits = Number.isSafeInteger(createdAt) && typeof id === 'string' && isStorable(id) && others.length === 0
    return fits ? { createdAt: createdAt as number, id } : null
  }
)

export const placeOfUser = (user: User): Place => ({ createdAt: createdAtOf(user) ?? 0, id: user.id })
