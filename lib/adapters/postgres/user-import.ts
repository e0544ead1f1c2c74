import type { ImportOutcome, UserImporter, UserToImport } from '../../ports/user-store.ts'
import { integer, type Row, text } from '../sql/rows.ts'
import { booleanOf, changedAtOf, createdAtOf, outcomeAmong, profileOf } from '../sql/user-rows.ts'
import { type Query, quoted } from './database.ts'
import { LINK_COLUMNS, named } from './identities.ts'

interface ImportDeps {
  query: Query
  /** @throws TypeError for a text that PostgreSQL cannot store */
  jsonOf(value: object): string
}

const userRow = ({ user }: UserToImport): object => ({
  id: user.id,
  username: user.username,
  password_hash: user.passwordHash,
  email: user.email ?? null,
  email_verified: booleanOf(user.emailVerified, 'emailVerified'),
  disabled: booleanOf(user.disabled, 'disabled'),
  password_changed_at: changedAtOf(user),
  profile: profileOf(user),
  created_at: createdAtOf(user)
})

const linkRows = ({ user, links }: UserToImport): object[] =>
  links.map((link) => ({
    user_id: user.id,
    issuer: link.issuer,
    subject: link.subject,
    connection: link.connection,
    email: link.email ?? null,
    linked_at: link.linkedAt,
    last_used_at: link.lastUsedAt,
    sealed: link.sealed ?? null,
    provisional: link.provisional ?? false
  }))

const USER_COLUMNS =
  'id, username, password_hash, email, email_verified, disabled, password_changed_at, profile, created_at'

/**
 * Sorts the users by id, because two imports that insert in different orders could deadlock. Of several users with the
 * same id or username it keeps only the first.
 */
function firstOfEachById(users: readonly UserToImport[]): UserToImport[] {
  const [ids, names] = [new Set<string>(), new Set<string>()]
  const first = users.filter(({ user: { id, username } }) => {
    if (ids.has(id) || names.has(username)) return false
    ids.add(id)
    names.add(username)
    return true
  })
  return first.toSorted((one, other) => (one.user.id < other.user.id ? -1 : 1))
}

/**
 * Imports all users of a call, with their links, in one statement, so that a failure cannot store a user without the
 * links.
 */
export function postgresImport(table: string, { query, jsonOf }: ImportDeps): UserImporter {
  const users = quoted(table, 'table')
  const links = named(table, '_identities')
  const given = `jsonb_to_recordset($1::text::jsonb) AS given(id text, username text, password_hash text, email text,
    email_verified boolean, disabled boolean, password_changed_at bigint, profile jsonb, created_at bigint)`
  const givenLinks = (parameter: string): string =>
    `jsonb_to_recordset(${parameter}::text::jsonb) AS given_links(user_id text, issuer text, subject text,
    connection text, email text, linked_at bigint, last_used_at bigint, sealed text, provisional boolean)`

  const holdersOf = async (wanted: readonly UserToImport[]): Promise<(one: UserToImport) => Row[]> => {
    const rows = await query(
      `SELECT id, username FROM ${users} WHERE id = ANY(ARRAY(SELECT jsonb_array_elements_text($1::text::jsonb)))
        OR username = ANY(ARRAY(SELECT jsonb_array_elements_text($2::text::jsonb)))`,
      jsonOf(wanted.map(({ user }) => user.id)),
      jsonOf(wanted.map(({ user }) => user.username))
    )
    const [byId, byName] = [
      new Map(rows.map((row) => [row['id'], row])),
      new Map(rows.map((row) => [row['username'], row]))
    ]
    return ({ user }) => [byId.get(user.id), byName.get(user.username)].filter((row) => row !== undefined)
  }
  /** Maps the id of each user to the number of links. */
  const counted = (rows: readonly Row[]): Map<string, number> =>
    new Map(rows.map((row) => [text(row, 'id'), integer(row, 'links')]))

  const free = async (wanted: readonly UserToImport[]): Promise<Map<string, number>> =>
    counted(
      await query(
        `SELECT user_id AS id, count(*) AS links FROM ${givenLinks('$1')} WHERE NOT EXISTS (
          SELECT FROM ${links} AS links WHERE links.issuer = given_links.issuer AND links.subject = given_links.subject
        ) GROUP BY user_id`,
        jsonOf(wanted.flatMap(linkRows))
      )
    )
  const insert = async (wanted: readonly UserToImport[]): Promise<Map<string, number>> =>
    counted(
      await query(
        `WITH created AS (
          INSERT INTO ${users} (${USER_COLUMNS}) SELECT ${USER_COLUMNS} FROM ${given}
            ON CONFLICT DO NOTHING RETURNING id
        ), linked AS (
          INSERT INTO ${links} (user_id, ${LINK_COLUMNS}) SELECT user_id, ${LINK_COLUMNS} FROM ${givenLinks('$2')}
          WHERE user_id IN (SELECT id FROM created) ON CONFLICT DO NOTHING RETURNING user_id
        ) SELECT id, (SELECT count(*) FROM linked WHERE user_id = created.id) AS links FROM created`,
        jsonOf(wanted.map(userRow)),
        jsonOf(wanted.flatMap(linkRows))
      )
    )

  return {
    async importUsers(wanted, { dryRun = false } = {}) {
      const before = await holdersOf(wanted)
      const absent = wanted.filter((one) => outcomeAmong(one.user, before(one)) === null)
      const tried = dryRun ? absent : firstOfEachById(absent)
      const written = await (dryRun ? free : insert)(tried)
      // Reads the holders again, because another process may have taken an id or a name meanwhile.
      const after = !dryRun && written.size < absent.length ? await holdersOf(absent) : before
      const isWritten = new Set(tried.filter(({ user }) => dryRun || written.has(user.id)))
      return wanted.map((one): ImportOutcome => {
        if (isWritten.has(one)) return { outcome: 'imported', links: written.get(one.user.id) ?? 0 }
        const holders = [...before(one), ...after(one)]
        return { outcome: outcomeAmong(one.user, holders) ?? 'name_taken', links: 0 }
      })
    }
  }
}
