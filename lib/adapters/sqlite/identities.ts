import { IdentityTakenError } from '../../errors.ts'
import type {
  LinkedIdentity,
  NewUser,
  User,
  UserStore,
  ImportOutcome,
  UserImporter,
  UserToImport
} from '../../ports/user-store.ts'
import { isStorable } from '../../protocol/bounds.ts'
import { text } from '../sql/rows.ts'
import { isStorableIdentity, linkOf, nameBeside, outcomeAmong, userOf } from '../sql/user-rows.ts'
import type { MigratedConnection } from './migrations.ts'

type IdentityMethods = Pick<
  Required<UserStore>,
  'findByIdentity' | 'createWithIdentity' | 'linkIdentity' | 'unlinkIdentity' | 'listIdentities' | 'useIdentity'
>

export const identitiesTable = (table: string): string => nameBeside(table, '_identities')

/**
 * The table of links. A trigger removes the links of a removed user, also if the host removes the user. A foreign key
 * would work only with a setting of the connection.
 */
export const identitiesSql = (table: string): string => `CREATE TABLE "${identitiesTable(table)}" (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    user_id TEXT NOT NULL,
    connection TEXT NOT NULL,
    email TEXT,
    linked_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    sealed TEXT,
    provisional INTEGER NOT NULL CHECK (provisional IN (0, 1)),
    PRIMARY KEY (issuer, subject)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX "${nameBeside(table, '_identities_user')}" ON "${identitiesTable(table)}" (user_id);
  CREATE TRIGGER "${nameBeside(table, '_identities_go')}" AFTER DELETE ON "${table}" BEGIN
    DELETE FROM "${identitiesTable(table)}" WHERE user_id = OLD.id;
  END`

/**
 * `create` inserts a user with a new id and returns the user. `insert` inserts a user with the given id. Both throw if
 * the username is taken.
 */
export function sqliteIdentities(
  connection: MigratedConnection,
  table: string,
  create: (user: NewUser) => User,
  insert: (user: User) => void
): IdentityMethods & UserImporter {
  const links = identitiesTable(table)
  const ownerOf = (issuer: string, subject: string): string | undefined => {
    const [row] = connection.query(`SELECT user_id FROM "${links}" WHERE issuer = ? AND subject = ?`, issuer, subject)
    return row === undefined ? undefined : text(row, 'user_id')
  }
  const add = (userId: string, link: LinkedIdentity): void => {
    connection.execute(
      `INSERT INTO "${links}" (issuer, subject, user_id, connection, email, linked_at, ` +
        'last_used_at, sealed, provisional) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
      link.issuer,
      link.subject,
      userId,
      link.connection,
      link.email ?? null,
      link.linkedAt,
      link.lastUsedAt,
      link.sealed ?? null,
      Number(link.provisional ?? false)
    )
  }

  const importOne = ({ user, links: given }: UserToImport, dryRun: boolean): ImportOutcome => {
    const holders = connection.query(
      `SELECT id, username FROM "${table}" WHERE id = ? OR username = ?`,
      user.id,
      user.username
    )
    const present = outcomeAmong(user, holders)
    if (present !== null) return { outcome: present, links: 0 }
    const free = given.filter(({ issuer, subject }) => ownerOf(issuer, subject) === undefined)
    if (!dryRun) {
      insert(user)
      for (const link of free) add(user.id, link)
    }
    return { outcome: 'imported', links: free.length }
  }

  // Transactions take the write lock at the start, so that their reads stay valid until they write.
  return {
    async findByIdentity(identity) {
      if (!isStorableIdentity(identity)) return null
      const [row] = connection.query(
        `SELECT users.* FROM "${links}" AS links JOIN "${table}" AS users ON users.id = ` +
          'links.user_id WHERE links.issuer = ? AND links.subject = ?',
        identity.issuer,
        identity.subject
      )
      return row === undefined ? null : userOf(row)
    },
    async createWithIdentity(user, link) {
      return connection.transaction(() => {
        if (ownerOf(link.issuer, link.subject) !== undefined) throw new IdentityTakenError()
        const created = create(user)
        add(created.id, link)
        return created
      })
    },
    async importUsers(users, { dryRun = false } = {}) {
      const work = (): ImportOutcome[] => users.map((one) => importOne(one, dryRun))
      return dryRun ? work() : connection.transaction(work)
    },
    async linkIdentity(userId, link) {
      if (!isStorable(userId)) return 'unknown_user'
      return connection.transaction(() => {
        if (connection.query(`SELECT 1 FROM "${table}" WHERE id = ?`, userId).length === 0) return 'unknown_user'
        const owner = ownerOf(link.issuer, link.subject)
        if (owner !== undefined) return owner === userId ? 'already_linked' : 'taken'
        add(userId, link)
        return 'linked'
      })
    },
    async unlinkIdentity(userId, identity, otherFactors) {
      if (!isStorable(userId) || !isStorableIdentity(identity)) return 'unknown'
      return connection.transaction(() => {
        if (ownerOf(identity.issuer, identity.subject) !== userId) return 'unknown'
        const [left] = connection.query(
          `SELECT 1 FROM "${table}" AS users WHERE id = ? AND (password_hash IS NOT NULL OR (SELECT ` +
            `count(*) FROM "${links}" AS links WHERE links.user_id = users.id) > 1)`,
          userId
        )
        if (left === undefined && !otherFactors) return 'last_sign_in_method'
        connection.execute(`DELETE FROM "${links}" WHERE issuer = ? AND subject = ?`, identity.issuer, identity.subject)
        return 'unlinked'
      })
    },
    async listIdentities(userId) {
      if (!isStorable(userId)) return []
      return connection
        .query(`SELECT * FROM "${links}" WHERE user_id = ? ORDER BY linked_at, issuer, subject`, userId)
        .map(linkOf)
    },
    async useIdentity(identity, at, email) {
      if (isStorableIdentity(identity))
        connection.execute(
          `UPDATE "${links}" SET last_used_at = ?, email = coalesce(?, email) WHERE issuer = ? AND subject = ?`,
          at,
          email ?? null,
          identity.issuer,
          identity.subject
        )
    }
  }
}
