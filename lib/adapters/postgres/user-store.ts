import { randomBytes } from 'node:crypto'
import { UsernameTakenError } from '../../errors.ts'
import type { NewUser, User, UserStore, UserImporter } from '../../ports/user-store.ts'
import { isStorable, MOST_WITH_ONE_EMAIL, noOthers } from '../../protocol/bounds.ts'
import type { Migrated, MigrationStep } from '../sql/migration-steps.ts'
import { booleanOf, changedAtOf, profileOf, rowPatchOf, userOf, versionOf, listStatement } from '../sql/user-rows.ts'
import { quoted } from './database.ts'
import type { PostgresDatabase, PostgresValue } from './database.ts'
import { identitiesSql, named, postgresIdentities } from './identities.ts'
import { connect } from './migrations.ts'
import { postgresImport } from './user-import.ts'

export interface PostgresUserStoreOptions {
  /** The table's name: letters, digits and `_`. Default `authority_users`. */
  table?: string | undefined
  /** True to use named prepared statements, as for `postgresState`. Default true. */
  namedStatements?: boolean | undefined
}

export type PostgresUserStore = Required<UserStore & UserImporter> & Migrated

const migrations = (table: string, name: string): readonly MigrationStep[] => [
  `CREATE TABLE ${table} (
    id text COLLATE "C" PRIMARY KEY,
    username text COLLATE "C" NOT NULL UNIQUE,
    password_hash text COLLATE "C",
    email text,
    email_verified boolean,
    disabled boolean,
    password_changed_at bigint,
    version bigint NOT NULL DEFAULT 1,
    profile jsonb NOT NULL DEFAULT '{}'
  );
  CREATE INDEX ON ${table} (lower(email));
  ${identitiesSql(name)}`,
  {
    sql: `ALTER TABLE ${table} ADD COLUMN created_at bigint NOT NULL DEFAULT 0;
  CREATE INDEX ON ${table} (created_at, id)`,
    minReader: 1
  }
]

/**
 * Converts fields to JSON.
 * @throws TypeError for a NUL or a lone surrogate in a name or a value, because PostgreSQL does not store them in JSON
 */
function jsonOf(fields: object): string {
  return JSON.stringify(fields, (name, value: unknown) => {
    if (!isStorable(name) || (typeof value === 'string' && !isStorable(value)))
      throw new TypeError("PostgreSQL can't store a string with a NUL or a lone surrogate.")
    return value
  })
}

/**
 * Users in PostgreSQL (12 or newer): any number of instances, durable. `db` is anything with `query(text, params)`: a
 * `Pool` of `pg`, or PGlite. Versioned migrations make the table, by `prepare` or at the first use. Fields without a
 * column are kept as `jsonb`. On an outage, rejects with an error whose `code` is the SQLSTATE or the system's error
 * code, if there is one. The error contains no value of a row or parameter. Writes reject with `TypeError` for a string
 * with a NUL or a lone surrogate.
 */
