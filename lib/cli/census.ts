import type { FirebaseParameters } from '../accounts/imported-hash-formats.ts'
import { parseStoredHash } from '../accounts/stored-hash.ts'
import { pageFrom } from '../boundary/answers.ts'
import { misfit } from '../errors.ts'
import { createdAtOf } from '../features/users/user-cursor.ts'
import type { User, UserListQuery, UserStore } from '../ports/user-store.ts'

const PAGE = 200
const SOURCE = 'users.list'

/**
 * Counts users by the format of their password hash, page by page. The result is empty if the store can't list users.
 * `ask` limits the time of each query.
 * @throws MisfitError if the store returns rows that are no users, or the same page twice
 */
export async function census(
  users: UserStore,
  firebase: FirebaseParameters | null,
  ask: <Answer>(work: () => Promise<Answer>) => Promise<Answer>
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  let page: readonly User[]
  let after: UserListQuery['after']
  do {
    const query = { limit: PAGE, after }
    page = await ask(async () => pageFrom(SOURCE, await users.list?.(query), PAGE))
    for (const user of page) {
      const format = formatOf(user, firebase)
      counts[format] = (counts[format] ?? 0) + 1
    }
    const last = page.at(-1)
    if (last === undefined) break
    // With a store that ignores `after`, the loop would never end.
    if (last.id === after?.id)
      throw misfit('store', { source: SOURCE, got: page, takes: 'the users after the last page' })
    after = { createdAt: createdAtOf(last) ?? 0, id: last.id }
  } while (page.length === PAGE)
  return counts
}

/** Names the format of the hash. `none`: the user has no password. The name contains no part of the hash. */
function formatOf({ passwordHash }: Pick<User, 'passwordHash'>, firebase: FirebaseParameters | null): string {
  if (passwordHash === null) return 'none'
  const stored = parseStoredHash(passwordHash, firebase)
  return stored.kind === 'argon2' ? stored.variant : stored.kind
}
