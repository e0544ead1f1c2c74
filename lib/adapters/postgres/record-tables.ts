import { invalidOptions } from '../../errors.ts'
import { ANY } from '../../ports/record-store.ts'
import type { MigrationStep } from '../sql/migration-steps.ts'
import { text } from '../sql/rows.ts'
import { isForAPerson, PostgresError, type Query } from './database.ts'
import { LOCK } from './migrations.ts'

/** The rights that the statements of a record store need on its tables. The start looks for them. */
export const recordRights = (table: string): Readonly<Record<string, readonly string[]>> => ({
  [table]: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  authority_migrations: ['SELECT']
})

/** The first of the two numbers of the lock of a partition. The second is a hash of its name. */
const PARTITION_LOCK = LOCK + 1

/** Removing a record a little late costs less than writing an index entry at each use. */
const SLACK_MS = 2 ** 18

/**
 * When a record that ends at `expiresAt` is due for the sweep: the next multiple of a power of two, up to a sixteenth
 * of the time that is left. So most uses of a record, which each move its end, leave this time as it is.
 */
export function dueAt(expiresAt: number, now: number): number {
  const left = expiresAt - now
  if (left < SLACK_MS) return expiresAt
  const step = 2 ** Math.floor(Math.log2(left / 16))
  return Math.min(Math.ceil(expiresAt / step) * step, Number.MAX_SAFE_INTEGER)
}

/** SQL that keeps the former sweep time if it is after the end of the record, and not too long after it. */
export const sweepAfter = (ends: string, due: string, now: string): string =>
  `CASE WHEN sweep_after BETWEEN ${ends} AND ${ends} + (${ends} - ${now}) / 4 + ${SLACK_MS}
    THEN sweep_after ELSE ${due} END`

/**
 * The table and the functions of a record store, as migrations. A step that a release had is never edited. `prefix` is
 * `"schema".` or nothing.
 *
 * A use of a record writes no index: `kind`, `user_id` and mostly `sweep_after` stay as they are, and pages have room
 * for the new version of a row (HOT). The pages are cleaned at 2 % of dead rows and not at 20 %, or a sweep would step
 * over millions of dead entries. An operator may have made the table before, in partitions with storage
 * parameters of their own. The key is added here, so that no such table is without.
 */
export const recordMigrations = (prefix: string, table: string): readonly MigrationStep[] => [
  `CREATE TABLE IF NOT EXISTS ${prefix}${table} (
    part text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    user_id text COLLATE "C",
    version text COLLATE "C" NOT NULL,
    value text NOT NULL,
    expires_at bigint NOT NULL,
    sweep_after bigint NOT NULL
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
  ALTER TABLE ${prefix}${table} ADD PRIMARY KEY (part, key);
  CREATE INDEX ${table}_sweep ON ${prefix}${table} (sweep_after);
  ${commitFunction(prefix, table)}
  ${replaceFunction(prefix, table)}
  ${sweepFunction(prefix, table)}`
]

/**
 * A connection keeps the plans of a function. One made while the table had few rows would read the whole table until it
 * is next analyzed. So the functions always use the indexes.
 */
const LANGUAGE = 'LANGUAGE plpgsql SET enable_seqscan TO off'

/**
 * Writes several records, or records that may be new. An empty version removes the record, `NULL` only compares it.
 * Returns `NULL`, or all records as JSON if one is not as expected. A transaction that adds a row of a partition has
 * the lock of the partition. So a row that is absent under the lock stays absent until the end of the transaction. An
 * existing row is locked before it is compared, so it stays as it is. Each statement of the function has a snapshot of
 * its own, from after the lock. Without the lock a transaction locks one row and waits for no other, or is a sweep,
 * which never waits, or replaces several, and gives up soon. So no transactions wait for each other in a circle.
 */
const commitFunction = (prefix: string, table: string): string => `
CREATE FUNCTION ${prefix}${table}_commit(in_part text, keys text[], expects text[], versions text[], kinds text[],
  users text[], vals text[], ends bigint[], dues bigint[], now_ms bigint) RETURNS text ${LANGUAGE} AS $body$
DECLARE
  found_version text;
BEGIN
  PERFORM pg_advisory_xact_lock(${PARTITION_LOCK}, hashtext(in_part));
  FOR at IN 1 .. cardinality(keys) LOOP
    CONTINUE WHEN expects[at] = '${ANY}';
    SELECT version INTO found_version FROM ${prefix}${table} WHERE part = in_part AND key = keys[at] FOR UPDATE;
    IF found_version IS DISTINCT FROM expects[at] THEN
      RETURN (SELECT coalesce(json_agg(json_build_object('key', key, 'version', version, 'value', value)), '[]')
        FROM ${prefix}${table} WHERE part = in_part AND key = ANY (keys));
    END IF;
  END LOOP;
  FOR at IN 1 .. cardinality(keys) LOOP
    CONTINUE WHEN versions[at] IS NULL;
    IF versions[at] = '' THEN
      DELETE FROM ${prefix}${table} WHERE part = in_part AND key = keys[at];
      CONTINUE;
    END IF;
    IF expects[at] IS NOT NULL THEN
      UPDATE ${prefix}${table} SET kind = kinds[at], user_id = users[at], version = versions[at], value = vals[at],
        expires_at = ends[at], sweep_after = ${sweepAfter('ends[at]', 'dues[at]', 'now_ms')}
        WHERE part = in_part AND key = keys[at];
      CONTINUE WHEN FOUND;
    END IF;
    INSERT INTO ${prefix}${table} (part, key, kind, user_id, version, value, expires_at, sweep_after)
      VALUES (in_part, keys[at], kinds[at], users[at], versions[at], vals[at], ends[at], ends[at]);
  END LOOP;
  RETURN NULL;
END $body$;`

