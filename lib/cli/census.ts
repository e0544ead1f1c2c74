import type { FirebaseParameters } from '../accounts/imported-hash-formats.ts'
import { parseStoredHash } from '../accounts/stored-hash.ts'
import { pageFrom } from '../boundary/answers.ts'
import { misfit } from '../errors.ts'
import { createdAtOf } from '../features/users/given.ts'
import type { User, UserListQuery, UserStore } from '../ports/user-store.ts'
import type { AuthorityOptions } from '../settings/options.ts'
import type { Place } from './stores.ts'

const PAGE = 200
const SOURCE = 'users.list'

/**
 * Counts users by the format of their hash, page by page. Empty for a store that does not list users. `ask` bounds the
 * time of an answer.
 * @throws MisfitError for a store that gives other rows than users, or the same page again
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
    // A store that ignores `after` would never end.
    if (last.id === after?.id)
      throw misfit('store', { source: SOURCE, got: page, takes: 'the users after the last page' })
    after = { createdAt: createdAtOf(last) ?? 0, id: last.id }
  } while (page.length === PAGE)
  return counts
}

/** The name of the format of a hash, and nothing of the hash. */
function formatOf({ passwordHash }: Pick<User, 'passwordHash'>, firebase: FirebaseParameters | null): string {
  if (passwordHash === null) return 'none'
  const stored = parseStoredHash(passwordHash, firebase)
  return stored.kind === 'argon2' ? stored.variant : stored.kind
}

/** A thing to mend. `check` is a word for programs, `problem` a sentence with the means. */
export interface Fault {
  check:
    | 'options'
    | 'settings'
    | 'store'
    | 'migrations'
    | 'clock'
    | 'keys'
    | 'workers'
    | 'redis'
    | 'proxy'
    | 'messages'
    | 'connection'
    | 'memory'
    | 'roles'
    | 'hashes'
    | 'limits'
  problem: string
}

export type Found = (check: Fault['check'], problem: string) => void

/** Names of fields by which many apps decide on rights. */
const RIGHTS = /^(?:is)?_?(?:admin|superuser|roles?|groups?|permissions?|scopes?|rights)$/i

/** Options that the plugin accepts, and that are seldom meant in a service. */
export function examineChoices(options: AuthorityOptions, stores: readonly Place[], found: Found, noted: Found): void {
  // The plugin may have refused the options, so nothing is sure about their types.
  const registration = options.registration as { fields?: { properties?: object } | null } | false | null | undefined
  const memory = stores.flatMap(({ option, isMemory }) => (isMemory ? [option] : []))
  if (memory.includes('users'))
    found('memory', 'The users are in memory, so they are gone when the process ends. Set users to a store.')
  else if (memory.includes('state'))
    noted('memory', 'The state is in memory, so a restart signs all people out. Set state or redis.')
  if (options.rateLimit === false)
    noted('limits', 'rateLimit is false, so nothing here slows down guesses of passwords. Leave the option out.')
  const fields = Object.keys((registration || {}).fields?.properties ?? {})
  for (const field of fields.filter((name) => RIGHTS.test(name)))
    found('roles', `registration.fields has ${field}, so people choose it for themselves. Keep it out of these fields.`)
}
