import { addressOf } from '../../../accounts/outbox.ts'
import { slotOf } from '../../../accounts/slots.ts'
import { OAuthError } from '../../../errors.ts'
import type { AdminScope } from '../../../protocol/admin-scopes.ts'
import type { Acting } from '../endpoints/acting.ts'
import { endSessions } from '../endpoints/sessions.ts'
import { removeWay, wayKinds } from '../endpoints/ways.ts'
import { itemsOf, type Person, sessionsOf } from './person-facts.ts'
import { counted, visible } from './text.ts'
import type { AdminPageDeps, AdminVisit } from './visit.ts'

/** An act on a person, which a page of its own asks about. */
export interface Act {
  /** Below the page of the person. The acts on one thing of a person end with `/:one`. */
  path: string
  scope: AdminScope
  /** The words around the name in the question. */
  question: [before: string, after: string]
  button: string
  /** The note afterwards, and that of a repeat. */
  done: string
  already?: string
  isDone?(person: Person): boolean
  /** False: the page of the person does not offer it. */
  isOffered(person: Person): boolean
  consequences(person: Person, visit: AdminVisit): Promise<string[]>
  /** The person types the name too. */
  asksName?: true
  run(person: Person, act: Acting, visit: AdminVisit): Promise<void>
}

const oneIn = ({ request }: AdminVisit): string => (request.params as { one?: string }).one ?? ''

export function actsOf(deps: AdminPageDeps): Act[] {
  const { accounts, users } = deps
  const kinds = wayKinds(deps)
  const mails = accounts.outbox !== null
  const write = 'authority:users:write' as const

  async function devices(person: Person): Promise<string> {
    const { length } = await sessionsOf(person, deps)
    return `${counted(length, 'device')} ${length === 1 ? 'is' : 'are'} signed out.`
  }

  /** The API keys that stop working. Empty where there are none. */
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
        `A link to begin goes to ${visible(addressOf(row))}. It works once, for 7 days.`,
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
      isOffered: ({ row }) => mails && !row.disabled && row.passwordHash !== null && addressOf(row) !== '',
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
      asksName: true,
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
        run: async ({ row }, act, visit) => await removeWay(kind, { id: row.id, one: oneIn(visit) }, act, deps)
      }
    })
  ]
}

/** The value of `done` in the address after the act. */
export const noteName = ({ path }: Act): string => path.replace('/:one', '-one')
