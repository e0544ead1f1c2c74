/** A table with names, ids and hashes of its own, as a `UserStore`. */
import { type NewUser, type User, UsernameTakenError, type UserPatch, type UserStore } from 'fastify-authority'
import type { PeopleDatabase } from './table.ts'

interface PersonRow {
  person_no: number
  login_key: string
  hash: string | null
  mail: string | null
  mail_ok: number
  locked_since: string | null
}

/**
 * The new hash where there is one, and the bcrypt hash of old until then. Both go by the name of `hash` from here on.
 */
const HASH = 'coalesce(pwd, crypt_pw)'
const COLUMNS = `person_no, login_key, ${HASH} AS hash, mail, mail_ok, locked_since`

/** A new object every time, so that no caller can change the row. */
function userOf(row: PersonRow): User {
  return {
    id: String(row.person_no),
    username: row.login_key,
    passwordHash: row.hash,
    ...(row.mail === null ? {} : { email: row.mail }),
    emailVerified: row.mail_ok === 1,
    disabled: row.locked_since !== null
  }
}

/**
 * The number that an id stands for, or `null`. One form only: `07` and `7.0` are nobody's id, though a database would
 * find row 7.
 */
function numberOf(id: string): number | null {
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : null
}

/** The message names the column; `login_key` is under the one unique index there is. */
const isUsernameTaken = (error: unknown) =>
  error instanceof Error &&
  'code' in error &&
  error.code === 'SQLITE_CONSTRAINT_UNIQUE' &&
  error.message.includes('login_key')

/**
 * `create` is one INSERT under the unique index, and `setPasswordHash` one UPDATE that compares: look up, then write,
 * would let two callers win. The old hash is emptied as the new one is written, so that nobody signs in with a password
 * that was replaced.
 */
export function peopleStore(db: PeopleDatabase) {
  const query = (sql: string, ...values: Array<string | number | null>): PersonRow[] => {
    // This driver would end the text there, and find or make another person.
    if (values.some((value) => typeof value === 'string' && value.includes('\u0000')))
      throw new TypeError('A value has a NUL in it.')
    return db.prepare(sql).all(...values) as PersonRow[]
  }
  const first = ([row]: PersonRow[]): User | null => (row === undefined ? null : userOf(row))

  return {
    async findById(id: string) {
      const no = numberOf(id)
      return no === null ? null : first(query(`SELECT ${COLUMNS} FROM crm_person WHERE person_no = ?`, no))
    },
    async findByUsername(username: string) {
      return first(query(`SELECT ${COLUMNS} FROM crm_person WHERE login_key = ?`, username))
    },
    async create({ username, passwordHash, email, emailVerified }: NewUser) {
      const user = first(
        query(
          `INSERT INTO crm_person (login, login_key, pwd, mail, mail_ok) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (login_key) DO NOTHING RETURNING ${COLUMNS}`,
          username,
          username,
          passwordHash,
          email ?? null,
          emailVerified === true ? 1 : 0
        )
      )
      if (user === null) throw new UsernameTakenError()
      return user
    },
    async setPasswordHash(id: string, next: string, expected?: string | null) {
      const no = numberOf(id)
      if (no === null) return false
      // IS and not =, since `expected: null` must match a row without a hash. PostgreSQL says IS NOT DISTINCT FROM.
      const changed =
        expected === undefined
          ? query('UPDATE crm_person SET pwd = ?, crypt_pw = NULL WHERE person_no = ? RETURNING person_no', next, no)
          : query(
              `UPDATE crm_person SET pwd = ?, crypt_pw = NULL WHERE person_no = ? AND ${HASH} IS ? RETURNING person_no`,
              next,
              no,
              expected
            )
      return changed.length === 1
    },
    async setEmailVerified(id: string, address: string | null = null) {
      const no = numberOf(id)
      if (no !== null)
        query(
          'UPDATE crm_person SET mail_ok = 1 WHERE person_no = ? AND (? IS NULL OR coalesce(mail, ' +
            'login_key) = ?) RETURNING person_no',
          no,
          address,
          address
        )
    },
    async update(id: string, { username, email, emailVerified }: UserPatch) {
      const no = numberOf(id)
      if (no === null) return null
      const verified = emailVerified === undefined ? null : Number(emailVerified ?? false)
      try {
        return first(
          query(
            `UPDATE crm_person SET login = coalesce(?, login), login_key = coalesce(?, login_key), mail = CASE WHEN ? THEN ? ELSE mail END, mail_ok = coalesce(?, mail_ok)
          WHERE person_no = ? RETURNING ${COLUMNS}`,
            username ?? null,
            username ?? null,
            email === undefined ? 0 : 1,
            email ?? null,
            verified,
            no
          )
        )
      } catch (error) {
        throw isUsernameTaken(error) ? new UsernameTakenError() : error
      }
    },
    async remove(id: string) {
      const no = numberOf(id)
      if (no !== null) query('DELETE FROM crm_person WHERE person_no = ? RETURNING person_no', no)
    }
  } satisfies UserStore
}
