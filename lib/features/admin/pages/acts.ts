import { INVITATION_DAYS } from '../../../accounts/acted-on.ts'
import { addressOf } from '../../../accounts/outbox.ts'
import { slotOf } from '../../../accounts/slots.ts'
import { ownerConnection } from '../../../accounts/ways-in.ts'
import { OAuthError } from '../../../errors.ts'
import type { AdminScope } from '../../../protocol/scope.ts'
import type { Acting } from '../endpoints/acting.ts'
import { removeUserItem, userItemKinds, endSessions, type UserItemKind } from '../endpoints/user-items.ts'
import { visible, type AdminPageDeps, type AdminVisit } from './frame.ts'
import { counted } from '../../../pages/counted.ts'
import type { UserWithRow } from '../../../accounts/managed-users.ts'
import type { User } from '../../../ports/user-store.ts'
import { listSessions, type Session } from '../../../sessions/browser-sessions.ts'

/** A session, API key, link or second factor of a person, for a list on a page. */
export interface Item {
  id: string
  name: string
  since: string | null
  used: string | null
}

/** The person whom a page shows. */
export interface Person extends UserWithRow {
  url: string
  isProtected: boolean
  /** The error if this administrator may not act on the person. `null`: no objection, apart from scopes. */
  refusal: OAuthError | null
}

/** Finds the person whose id is in the URL. @throws OAuthError `not_found` */
export async function personOf(visit: AdminVisit, deps: AdminPageDeps): Promise<Person> {
  const { id = '' } = visit.request.params as { id?: string }
  const found = await deps.users().get(id)
  if (found === null) throw new OAuthError('not_found', 'There is no such person.', { withoutStack: true })
  const { user, row } = found
  const isProtected = await deps.isProtected(row, visit)
  return {
    row,
    user,
    url: `${deps.pages.link('admin')}/people/${encodeURIComponent(user.id)}`,
    isProtected,
    refusal: refusalOf(row, isProtected, visit)
  }
}

/**
 * Finds the person whose id is in the URL, and checks that this administrator may act on them.
 * @throws OAuthError `not_found`; `conflict` for the administrator's own account; `access_denied` for a protected one
 * without the scope `authority:protected`
 */
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

