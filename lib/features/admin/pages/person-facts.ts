import type { ManagedUser } from '../../../accounts/managed-users.ts'
import { OAuthError } from '../../../errors.ts'
import type { User } from '../../../ports/user-store.ts'
import { listSessions, type Session } from '../../../sessions/browser-sessions.ts'
import type { WayKind } from '../endpoints/ways.ts'
import type { AdminPageDeps, AdminVisit } from './visit.ts'

/** Something that a person has, as a page names it. */
export interface Item {
  id: string
  name: string
  since: string | null
  used: string | null
}

/** A person of whom a page tells. */
export interface Person {
  row: User
  user: ManagedUser
  url: string
  isProtected: boolean
  /** The reason why this administrator does not act on the person; `null`: they do. */
  refusal: OAuthError | null
}

/** The person in the address. @throws OAuthError `not_found` */
export async function personOf(visit: AdminVisit, deps: AdminPageDeps): Promise<Person> {
  const { id = '' } = visit.request.params as { id?: string }
  const user = await deps.users().get(id)
  const row = user === null ? null : await deps.accounts.users.findById(user.id)
  if (user === null || row === null)
    throw new OAuthError('not_found', 'There is no such person.', { withoutStack: true })
  const isProtected = await deps.isProtected(row, visit)
  return {
    row,
    user,
    url: `${deps.pages.link('admin')}/people/${encodeURIComponent(user.id)}`,
    isProtected,
    refusal: refusalOf(row, isProtected, visit)
  }
}

/** The same, for an act on them. @throws OAuthError also `conflict`, `access_denied` */
export async function actableOf(visit: AdminVisit, deps: AdminPageDeps): Promise<Person> {
  const person = await personOf(visit, deps)
  if (person.refusal !== null) throw person.refusal
  return person
}

function refusalOf(row: User, isProtected: boolean, visit: AdminVisit): OAuthError | null {
  if (row.id === visit.person.user.id)
    return new OAuthError('conflict', 'This is your own account, and nobody administrates their own.', {
      withoutStack: true
    })
  if (isProtected && !visit.scopes.includes('authority:protected'))
    return new OAuthError('access_denied', 'This account is protected. You lack the scope for it.', {
      withoutStack: true
    })
  return null
}

export const sessionsOf = async ({ user }: Person, { accounts }: AdminPageDeps): Promise<Session[]> =>
  await listSessions(user.id, accounts.sessions)

/** The things of each kind. `null`: the feature is off. */
export async function itemsOf({ row }: Person, kind: WayKind): Promise<Item[] | null> {
  const found = await kind.list(row)
  return Array.isArray(found) ? (found as Array<Record<string, unknown>>).map(itemOf) : null
}

function itemOf(given: Record<string, unknown>): Item {
  const text = (name: string): string | null => {
    const value = given[name]
    return typeof value === 'string' && value !== '' ? value : null
  }
  const names = [text('name') ?? text('kind'), text('connection'), text('email')].filter((one) => one !== null)
  return {
    id: text('id') ?? '',
    name: names.join(' · '),
    since: text('created_at') ?? text('linked_at'),
    used: text('last_used_at')
  }
}