export function postgresUserStore(
  db: PostgresDatabase,
  { table = 'authority_users', namedStatements = true, ...others }: PostgresUserStoreOptions = {}
): PostgresUserStore {
  noOthers('postgresUserStore', others)
  const users = quoted(table, 'table')
  const { query, prepare, pending } = connect(db, {
    component: `users:${table}`,
    steps: migrations(users, table),
    prefix: '',
    named: namedStatements
  })

  const findBy = async (column: 'id' | 'username', value: string): Promise<User | null> => {
    // A text that can't be stored belongs to no user.
    if (!isStorable(value)) return null
    const [row] = await query(`SELECT * FROM ${users} WHERE ${column} = $1`, value)
    return row === undefined ? null : userOf(row)
  }

  const insertOf = (user: NewUser, onConflict = ''): { sql: string; values: PostgresValue[] } => ({
    sql: `INSERT INTO ${users}
        (id, username, password_hash, email, email_verified, disabled, password_changed_at, profile, created_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::jsonb, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
      ${onConflict} RETURNING *`,
    values: [
      randomBytes(16).toString('base64url'),
      user.username,
      user.passwordHash,
      user.email ?? null,
      booleanOf(user.emailVerified, 'emailVerified'),
      booleanOf(user['disabled'], 'disabled'),
      changedAtOf(user),
      jsonOf(profileOf(user))
    ]
  })
  /**
   * Returns a `UsernameTakenError` if a unique violation is due to the username, otherwise the error itself. Searches
   * for the username, because the host may have added other unique indexes.
   */
  const explained = async (error: unknown, username: string, exceptId: string | null = null): Promise<unknown> => {
    const isTaken =
      isUniqueViolation(error) &&
      (await query(`SELECT 1 FROM ${users} WHERE username = $1 AND id IS DISTINCT FROM $2`, username, exceptId))
        .length > 0
    return isTaken ? new UsernameTakenError() : error
  }

  return {
    prepare,
    pending,
    ...postgresIdentities(table, { query, insertOf, explained }),
    ...postgresImport(table, { query, jsonOf }),
    findById: (id) => findBy('id', id),
    findByUsername: (username) => findBy('username', username),
    async findByEmail(email) {
      if (!isStorable(email)) return []
      const rows = await query(
        `SELECT * FROM ${users} WHERE lower(email) = lower($1)
        ORDER BY email_verified DESC NULLS LAST LIMIT ${MOST_WITH_ONE_EMAIL}`,
        email
      )
      return rows.map(userOf)
    },
    async list(asked) {
      const statement = listStatement(asked, {
        users,
        links: named(table, '_identities'),
        parameter: (number) => `$${number}`
      })
      return statement === null ? [] : (await query(statement.sql, ...statement.values)).map(userOf)
    },
    async create(user) {
      const { sql, values } = insertOf(user, 'ON CONFLICT (username) DO NOTHING')
      const [row] = await query(sql, ...values)
      if (row === undefined) throw new UsernameTakenError()
      return userOf(row)
    },
    async setPasswordHash(id, next, expected, changedAt) {
      if (!isStorable(id)) return false
      return (
        (
          await query(
            `UPDATE ${users} SET password_hash = $2, password_changed_at = coalesce($5, password_changed_at)
        WHERE id = $1 AND ($3::boolean OR password_hash IS NOT DISTINCT FROM $4) RETURNING id`,
            id,
            next,
            expected === undefined,
            expected ?? null,
            changedAt ?? null
          )
        ).length === 1
      )
    },
    async setEmailVerified(id, address, provedAt) {
      if (!isStorable(id)) return
      await query(
        `UPDATE ${users} SET email_verified = true, profile = CASE WHEN $3::bigint IS NULL THEN profile ELSE ` +
          `profile || jsonb_build_object('emailProvedAt', $3::bigint) END WHERE id = $1 ` +
          'AND (email_verified IS NOT true OR $3::bigint IS NOT NULL) ' +
          'AND ($2::text IS NULL OR coalesce(email, username) = $2)',
        id,
        address ?? null,
        provedAt ?? null
      )
    },
    async update(id, patch, expectedVersion) {
      const { username, email, emailVerified, disabled, set, removed } = rowPatchOf(patch)
      const expected = expectedVersion === undefined ? null : versionOf(expectedVersion)
      if (!isStorable(id) || (expectedVersion !== undefined && expected === null)) return null
      const [row] = await query(
        `UPDATE ${users} SET username = coalesce($2, username), email = CASE WHEN $3::boolean THEN $4 ELSE email END,
          email_verified = CASE WHEN $5::boolean THEN $6::boolean ELSE email_verified END,
          disabled = CASE WHEN $7::boolean THEN $8::boolean ELSE disabled END,
          profile = (profile || $9::text::jsonb) - ARRAY(SELECT jsonb_array_elements_text($10::text::jsonb)),
          version = version + 1
        WHERE id = $1 AND ($11::bigint IS NULL OR version = $11) RETURNING *`,
        id,
        username ?? null,
        email !== undefined,
        email ?? null,
        emailVerified !== undefined,
        emailVerified ?? null,
        disabled !== undefined,
        disabled ?? null,
        jsonOf(set),
        // Skips names that the store cannot hold, because no stored profile contains them.
        JSON.stringify(removed.filter(isStorable)),
        expected
      ).catch(async (error: unknown) => {
        throw username === undefined ? error : await explained(error, username, id)
      })
      return row === undefined ? null : userOf(row)
    },
    async setDisabled(id, disabled) {
      if (!isStorable(id)) return false
      const set = `UPDATE ${users} SET disabled = $2, version = version + 1 WHERE id = $1 RETURNING id`
      return (await query(set, id, disabled)).length === 1
    },
    async remove(id) {
      if (isStorable(id)) await query(`DELETE FROM ${users} WHERE id = $1`, id)
    }
  }
}

const isUniqueViolation = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '23505'
