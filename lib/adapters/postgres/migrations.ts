import { invalidOptions } from '../../errors.ts'
import {
  canRead,
  type Migrated,
  minReaderOf,
  type MigrationStep,
  missingVersions,
  namesOf,
  type AppliedVersion,
  sqlOf,
  tooNew,
  unusableMessage
} from '../sql/migration-steps.ts'
import { integer, text } from '../sql/rows.ts'
import { isForAPerson, type PostgresDatabase, type Query, queryOf, withNamedStatements } from './database.ts'

interface Migrations {
  component: string
  /** The steps from version 1 on. Each may have several statements. A released step is never edited. */
  steps: readonly MigrationStep[]
  /** True to use named prepared statements if `db` takes them (see `withNamedStatements`). */
  named: boolean
  /** `"schema".`, or empty if the search path decides. */
  prefix: string
}

interface Connection extends Migrated {
  /** Migrates the tables to the newest version first, if that has not happened yet. */
  query: Query
}

/**
 * The first number of the advisory lock of migrations. It spells `auth`, which no lock of the host is likely to use.
 */
export const LOCK = 0x61757468

const creationOfSchema = (prefix: string): string =>
  `IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = '${prefix.slice(1, -2)}') THEN
    CREATE SCHEMA ${prefix.slice(0, -1)};
  END IF;`

/**
 * Migrates in a single statement, because that is one transaction on any connection of a pool. The lock lets in one
 * instance at a time. Each statement inside the block sees everything committed before it began, so an instance that
 * waited for the lock finds the steps done.
 */
const migration = ({ component, steps, prefix }: Migrations): string => `DO $authority$
DECLARE current integer;
BEGIN
  PERFORM pg_advisory_xact_lock(${LOCK}, 0);
  ${prefix === '' ? '' : creationOfSchema(prefix)}
  -- Not by to_regclass alone: a session remembers that there was no such table until it next locks a relation, as
  -- this does.
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = to_regclass('${prefix}authority_migrations')) THEN
    CREATE TABLE ${prefix}authority_migrations (
      component text NOT NULL,
      version integer NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now(),
      min_reader integer NOT NULL,
      PRIMARY KEY (component, version)
    );
  END IF;
  SELECT coalesce(max(version), 0) INTO current FROM ${prefix}authority_migrations WHERE component = '${component}';
${steps
  .map(
    (step, index) => `  IF current < ${index + 1} THEN
    EXECUTE $step$${sqlOf(step)}$step$;
    INSERT INTO ${prefix}authority_migrations (component, version, min_reader)
      VALUES ('${component}', ${index + 1}, ${minReaderOf(step, index + 1)});
  END IF;`
  )
  .join('\n')}
END $authority$`

async function versionOf(query: Query, { component, prefix }: Migrations): Promise<AppliedVersion> {
  const [log] = await query(
    `SELECT to_regclass('${prefix}authority_migrations') IS NOT NULL AS exists,
      current_setting('server_encoding') AS encoding, current_setting('transaction_isolation') AS isolation`
  )
  if (log === undefined) throw new TypeError('The database answered a SELECT with no row.')
  if (text(log, 'encoding') !== 'UTF8')
    throw invalidOptions(`The PostgreSQL database has the encoding ${text(log, 'encoding')}; it must be UTF8.`)
  // With a stricter isolation level, the loser of every race would get an error.
  if (text(log, 'isolation') !== 'read committed')
    throw invalidOptions(
      'PostgreSQL transactions are not READ COMMITTED here: set default_transaction_isolation ' +
        'back for this role or database.'
    )
  if (log['exists'] !== true) return { version: 0, minReader: 0 }
  const [row] = await query(
    'SELECT coalesce(max(version), 0) AS version, coalesce(max(min_reader), 0) AS min_reader ' +
      `FROM ${prefix}authority_migrations WHERE component = $1`,
    component
  )
  return row === undefined
    ? { version: 0, minReader: 0 }
    : { version: integer(row, 'version'), minReader: integer(row, 'min_reader') }
}

/** Any number of instances may migrate at once. Only reads if the tables are at the newest version. */
async function migrate(query: Query, migrations: Migrations): Promise<void> {
  const { component, steps } = migrations
  let seen = await versionOf(query, migrations)
  if (seen.version < steps.length) {
    await query(migration(migrations))
    seen = await versionOf(query, migrations)
  }
  if (!canRead(seen, steps.length)) throw invalidOptions(tooNew(component, seen, steps.length))
}

export function connect(db: PostgresDatabase, migrations: Migrations): Connection {
  const query = queryOf(db)
  const named = migrations.named ? queryOf(withNamedStatements(db)) : query
  let ready: Promise<void> | undefined
  const explain = (error: unknown): never => {
    throw isForAPerson(error) ? invalidOptions(unusableMessage(migrations.component, error), error) : error
  }
  // After a failure the next call tries again, because the cause may have been an outage.
  const prepared = async (): Promise<void> => {
    ready ??= migrate(query, migrations).catch((error: unknown) => {
      ready = undefined
      explain(error)
    })
    await ready
  }
  return {
    prepare: prepared,
    async pending() {
      const seen = await versionOf(query, migrations).catch(explain)
      if (!canRead(seen, migrations.steps.length))
        throw invalidOptions(tooNew(migrations.component, seen, migrations.steps.length))
      return namesOf(migrations.component, missingVersions(seen, migrations.steps))
    },
    async query(sql, ...parameters) {
      await prepared()
      return await named(sql, ...parameters)
    }
  }
}
