import type { UserListQuery } from '../../ports/user-store.ts'
import { isStorable } from '../../protocol/bounds.ts'

/** The greatest code point. Text is compared by its bytes in UTF-8. */
const GREATEST = '\u{10ffff}'

interface ListStatement {
  sql: string
  values: Array<string | number>
}

/**
 * The statement for a page of users. `null`: a condition that no stored text can meet. Each value is a parameter.
 * `parameter`: its name in the dialect, by its number from 1.
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
