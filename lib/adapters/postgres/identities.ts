import { IdentityTakenError } from '../../errors.ts'
import type { Identity, LinkedIdentity, UserStore } from '../../ports/user-store.ts'
import {
  isStorableIdentity,
  linkOf,
  type LinkOutcome,
  nameBeside,
  outcomeOf,
  type UnlinkOutcome,
  userOf
} from '../sql/user-rows.ts'
import { isStorable } from '../../protocol/bounds.ts'
import { PostgresError, type PostgresValue, type Query, quoted } from './database.ts'

type IdentityMethods = Pick<
  Required<UserStore>,
  'findByIdentity' | 'createWithIdentity' | 'linkIdentity' | 'unlinkIdentity' | 'listIdentities' | 'useIdentity'
>

/** The quoted name of an object that belongs to the table of users. */
export const named = (table: string, suffix: string): string => quoted(nameBeside(table, suffix), 'table')
const keyName = (table: string): string => nameBeside(table, '_identities_key')
export const LINK_COLUMNS = 'issuer, subject, connection, email, linked_at, last_used_at, sealed, provisional'

/**
 * SQL for the table of links, and for functions whose changes a single statement cannot do. A single statement that
 * waits for the lock of the user still counts the links of a snapshot from before the wait. So two calls that unlink
 * the last two links would both succeed. In a function, each statement sees everything committed before it began.
 */
export function identitiesSql(table: string): string {
  const users = quoted(table, 'table')
  const links = named(table, '_identities')
  return `CREATE TABLE ${links} (
    issuer text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL REFERENCES ${users} (id) ON DELETE CASCADE,
    connection text NOT NULL,
    email text,
    linked_at bigint NOT NULL,
    last_used_at bigint NOT NULL,
    sealed text,
    provisional boolean NOT NULL,
    CONSTRAINT "${keyName(table)}" PRIMARY KEY (issuer, subject)
  );
  CREATE INDEX ${named(table, '_identities_user')} ON ${links} (user_id);

  CREATE FUNCTION ${named(table, '_link_identity')}(
    owner text, new_issuer text, new_subject text, new_connection text, new_email text,
    new_linked_at bigint, new_last_used_at bigint, new_sealed text, new_provisional boolean
  ) RETURNS text LANGUAGE plpgsql AS $body$
  DECLARE holder text;
  BEGIN
    -- Whoever removes the user waits for this, and then takes the link along.
    PERFORM FROM ${users} WHERE id = owner FOR KEY SHARE;
    IF NOT FOUND THEN RETURN 'unknown_user'; END IF;
    LOOP
      INSERT INTO ${links} (user_id, ${LINK_COLUMNS})
        VALUES (owner, new_issuer, new_subject, new_connection, new_email,
          new_linked_at, new_last_used_at, new_sealed, new_provisional)
        ON CONFLICT (issuer, subject) DO NOTHING;
      IF FOUND THEN RETURN 'linked'; END IF;
      SELECT user_id INTO holder FROM ${links} WHERE issuer = new_issuer AND subject = new_subject;
      -- Otherwise it was unlinked in between.
      IF FOUND THEN RETURN CASE WHEN holder = owner THEN 'already_linked' ELSE 'taken' END; END IF;
    END LOOP;
  END $body$;

  CREATE FUNCTION ${named(table, '_unlink_identity')}(
    owner text, old_issuer text, old_subject text, other_factors boolean
  ) RETURNS text LANGUAGE plpgsql AS $body$
  DECLARE hash text;
  BEGIN
    SELECT password_hash INTO hash FROM ${users} WHERE id = owner FOR NO KEY UPDATE;
    IF NOT EXISTS (SELECT FROM ${links} WHERE issuer = old_issuer AND subject = old_subject AND user_id = owner)
    THEN RETURN 'unknown'; END IF;
    IF hash IS NULL AND NOT other_factors AND (SELECT count(*) FROM ${links} WHERE user_id = owner) < 2
    THEN RETURN 'last_sign_in_method'; END IF;
    DELETE FROM ${links} WHERE issuer = old_issuer AND subject = old_subject AND user_id = owner;
    RETURN 'unlinked';
  END $body$`
}

