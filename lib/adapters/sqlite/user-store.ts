import { randomBytes } from 'node:crypto'
import { UsernameTakenError } from '../../errors.ts'
import type { NewUser, User, UserStore, UserImporter } from '../../ports/user-store.ts'
import { isStorable, MOST_WITH_ONE_EMAIL, noOthers } from '../../protocol/bounds.ts'
import type { Migrated, MigrationStep } from '../sql/migration-steps.ts'
import { requireName } from '../sql/rows.ts'
import {
  booleanOf,
  changedAtOf,
  createdAtOf,
  nameBeside,
  profileOf,
  rowPatchOf,
  userOf,
  versionOf,
  listStatement
} from '../sql/user-rows.ts'
import { patientStore, type SqliteDatabase } from './database.ts'
import { connectMigrated } from './migrations.ts'
import { identitiesSql, identitiesTable, sqliteIdentities } from './identities.ts'

export interface SqliteUserStoreOptions {
  /** The table's name: letters, digits and `_`. Default `authority_users`. */
  table?: string | undefined
}

export type SqliteUserStore = Required<UserStore & UserImporter> & Migrated

const migrations = (table: string): readonly MigrationStep[] => [
  `CREATE TABLE "${table}" (
    id TEXT PRIMARY KEY NOT NULL,
    username TEXT NOT NULL UNIQUE,
    password_hash TEXT,
    email TEXT,
    email_verified INTEGER CHECK (email_verified IN (0, 1)),
    disabled INTEGER CHECK (disabled IN (0, 1)),
    password_changed_at INTEGER,
    version INTEGER NOT NULL DEFAULT 1,
    profile TEXT NOT NULL DEFAULT '{}'
  ) STRICT;
  CREATE INDEX "${nameBeside(table, '_email')}" ON "${table}" (lower(email));
  ${identitiesSql(table)}`,
  {
    sql: `ALTER TABLE "${table}" ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX "${nameBeside(table, '_created')}" ON "${table}" (created_at, id)`,
    minReader: 1
  }
]

/** Leaves out fields that are `undefined`. */
const given = <Fields extends object>(fields: Fields): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never

/** Converts a boolean to 1 or 0, because SQLite has no booleans. `null` if absent. @throws TypeError for other types */
function flagOf(value: unknown, name: string): number | null {
  const flag = booleanOf(value, name)
  return flag === null ? null : Number(flag)
}

/**
 * Users in a SQLite file: one machine, any number of processes, durable. `db` is a database object of `node:sqlite`,
 * `better-sqlite3` or `libsql`. Leave no transaction of your own open on it across an `await`. Versioned migrations
 * make the table, by `prepare` or at the first use. Fields without a column are kept as JSON. Rejects with the driver's
 * error (SQLITE_BUSY) if another process has the lock for more than 1.5 s. Writes reject with `TypeError` for a
 * username, email address or hash with a NUL or a lone surrogate.
 */
