import { hash } from 'node:crypto'
import type { Identity, LinkedIdentity, UserStore } from '../../ports/user-store.ts'
import { isStorable } from '../../protocol/bounds.ts'
import { flag, integer, text, textOrNull } from './rows.ts'
import type { Row } from './rows.ts'

const OUTCOMES = [
  'linked',
  'already_linked',
  'taken',
  'unknown_user',
  'unlinked',
  'last_sign_in_method',
  'unknown'
] as const

export type LinkOutcome = Awaited<ReturnType<Required<UserStore>['linkIdentity']>>
export type UnlinkOutcome = Awaited<ReturnType<Required<UserStore>['unlinkIdentity']>>

/** The longest name that PostgreSQL keeps whole, in bytes. */
const LONGEST_NAME = 63

/**
 * The name of an object that belongs to a table. PostgreSQL cuts long names off, so that two could become one. A long
 * name contains a digest instead.
 */
export function nameBeside(table: string, suffix: string): string {
  if (table.length + suffix.length <= LONGEST_NAME) return `${table}${suffix}`
  return `${table.slice(0, LONGEST_NAME - suffix.length - 9)}_${hash('sha256', table, 'hex').slice(0, 8)}${suffix}`
}

export function linkOf(row: Row): LinkedIdentity {
  const email = textOrNull(row, 'email')
  const sealed = textOrNull(row, 'sealed')
  return {
    issuer: text(row, 'issuer'),
    subject: text(row, 'subject'),
    connection: text(row, 'connection'),
    ...(email === null ? {} : { email }),
    linkedAt: integer(row, 'linked_at'),
    lastUsedAt: integer(row, 'last_used_at'),
    ...(sealed === null ? {} : { sealed }),
    ...(flag(row, 'provisional') ? { provisional: true } : {})
  }
}

/** An identity that can't be stored is linked to no user. */
export const isStorableIdentity = ({ issuer, subject }: Identity): boolean => isStorable(issuer) && isStorable(subject)

/** The result of a database function. */
export function outcomeOf(row: Row | undefined): LinkOutcome | UnlinkOutcome {
  const outcome = OUTCOMES.find((one) => one === row?.['outcome'])
  if (outcome === undefined) throw new TypeError('The database answered with an outcome of no name.')
  return outcome
}
