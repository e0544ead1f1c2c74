import type { NewUser, User, UserPatch } from '../../ports/user-store.ts'
import { flag, integer, jsonObject, text, textOrNull } from './rows.ts'
import type { Row } from './rows.ts'

/** Fields that have a column of their own. A profile field of the same name is ignored. */
const COLUMNS = new Set([
  'id',
  'username',
  'passwordHash',
  'email',
  'emailVerified',
  'disabled',
  'passwordChangedAt',
  'version'
])

export function userOf(row: Row): User {
  return {
    ...withoutColumns(jsonObject(row, 'profile')),
    id: text(row, 'id'),
    username: text(row, 'username'),
    passwordHash: textOrNull(row, 'password_hash'),
    ...(row['email'] === null ? {} : { email: text(row, 'email') }),
    ...(row['email_verified'] === null ? {} : { emailVerified: flag(row, 'email_verified') }),
    ...(row['disabled'] === null ? {} : { disabled: flag(row, 'disabled') }),
    ...(row['password_changed_at'] === null ? {} : { passwordChangedAt: integer(row, 'password_changed_at') }),
    version: integer(row, 'version')
  }
}

/** The fields of a new user without a column. */
export function profileOf(user: NewUser): Record<string, unknown> {
  return withoutColumns(user)
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

/** Throws `TypeError` on a value that its column does not take. */
export function rowPatchOf(patch: UserPatch): RowPatch {
  const { username, email } = patch
  if (username === null || (username !== undefined && typeof username !== 'string'))
    throw new TypeError('username must be a string.')
  if (email !== undefined && email !== null && typeof email !== 'string')
    throw new TypeError('email must be a string or null.')
  const flagIn = (name: 'emailVerified' | 'disabled'): boolean | null | undefined =>
    patch[name] === undefined || patch[name] === null ? patch[name] : booleanOf(patch[name], name)
  const rest = Object.entries(withoutColumns(patch)).filter(
    ([name, value]) => value !== undefined && name !== '__proto__'
  )
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
 * `null` if absent. Throws `TypeError` for a value of another type, because reading it as `false` would let a disabled
 * user in.
 */
export function booleanOf(value: unknown, name: string): boolean | null {
  if (value === undefined) return null
  if (typeof value !== 'boolean') throw new TypeError(`${name} must be a boolean.`)
  return value
}

/** The row of a user whom the host brings along, perhaps from another system. */
export function changedAtOf({ passwordChangedAt }: NewUser): number | null {
  if (passwordChangedAt === undefined || passwordChangedAt === null) return null
  const at = Number(passwordChangedAt)
  if (!Number.isSafeInteger(at))
    throw new TypeError('passwordChangedAt must be milliseconds since the epoch or a Date.')
  return at
}

function withoutColumns(fields: Record<string, unknown>): Record<string, unknown> {
  const rest = Object.entries(fields).filter(([name]) => !COLUMNS.has(name))
  // Converts dates to numbers, because JSON has no dates.
  return Object.fromEntries(
    rest.map(([name, value]) => [name, name === 'emailProvedAt' && value instanceof Date ? value.getTime() : value])
  )
}