/** Lists the person's items of this kind. `null`: second factors or API keys are off. */
export async function itemsOf({ row }: Person, kind: UserItemKind): Promise<Item[] | null> {
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

/** An administrator's action on a person. Each action has its own page, which asks for confirmation. */
export interface Act {
  /** The path below the page of the person. It ends with `/:one` for an action on a single item, such as a session. */
  path: string
  scope: AdminScope
  /** The parts of the question before and after the username. */
  question: [before: string, after: string]
  button: string
  /** The note after the action. `already`: the note if the action had been done before. */
  done: string
  already?: string
  isDone?(person: Person): boolean
  /** False: the list of actions on the person's page does not contain it. */
  isOffered(person: Person): boolean
  consequences(person: Person, visit: AdminVisit): Promise<string[]>
  /** The action removes the person. The administrator must type the username, and then gets the list of people. */
  removesPerson?: true
  run(person: Person, act: Acting, visit: AdminVisit): Promise<void>
}

const oneIn = ({ request }: AdminVisit): string => (request.params as { one?: string }).one ?? ''

export function actsOf(deps: AdminPageDeps): Act[] {
  const { accounts, users } = deps
  const kinds = userItemKinds(deps)
  const mails = accounts.outbox !== null
  const write = 'authority:users:write' as const

  async function devices(person: Person): Promise<string> {
    const { length } = await sessionsOf(person, deps)
    return `${counted(length, 'device')} ${length === 1 ? 'is' : 'are'} signed out.`
  }

  /** The consequence for the person's API keys. Empty if the person has none. */
  async function keys(person: Person): Promise<string[]> {
    const kind = kinds.find(({ name }) => name === 'api_keys')
    const { length } = (kind === undefined ? null : await itemsOf(person, kind)) ?? []
    return length === 0 ? [] : [`${counted(length, 'API key')} ${length === 1 ? 'stops' : 'stop'} working.`]
  }

  return [
    {
      path: 'invite',
      scope: write,
      question: ['Send an invitation to ', '?'],
      button: 'Send invitation',
      done: 'The invitation was sent.',
      isOffered: ({ row }) =>
        !row.disabled && row.passwordHash === null && addressOf(row) !== '' && slotOf(accounts, 'invitations') !== null,
      consequences: async ({ row }) => [
        `A link to begin goes to ${visible(addressOf(row))}. It works once, for ${INVITATION_DAYS} days.`,
        'A former link stops working.'
      ],
      run: async ({ user }, act) => await users().invite(user.id, act)
    },
    {
      path: 'reset',
      scope: write,
      question: ['Require a new password of ', '?'],
      button: 'Require a new password',
      done: 'The password was removed, and the link was sent.',
      already: 'The account had no password already.',
      isDone: ({ row }) => row.passwordHash === null,
      isOffered: ({ row }) =>
        mails &&
        accounts.users.setPasswordHash !== undefined &&
        !row.disabled &&
        row.passwordHash !== null &&
        addressOf(row) !== '' &&
        ownerConnection(row, accounts) === null,
      consequences: async (person) => [
        'The password stops working.',
        `A link to set a new one goes to ${visible(addressOf(person.row))}.`,
        await devices(person)
      ],
      run: async ({ user }, act) => await users().requireReset(user.id, act)
    },
    {
      path: 'disable',
      scope: write,
      question: ['Disable ', '?'],
      button: 'Disable',
      done: 'The account was disabled.',
      already: 'The account was already disabled.',
      isDone: ({ row }) => row.disabled === true,
      isOffered: ({ row }) => accounts.users.setDisabled !== undefined && row.disabled !== true,
      consequences: async (person) => ['The person can not sign in.', await devices(person), ...(await keys(person))],
      run: async ({ user }, act) => await users().disable(user.id, act)
    },
    {
      path: 'enable',
      scope: write,
      question: ['Enable ', '?'],
      button: 'Enable',
      done: 'The account was enabled.',
      already: 'The account was already enabled.',
      isDone: ({ row }) => row.disabled !== true,
      isOffered: ({ row }) => accounts.users.setDisabled !== undefined && row.disabled === true,
      consequences: async () => ['The person can sign in again.'],
      run: async ({ user }, act) => await users().enable(user.id, act)
    },
    {
      path: 'delete',
      scope: 'authority:users:delete',
      question: ['Delete ', '?'],
      button: 'Delete',
      done: 'The account was deleted.',
      isOffered: () => accounts.users.remove !== undefined,
      consequences: async (person) => [
        'The account is removed for good. Nothing brings it back.',
        await devices(person),
        ...(await keys(person)),
        'The audit log keeps its entries.'
      ],
      removesPerson: true,
      run: async ({ user }, act) => await users().remove(user.id, act)
    },
    {
      path: 'sessions',
      scope: 'authority:sessions:write',
      question: ['End all sessions of ', '?'],
      button: 'End all sessions',
      done: 'All sessions were ended.',
      isOffered: () => false,
      consequences: async (person) => [await devices(person)],
      run: async ({ row }, act) => await endSessions(row.id, null, act, deps)
    },
    {
      path: 'sessions/:one',
      scope: 'authority:sessions:write',
      question: ['End a session of ', '?'],
      button: 'End session',
      done: 'The session was ended.',
      isOffered: () => false,
      async consequences(person, visit) {
        const found = (await sessionsOf(person, deps)).find(({ id }) => id === oneIn(visit))
        if (found === undefined) throw new OAuthError('not_found', 'There is no such session.', { withoutStack: true })
        return [`Signed out: ${visible(found.clientId ?? found.userAgent ?? 'a device')}.`]
      },
      run: async ({ row }, act, visit) => await endSessions(row.id, oneIn(visit), act, deps)
    },
    ...kinds.map((kind): Act => {
      const verb = kind.name === 'api_keys' ? 'Revoke' : 'Remove'
      return {
        path: `${kind.path}/:one`,
        scope: write,
        question: [`${verb} the ${kind.title} of `, '?'],
        button: `${verb} ${kind.title}`,
        done: `The ${kind.title} was ${verb.toLowerCase()}d.`,
        isOffered: () => false,
        async consequences(person, visit) {
          const found = (await itemsOf(person, kind))?.find(({ id }) => id === oneIn(visit))
          if (found === undefined)
            throw new OAuthError('not_found', `There is no such ${kind.title}.`, { withoutStack: true })
          return [`This stops working: ${visible(found.name)}.`]
        },
        run: async ({ row }, act, visit) => await removeUserItem(kind, { id: row.id, one: oneIn(visit) }, act, deps)
      }
    })
  ]
}

/** The value of the query parameter `done` after the action, from which the person's page makes its note. */
export const noteName = ({ path }: Act): string => path.replace('/:one', '-one')
