import type { NewUser, User } from '../../ports/user-store.ts'
import { flag, integer, jsonObject, text, textOrNull } from './rows.ts'
import type { Row } from './rows.ts'

/** Fields that have a column: the profile has no say in them. */
const COLUMNS = new Set(['id', 'username', 'passwordHash', 'email', 'emailVerified', 'disabled', 'passwordChangedAt'])

export function userOf (row: Row): User {
  return {
    ...withoutColumns(jsonObject(row, 'profile')),
    id: text(row, 'id'),
    username: text(row, 'username'),
    passwordHash: textOrNull(row, 'password_hash'),
    ...row['email'] === null ? {} : { email: text(row, 'email') },
    ...row['email_verified'] === null ? {} : { emailVerified: flag(row, 'email_verified') },
    ...row['disabled'] === null ? {} : { disabled: flag(row, 'disabled') },
    ...row['password_changed_at'] === null ? {} : { passwordChangedAt: integer(row, 'password_changed_at') }
  }
}

/** What of a new user has no column. */
export function profileOf (user: NewUser): Record<string, unknown> {
  return withoutColumns(user)
}

/** `null` where nothing is said. Taken for `false`, a `disabled` of another type would let the user in: that is a `TypeError`. */
export function booleanOf (value: unknown, name: string): boolean | null {
  if (value === undefined) return null
  if (typeof value !== 'boolean') throw new TypeError(`${name} must be a boolean.`)
  return value
}

/** The row of a user whom the host brings along, perhaps from another system. */
export function changedAtOf ({ passwordChangedAt }: NewUser): number | null {
  if (passwordChangedAt === undefined || passwordChangedAt === null) return null
  const at = Number(passwordChangedAt)
  if (!Number.isSafeInteger(at)) throw new TypeError('passwordChangedAt must be milliseconds since the epoch or a Date.')
  return at
}

function withoutColumns (fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !COLUMNS.has(name)))
}
