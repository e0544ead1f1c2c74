import { type AuditLog, PRUNED } from '../../ports/audit-log.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { addressIndex, auditTable, sqlAudit } from '../sql/audit-rows.ts'
import { type PostgresDatabase, quoted } from './database.ts'
import { connect } from './migrations.ts'

export interface PostgresAuditOptions {
  /** The schema that holds the table. It is created if it does not exist. Default: the search path decides. */
  schema?: string | undefined
}

/**
 * An audit log in PostgreSQL (12 or newer): any number of instances, durable. `db` is a `Pool` of `pg`, or PGlite.
 * Versioned migrations make the table, by `prepare` or at the first use.
 */
export function postgresAudit(db: PostgresDatabase, { schema, ...others }: PostgresAuditOptions = {}): AuditLog {
  noOthers('postgresAudit', others)
  const prefix = schema === undefined ? '' : `${quoted(schema, 'schema')}.`
  const table = `${prefix}authority_audit`
  const { query, prepare, pending } = connect(db, { component: 'audit', steps: stepsOf(prefix), prefix, named: true })
  const run: typeof query = async (sql, ...values) => {
    let number = 0
    return await query(
      sql.replaceAll('?', () => `$${++number}`),
      ...values
    )
  }
  return {
    ...sqlAudit('postgres', table, {
      run,
      both: async ([one, ...values], [other, ...others]) =>
        await run(`WITH one AS (${one}) ${other}`, ...values, ...others)
    }),
    prepare,
    pending
  }
}

function stepsOf(prefix: string): string[] {
  const name = 'authority_audit'
  return [
    `${auditTable({ prefix, name }, { integers: 'bigint', suffix: '', collate: ' COLLATE "C"' })}
    CREATE FUNCTION ${prefix}${name}_stays() RETURNS trigger LANGUAGE plpgsql AS $stays$
    BEGIN
      RAISE EXCEPTION 'an audit entry can not be changed';
    END $stays$;
    CREATE TRIGGER ${name}_stays
      BEFORE UPDATE OF chain, seq, at, action, outcome, user_id, actor_id, entry, mac ON ${prefix}${name}
      FOR EACH ROW WHEN (NEW.action <> '${PRUNED}'
        OR (NEW.chain, NEW.seq, NEW.at, NEW.mac) <> (OLD.chain, OLD.seq, OLD.at, OLD.mac))
      EXECUTE FUNCTION ${prefix}${name}_stays()`,
    `${addressIndex({ prefix, name })}
    CREATE TRIGGER ${name}_address_stays BEFORE UPDATE OF ip ON ${prefix}${name}
      FOR EACH ROW WHEN (NEW.ip IS NOT NULL) EXECUTE FUNCTION ${prefix}${name}_stays()`
  ]
}