export function sqliteUserStore(
  db: SqliteDatabase,
  { table = 'authority_users', ...others }: SqliteUserStoreOptions = {}
): SqliteUserStore {
  noOthers('sqliteUserStore', others)
  requireName(table, 'table')
  const connection = connectMigrated(db, `users:${table}`, migrations(table))
  const { prepare, pending } = connection

  const findBy = (column: 'id' | 'username', value: string): User | null => {
    // A text that can't be stored belongs to no user. A driver could cut it off at a NUL and find another user.
    if (!isStorable(value)) return null
    const [row] = connection.query(`SELECT * FROM "${table}" WHERE ${column} = ?`, value)
    return row === undefined ? null : userOf(row)
  }

  const insert = (user: NewUser, id: string, createdAt: number): User => {
    const [row] = connection.change(
      `INSERT INTO "${table}"
        (id, username, password_hash, email, email_verified, disabled, password_changed_at, profile, created_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (username) DO NOTHING RETURNING *`,
      id,
      user.username,
      user.passwordHash,
      user.email ?? null,
      flagOf(user.emailVerified, 'emailVerified'),
      flagOf(user['disabled'], 'disabled'),
      changedAtOf(user),
      JSON.stringify(profileOf(user)),
      createdAt
    )
    if (row === undefined) throw new UsernameTakenError()
    return userOf(row)
  }
  const create = (user: NewUser): User => insert(user, randomBytes(16).toString('base64url'), Date.now())

  const methods = patientStore<Omit<SqliteUserStore, 'prepare' | 'pending'>>({
    ...sqliteIdentities(connection, table, create, (user) => {
      insert(user, user.id, createdAtOf(user))
    }),
    async findById(id) {
      return findBy('id', id)
    },
    async findByUsername(username) {
      return findBy('username', username)
    },
    async findByEmail(email) {
      if (!isStorable(email)) return []
      return connection
        .query(
          `SELECT * FROM "${table}" WHERE lower(email) = lower(?)
        ORDER BY email_verified DESC LIMIT ${MOST_WITH_ONE_EMAIL}`,
          email
        )
        .map(userOf)
    },
    async list(query) {
      const statement = listStatement(query, {
        users: `"${table}"`,
        links: `"${identitiesTable(table)}"`,
        parameter: () => '?'
      })
      return statement === null ? [] : connection.query(statement.sql, ...statement.values).map(userOf)
    },
    async create(user: NewUser) {
      return create(user)
    },
    async setPasswordHash(id, next, expected, changedAt) {
      if (!isStorable(id)) return false
      const set =
        `UPDATE "${table}" SET password_hash = ?, password_changed_at = coalesce(?, ` +
        'password_changed_at) WHERE id = ?'
      const rows =
        expected === undefined
          ? connection.change(`${set} RETURNING id`, next, changedAt ?? null, id)
          : connection.change(`${set} AND password_hash IS ? RETURNING id`, next, changedAt ?? null, id, expected)
      return rows.length === 1
    },
    async setEmailVerified(id, address, provedAt) {
      if (!isStorable(id)) return
      connection.execute(
        `UPDATE "${table}" SET email_verified = 1, profile = CASE WHEN ? IS NULL THEN profile ELSE json_set(profile, ` +
          `'$.emailProvedAt', ?) END WHERE id = ? AND (? IS NULL OR coalesce(email, username) = ?)`,
        provedAt ?? null,
        provedAt ?? null,
        id,
        address ?? null,
        address ?? null
      )
    },
    async update(id, patch, expectedVersion) {
      const { username, set, removed, ...columns } = rowPatchOf(patch)
      // Takes the write lock at the start, so that no other process changes the row between read and write.
      return isStorable(id)
        ? connection.transaction(() => {
            const user = findBy('id', id)
            if (user === null || (expectedVersion !== undefined && user.version !== versionOf(expectedVersion)))
              return null
            if (
              username !== undefined &&
              connection.query(`SELECT 1 FROM "${table}" WHERE username = ? AND id <> ?`, username, id).length > 0
            )
              throw new UsernameTakenError()
            const { email = null, emailVerified = null, disabled = null } = { ...user, ...given(columns) }
            const profile = Object.entries({ ...profileOf({ ...user, passwordHash: '' }), ...set }).filter(
              ([name]) => !removed.includes(name)
            )
            const [row] = connection.change(
              `UPDATE "${table}" SET username = ?, email = ?, email_verified = ?, disabled = ?, profile ` +
                '= ?, version = version + 1 WHERE id = ? RETURNING *',
              username ?? user.username,
              email,
              flagOf(emailVerified ?? undefined, 'emailVerified'),
              flagOf(disabled ?? undefined, 'disabled'),
              JSON.stringify(Object.fromEntries(profile)),
              id
            )
            return row === undefined ? null : userOf(row)
          })
        : null
    },
    async setDisabled(id, disabled) {
      if (!isStorable(id)) return false
      const set = `UPDATE "${table}" SET disabled = ?, version = version + 1 WHERE id = ? RETURNING id`
      return connection.change(set, Number(disabled), id).length === 1
    },
    async remove(id) {
      if (isStorable(id)) connection.execute(`DELETE FROM "${table}" WHERE id = ?`, id)
    }
  })
  return { prepare, pending, ...methods }
}