/** The values of a link in the order of `LINK_COLUMNS`. */
const valuesOf = (link: LinkedIdentity): PostgresValue[] => [
  link.issuer,
  link.subject,
  link.connection,
  link.email ?? null,
  link.linkedAt,
  link.lastUsedAt,
  link.sealed ?? null,
  link.provisional ?? false
]

interface IdentityDeps {
  query: Query
  /** Builds the `INSERT` of a user, which returns the row. Its parameters begin at `$1`. */
  insertOf(user: Parameters<IdentityMethods['createWithIdentity']>[0]): { sql: string; values: PostgresValue[] }
  /** Converts a violation of the username's index to `UsernameTakenError`, and returns any other error unchanged. */
  explained(error: unknown, username: string): Promise<unknown>
}

export function postgresIdentities(table: string, { query, insertOf, explained }: IdentityDeps): IdentityMethods {
  const users = quoted(table, 'table')
  const links = named(table, '_identities')
  const keyOf = ({ issuer, subject }: Identity): [string, string] => [issuer, subject]

  return {
    async findByIdentity(identity) {
      if (!isStorableIdentity(identity)) return null
      const [row] = await query(
        `SELECT users.* FROM ${links} AS links JOIN ${users} AS users ON users.id = links.user_id ` +
          'WHERE links.issuer = $1 AND links.subject = $2',
        ...keyOf(identity)
      )
      return row === undefined ? null : userOf(row)
    },
    async createWithIdentity(user, link) {
      const { sql, values } = insertOf(user)
      const parameters = valuesOf(link).map((_, index) => `$${values.length + index + 1}`)
      // Uses no ON CONFLICT, because a violation must undo both inserts. An ignored conflict would leave the user
      // without the link.
      const [row] = await query(
        `WITH created AS (${sql}), linked AS (
          INSERT INTO ${links} (user_id, ${LINK_COLUMNS})
            SELECT id, ${parameters.join(', ')} FROM created RETURNING user_id
        ) SELECT created.* FROM created JOIN linked ON linked.user_id = created.id`,
        ...values,
        ...valuesOf(link)
      ).catch(async (error: unknown) => {
        if (error instanceof PostgresError && error.code === '23505' && error.constraint === keyName(table))
          throw new IdentityTakenError()
        throw await explained(error, user.username)
      })
      if (row === undefined) throw new TypeError('The database answered an INSERT with no row.')
      return userOf(row)
    },
    async linkIdentity(userId, link) {
      if (!isStorable(userId)) return 'unknown_user'
      const [row] = await query(
        `SELECT ${named(table, '_link_identity')}($1, $2, $3, $4, $5, $6, $7, $8, $9) AS outcome`,
        userId,
        ...valuesOf(link)
      )
      return outcomeOf(row) as LinkOutcome
    },
    async unlinkIdentity(userId, identity, otherFactors) {
      if (!isStorable(userId) || !isStorableIdentity(identity)) return 'unknown'
      const [row] = await query(
        `SELECT ${named(table, '_unlink_identity')}($1, $2, $3, $4) AS outcome`,
        userId,
        ...keyOf(identity),
        otherFactors
      )
      return outcomeOf(row) as UnlinkOutcome
    },
    async listIdentities(userId) {
      if (!isStorable(userId)) return []
      return (
        await query(
          `SELECT ${LINK_COLUMNS} FROM ${links} WHERE user_id = $1 ORDER BY linked_at, issuer, subject`,
          userId
        )
      ).map(linkOf)
    },
    async useIdentity(identity, at, email) {
      if (isStorableIdentity(identity))
        await query(
          `UPDATE ${links} SET last_used_at = $3, email = coalesce($4, email) WHERE issuer = $1 AND subject = $2`,
          ...keyOf(identity),
          at,
          email ?? null
        )
    }
  }
}
