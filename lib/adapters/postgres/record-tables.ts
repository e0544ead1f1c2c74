import { invalidOptions } from '../../errors.ts'
import { ANY } from '../../ports/record-store.ts'
import type { MigrationStep } from '../sql/migration-steps.ts'
import { text } from '../sql/rows.ts'
import { isForAPerson, PostgresError, type Query } from './database.ts'
import { LOCK } from './migrations.ts'

/** The rights that the statements of a record store need on its tables. The start checks them. */
export const recordRights = (table: string): Readonly<Record<string, readonly string[]>> => ({
  [table]: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  authority_migrations: ['SELECT']
})

/** The first number of the advisory lock of a partition. The second is a hash of the partition's name. */
const PARTITION_LOCK = LOCK + 1

/**
 * How late a record may be swept, in milliseconds, in addition to a share of its remaining time. A late removal costs
 * less than writing an index entry at each use of the record.
 */
const SLACK_MS = 2 ** 18

/**
 * Returns when the sweep may remove a record that ends at `expiresAt`: that time, rounded up to a multiple of a power
 * of two. The power is at most a sixteenth of the remaining time. Most uses of a record move its end, but not the
 * rounded time. Rounds nothing if less than `SLACK_MS` remains.
 */
export function dueAt(expiresAt: number, now: number): number {
  const left = expiresAt - now
  if (left < SLACK_MS) return expiresAt
  const step = 2 ** Math.floor(Math.log2(left / 16))
  return Math.min(Math.ceil(expiresAt / step) * step, Number.MAX_SAFE_INTEGER)
}

/**
 * SQL for the sweep time. Keeps the previous one if it lies after the end of the record by at most a quarter of the
 * remaining time plus `SLACK_MS`. Else `due`.
 */
export const sweepAfter = (ends: string, due: string, now: string): string =>
  `CASE WHEN sweep_after BETWEEN ${ends} AND ${ends} + (${ends} - ${now}) / 4 + ${SLACK_MS}
    THEN sweep_after ELSE ${due} END`

/**
 * The table and the functions of a record store, as migrations. A released step is never edited. `prefix` is
 * `"schema".` or empty.
 *
 * Most updates of a record write no index (HOT). They change no indexed column, usually not even `sweep_after`, and the
 * pages have room for the new version of a row. Autovacuum cleans the pages at 2 % of dead rows instead of 20 %,
 * because otherwise a sweep steps over millions of dead entries. An operator may have made the table before, in
 * partitions with their own storage parameters. So a separate statement adds the primary key, also to such a table.
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
 * Makes the planner use the indexes in the functions. A connection keeps the plans of a function, and a plan that was
 * made while the table had few rows would read the whole table until the next ANALYZE.
 */
const LANGUAGE = 'LANGUAGE plpgsql SET enable_seqscan TO off'

/**
 * Writes several records, or records that may be new. An empty version removes the record, and `NULL` only compares it.
 * Returns `NULL`, or all records as JSON if one has another version than expected.
 *
 * Every transaction that adds a row of a partition takes the lock of the partition. So a row that is absent under the
 * lock stays absent until the end of the transaction. The function locks an existing row before it compares it, so the
 * row stays as it is. Each statement of the function has its own snapshot, from after the lock.
 *
 * No deadlock lasts, because a transaction without the lock of the partition does not wait for long: it locks a single
 * row, or it is a sweep, which skips locked rows, or it replaces several rows and gives up after `LOCK_TIMEOUT_MS`.
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
 * The longest wait for the lock of one record, in milliseconds. The 64 waits of a full statement are shorter than the
 * time limit of the state (2 s), so a locked record does not fail the others. The limit also ends a deadlock earlier
 * than PostgreSQL, which looks for deadlocks after a second.
 */
const LOCK_TIMEOUT_MS = 25

/**
 * Replaces records of any partitions, and returns a JSON array: for each record, whether it had the expected version.
 * Records with another version stay as they are. Fails with 55P03 and replaces none if one of the records stays locked.
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
 * Removes at most `max_rows` expired records and returns their number. Skips a record that another sweep or a commit
 * has locked. PostgreSQL checks the conditions again after it has locked a record, so a record that was used meanwhile
 * stays. The settings make the planner walk along the index. Without them it expects few due records, and collects and
 * sorts all of them for each slice.
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
  /** The name of the public function, for error messages. For example `postgresState`. */
  what: string
  /** `"schema".` or empty. */
  prefix: string
  rights: Readonly<Record<string, readonly string[]>>
}

/**
 * Checks the rights of the role and that the database accepts writes. Then runs `trial`, which tries the operations.
 * @throws StartError for missing rights, for read-only transactions outside a standby, or for a failure of `trial` that
 * the operator must fix. An outage rejects with another error
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
