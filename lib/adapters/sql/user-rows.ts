import type {
  Identity,
  LinkedIdentity,
  NewUser,
  User,
  UserPatch,
  UserStore,
  ImportOutcome,
  UserListQuery
} from '../../ports/user-store.ts'
import { flag, integer, jsonObject, type Row, text, textOrNull } from './rows.ts'
import { hash } from 'node:crypto'
import { isStorable } from '../../protocol/bounds.ts'

/** Fields that have a column of their own. A profile field of the same name is ignored. */
const COLUMNS = new Set([
  'id',
  'username',
  'passwordHash',
  'email',
  'emailVerified',
  'disabled',
  'passwordChangedAt',
  'createdAt',
  'version'
])

/** The `created_at` of users whose time of creation is unknown, such as rows of former releases. */
const NOT_KNOWN = 0

export function userOf(row: Row): User {
  const createdAt = integer(row, 'created_at')
  return {
    ...profileOf(jsonObject(row, 'profile')),
    id: text(row, 'id'),
    username: text(row, 'username'),
    passwordHash: textOrNull(row, 'password_hash'),
    ...(row['email'] === null ? {} : { email: text(row, 'email') }),
    ...(row['email_verified'] === null ? {} : { emailVerified: flag(row, 'email_verified') }),
    ...(row['disabled'] === null ? {} : { disabled: flag(row, 'disabled') }),
    ...(row['password_changed_at'] === null ? {} : { passwordChangedAt: integer(row, 'password_changed_at') }),
    ...(createdAt === NOT_KNOWN ? {} : { createdAt }),
    version: integer(row, 'version')
  }
}

/** A user patch split into columns and profile fields. `undefined` leaves a column unchanged. */
interface RowPatch {
  username: string | undefined
  email: string | null | undefined
  emailVerified: boolean | null | undefined
  disabled: boolean | null | undefined
  /** The profile fields to set, and the names of those to remove. */
  set: Record<string, unknown>
  removed: string[]
}

/**
 * Splits a patch into columns and profile fields.
 * @throws TypeError for a value that its column does not accept
 */
export function rowPatchOf(patch: UserPatch): RowPatch {
  const { username, email } = patch
  if (username === null || (username !== undefined && typeof username !== 'string'))
    throw new TypeError('username must be a string.')
  if (email !== undefined && email !== null && typeof email !== 'string')
    throw new TypeError('email must be a string or null.')
  const flagIn = (name: 'emailVerified' | 'disabled'): boolean | null | undefined =>
    patch[name] === undefined || patch[name] === null ? patch[name] : booleanOf(patch[name], name)
  const rest = Object.entries(profileOf(patch)).filter(([name, value]) => value !== undefined && name !== '__proto__')
  return {
    username,
    email,
    emailVerified: flagIn('emailVerified'),
    disabled: flagIn('disabled'),
    set: Object.fromEntries(rest.filter(([, value]) => value !== null)),
    removed: rest.filter(([, value]) => value === null).map(([name]) => name)
  }
}

/** `expectedVersion` as a column value. `null`: it is not a version of this store, so it can't match. */
export function versionOf(expectedVersion: number | string): number | null {
  return typeof expectedVersion === 'number' && Number.isSafeInteger(expectedVersion) ? expectedVersion : null
}

/**
 * `null` for `undefined`. Throws `TypeError` for any other value that is no boolean, because reading it as `false`
 * would let a disabled user in.
 */
export function booleanOf(value: unknown, name: string): boolean | null {
  if (value === undefined) return null
  if (typeof value !== 'boolean') throw new TypeError(`${name} must be a boolean.`)
  return value
}

/**
 * The value for the column `password_changed_at`. `null`: not known.
 * @throws TypeError for a value that is not a whole number of milliseconds or a valid `Date`
 */
export function changedAtOf({ passwordChangedAt }: NewUser): number | null {
  if (passwordChangedAt === undefined || passwordChangedAt === null) return null
  const at = Number(passwordChangedAt)
  if (!Number.isSafeInteger(at))
    throw new TypeError('passwordChangedAt must be milliseconds since the epoch or a Date.')
  return at
}

/**
 * The outcome of an import that finds the user's id or username taken. `holders`: the stored rows with this id or this
 * username. `null`: neither is taken.
 */
export function outcomeAmong(
  { id, username }: Pick<User, 'id' | 'username'>,
  holders: readonly Row[]
): Exclude<ImportOutcome['outcome'], 'imported'> | null {
  const own = holders.find((row) => row['id'] === id)
  if (own !== undefined) return own['username'] === username ? 'unchanged' : 'other_name'
  return holders.some((row) => row['username'] === username) ? 'name_taken' : null
}

/** The value for the column `created_at` of a user from another system: milliseconds, or 0 if the time is unknown. */
export const createdAtOf = ({ createdAt }: User): number => Number(createdAt ?? NOT_KNOWN)

/** The fields of a user that have no column. */
export function profileOf(fields: Record<string, unknown>): Record<string, unknown> {
  const rest = Object.entries(fields).filter(([name]) => !COLUMNS.has(name))
  // Converts the date `emailProvedAt` to milliseconds, because JSON has no dates.
  return Object.fromEntries(
    rest.map(([name, value]) => [name, name === 'emailProvedAt' && value instanceof Date ? value.getTime() : value])
  )
}

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
 * The name of an index or another object of a table. PostgreSQL truncates long names, so that two names could become
 * equal. Therefore a long name contains a digest of the table's name.
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

/** False for an identity that the database cannot store. Such an identity is linked to no user. */
export const isStorableIdentity = ({ issuer, subject }: Identity): boolean => isStorable(issuer) && isStorable(subject)

/** Reads the column `outcome`, the result of a database function that links or unlinks an identity. */
export function outcomeOf(row: Row | undefined): LinkOutcome | UnlinkOutcome {
  const outcome = OUTCOMES.find((one) => one === row?.['outcome'])
  if (outcome === undefined) throw new TypeError('The database answered with an outcome of no name.')
  return outcome
}

/** The greatest code point, for the end of a prefix search. The databases compare texts by their bytes in UTF-8. */
const GREATEST = '\u{10ffff}'

interface ListStatement {
  sql: string
  values: Array<string | number>
}

/**
 * The statement for a page of users. `null`: no stored user can meet the conditions. All values are parameters.
 * `parameter` returns the placeholder of a parameter by its number, from 1.
 */
export function listStatement(
  { limit, after, prefix, email, connection }: UserListQuery,
  { users, links, parameter }: { users: string; links: string; parameter(number: number): string }
): ListStatement | null {
  if (![after?.id, prefix, email, connection].every((text) => text === undefined || isStorable(text))) return null
  const values: Array<string | number> = []
  const bound = (value: string | number): string => parameter(values.push(value))
  const conditions: string[] = []
  if (after !== undefined) conditions.push(`(created_at, id) < (${bound(after.createdAt)}, ${bound(after.id)})`)
  if (prefix !== undefined && prefix !== '')
    conditions.push(`username >= ${bound(prefix)} AND username < ${bound(`${prefix}${GREATEST}`)}`)
  if (email !== undefined) conditions.push(`lower(email) = lower(${bound(email)})`)
  if (connection !== undefined)
    conditions.push(`id IN (SELECT user_id FROM ${links} WHERE connection = ${bound(connection)})`)
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')} `
  return { sql: `SELECT * FROM ${users} ${where}ORDER BY created_at DESC, id DESC LIMIT ${bound(limit)}`, values }
}