/**
 * The longest wait for one record. A locked record must not keep the others of its turn waiting: 64 waits are shorter
 * than the limit of the state (2 s). It also ends a circle of waits, which PostgreSQL looks for after a second.
 */
const LOCK_TIMEOUT_MS = 25

/**
 * Replaces records of any partitions, and returns as JSON which of them were as expected. The others stay as they are.
 * Replaces none (55P03) if one of them stays locked.
 */
const replaceFunction = (prefix: string, table: string): string => `
CREATE FUNCTION ${prefix}${table}_replace(parts text[], keys text[], expects text[], versions text[], vals text[],
  kinds text[], users text[], ends bigint[], dues bigint[], nows bigint[]) RETURNS text
${LANGUAGE} SET lock_timeout TO ${LOCK_TIMEOUT_MS} AS $body$
DECLARE
  done boolean[];
BEGIN
  FOR at IN 1 .. cardinality(keys) LOOP
    UPDATE ${prefix}${table} SET kind = kinds[at], user_id = users[at], version = versions[at], value = vals[at],
      expires_at = ends[at], sweep_after = ${sweepAfter('ends[at]', 'dues[at]', 'nows[at]')}
      WHERE part = parts[at] AND key = keys[at] AND version = expects[at];
    done[at] := FOUND;
  END LOOP;
  RETURN array_to_json(done)::text;
END $body$;`

/**
 * Removes a slice and returns how many records that were. A record that another sweep or a commit has locked is left to
 * it. A record that was used meanwhile is compared again when its lock is got. The planner takes the records that are
 * due for few, and would collect and sort them all for each slice; so it must walk along the index.
 */
const sweepFunction = (prefix: string, table: string): string => `
CREATE FUNCTION ${prefix}${table}_sweep(now_ms bigint, max_rows integer) RETURNS integer
${LANGUAGE} SET enable_bitmapscan TO off SET enable_sort TO off AS $body$
DECLARE
  due record;
  removed integer := 0;
BEGIN
  FOR due IN SELECT part, key FROM ${prefix}${table} WHERE sweep_after <= now_ms AND expires_at <= now_ms
    ORDER BY sweep_after LIMIT max_rows FOR UPDATE SKIP LOCKED
  LOOP
    DELETE FROM ${prefix}${table} WHERE part = due.part AND key = due.key;
    removed := removed + 1;
  END LOOP;
  RETURN removed;
END $body$;`

interface Needs {
  /** `postgresState`, … */
  what: string
  /** `"schema".` or nothing. */
  prefix: string
  rights: Readonly<Record<string, readonly string[]>>
}

/**
 * Checks the rights of the role, and then tries some of the operations.
 * @throws StartError that names the missing rights; an outage rejects with another error
 */
export async function requireRights(
  query: Query,
  { what, prefix, rights }: Needs,
  trial: () => Promise<void>
): Promise<void> {
  const wanted = Object.entries(rights)
    .flatMap(([table, ofTable]) => ofTable.map((right) => `('${table}', '${right}')`))
    .join(', ')
  const [row] =
    await query(`SELECT pg_is_in_recovery() AS recovering, current_setting('transaction_read_only') AS read_only,
    coalesce((SELECT string_agg(wanted.privilege || ' on ' || wanted.relation, ', ')
      FROM (VALUES ${wanted}) AS wanted (relation, privilege)
      WHERE NOT has_table_privilege('${prefix}' || wanted.relation, wanted.privilege)), '') AS missing`)
  if (row === undefined) throw new TypeError('The database answered a SELECT with no row.')
  const missing = text(row, 'missing')
  if (missing !== '') throw invalidOptions(`The PostgreSQL role of ${what} lacks rights: ${missing}.`)
  // A standby refuses writes only until its failover ends. Any other read-only server was configured so.
  if (row['recovering'] !== true && text(row, 'read_only') === 'on')
    throw invalidOptions(
      'PostgreSQL transactions are read only here: set default_transaction_read_only back for this role or database.'
    )
  try {
    await trial()
  } catch (error) {
    if (error instanceof PostgresError && isForAPerson(error))
      throw invalidOptions(`The PostgreSQL role of ${what} can't do what it has to. ${error.message}`, error)
    throw error
  }
}
