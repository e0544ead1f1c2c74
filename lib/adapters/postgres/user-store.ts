import { randomBytes } from 'node:crypto'
import { UsernameTakenError } from '../../errors.ts'
import type { NewUser, User, UserStore } from '../../ports/user-store.ts'
import type { MigrationStep } from '../sql/migration-steps.ts'
import { isStorable } from '../sql/rows.ts'
import { booleanOf, changedAtOf, profileOf, userOf } from '../sql/user-rows.ts'
import { quoted } from './database.ts'
import type { PostgresDatabase } from './database.ts'
import { connect } from './migrations.ts'

export interface PostgresUserStoreOptions {
  /** The table's name: letters, digits and `_`. Default `authority_users`. */
  table?: string | undefined
  /** As of `postgresState`. Default true. */
  namedStatements?: boolean | undefined
}

export type PostgresUserStore = UserStore & Required<Pick<UserStore, 'create' | 'setPasswordHash' | 'setEmailVerified'>> & {
  /** Makes the table where it is missing. Otherwise the first use does. Rejects with `StartError` where only a person can mend it. */
  prepare(): Promise<void>
}

const migrations = (table: string): readonly MigrationStep[] => [
  `CREATE TABLE ${table} (
    id text COLLATE "C" PRIMARY KEY,
    username text COLLATE "C" NOT NULL UNIQUE,
    password_hash text COLLATE "C",
    email text,
    email_verified boolean,
    disabled boolean,
    profile jsonb NOT NULL DEFAULT '{}'
  )`,

  { sql: `ALTER TABLE ${table} ADD COLUMN password_changed_at bigint`, minReader: 1 }
]

/** JSON, in which PostgreSQL takes no NUL and no lone surrogate either. */
function profileJson (user: NewUser): string {
  return JSON.stringify(profileOf(user), (name, value: unknown) => {
    if (!isStorable(name) || (typeof value === 'string' && !isStorable(value))) throw new TypeError('PostgreSQL can\'t store a string with a NUL or a lone surrogate.')
    return value
  })
}

/**
 * Users in PostgreSQL (12 or newer): any number of instances, durable. `db` is anything with `query(text, params)`: a `Pool` of `pg`,
 * or PGlite. The table is made by versioned migrations, by `prepare` or at the first use. Fields without a column are kept as
 * `jsonb`. Rejects with an error that has the SQLSTATE as its `code`, and no value of a row or parameter, on an outage, and with
 * `TypeError` on a string with a NUL or a lone surrogate.
 */
export function postgresUserStore (db: PostgresDatabase, { table = 'authority_users', namedStatements = true }: PostgresUserStoreOptions = {}): PostgresUserStore {
  const users = quoted(table, 'table')
  const { query, prepare } = connect(db, { component: `users:${table}`, steps: migrations(users), prefix: '', named: namedStatements })

  const findBy = async (column: 'id' | 'username', value: string): Promise<User | null> => {
    // What can't be stored is not there.
    if (!isStorable(value)) return null
    const [row] = await query(`SELECT * FROM ${users} WHERE ${column} = $1`, value)
    return row === undefined ? null : userOf(row)
  }

  return {
    prepare,
    findById: (id) => findBy('id', id),
    findByUsername: (username) => findBy('username', username),
    async create (user) {
      const [row] = await query(
        `INSERT INTO ${users} (id, username, password_hash, email, email_verified, disabled, password_changed_at, profile) VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::jsonb)
        ON CONFLICT (username) DO NOTHING RETURNING *`,
        randomBytes(16).toString('base64url'), user.username, user.passwordHash, user.email ?? null,
        booleanOf(user.emailVerified, 'emailVerified'), booleanOf(user['disabled'], 'disabled'), changedAtOf(user), profileJson(user)
      )
      if (row === undefined) throw new UsernameTakenError()
      return userOf(row)
    },
    async setPasswordHash (id, next, expected, changedAt) {
      return (await query(
        `UPDATE ${users} SET password_hash = $2, password_changed_at = coalesce($5, password_changed_at)
        WHERE id = $1 AND ($3::boolean OR password_hash IS NOT DISTINCT FROM $4) RETURNING id`,
        id, next, expected === undefined, expected ?? null, changedAt ?? null
      )).length === 1
    },
    async setEmailVerified (id) {
      await query(`UPDATE ${users} SET email_verified = true WHERE id = $1 AND email_verified IS NOT true`, id)
    }
  }
}
