/** A table that was there before us, with names of its own, as a `UserStore`. Here it is an array; yours is a database. */
import { randomUUID } from 'node:crypto'
import { type NewUser, type User, UsernameTakenError, type UserStore } from 'fastify-authority'

/** A row of the table as the rest of the application knows it. */
export interface PersonRow {
  person_no: string
  login: string
  pwd: string | null
  mail: string | null
  mail_ok: boolean
  locked_since: Date | null
}

/** A new object every time: whoever gets it can't change the row. */
function userOf (row: PersonRow): User {
  return {
    id: row.person_no,
    username: row.login,
    passwordHash: row.pwd,
    ...row.mail === null ? {} : { email: row.mail },
    emailVerified: row.mail_ok,
    disabled: row.locked_since !== null
  }
}

/**
 * With a database, `create` is one INSERT under a unique index (its violation becomes `UsernameTakenError`), and
 * `setPasswordHash` one `UPDATE … WHERE person_no = $1 AND pwd IS NOT DISTINCT FROM $2` whose row count is the answer. Look up,
 * then write, would let two callers win. An array needs no such care: nothing here awaits between the check and the change.
 */
export function peopleStore (rows: PersonRow[]): UserStore {
  const byId = (id: string): PersonRow | undefined => rows.find(({ person_no: no }) => no === id)
  const byLogin = (login: string): PersonRow | undefined => rows.find((row) => row.login === login)
  return {
    async findById (id) {
      const row = byId(id)
      return row === undefined ? null : userOf(row)
    },
    async findByUsername (username) {
      const row = byLogin(username)
      return row === undefined ? null : userOf(row)
    },
    async create ({ username, passwordHash, email, emailVerified }: NewUser) {
      if (byLogin(username) !== undefined) throw new UsernameTakenError()
      const row: PersonRow = { person_no: randomUUID(), login: username, pwd: passwordHash, mail: email ?? null, mail_ok: emailVerified ?? false, locked_since: null }
      rows.push(row)
      return userOf(row)
    },
    async setPasswordHash (id, next, expected) {
      const row = byId(id)
      if (row === undefined || (expected !== undefined && row.pwd !== expected)) return false
      row.pwd = next
      return true
    },
    async setEmailVerified (id) {
      const row = byId(id)
      if (row !== undefined) row.mail_ok = true
    }
  }
}
