import { StartError } from '../../errors.ts'
import { text } from '../sql/rows.ts'
import type { Query } from './database.ts'
import { isForAPerson, PostgresError } from './outage.ts'

const unfit = (message: string, cause?: unknown): StartError =>
  new StartError('FST_AUTHORITY_INVALID_OPTIONS', message, cause === undefined ? undefined : { cause })

interface Needs {
  /** `postgresState`, … */
  what: string
  /** `"schema".` or nothing. */
  prefix: string
  rights: Readonly<Record<string, readonly string[]>>
}

/**
 * Looks whether the role may do what will be done, and then does some of it.
 *
 * @throws StartError that names what is missing; an outage rejects with anything else
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
  if (missing !== '') throw unfit(`The PostgreSQL role of ${what} lacks rights: ${missing}.`)
  // A standby is one for as long as a failover takes; everything else has been set by somebody.
  if (row['recovering'] !== true && text(row, 'read_only') === 'on')
    throw unfit(
      'PostgreSQL transactions are read only here: set default_transaction_read_only back for this role or database.'
    )
  try {
    await trial()
  } catch (error) {
    if (error instanceof PostgresError && isForAPerson(error))
      throw unfit(`The PostgreSQL role of ${what} can't do what it has to. ${error.message}`, error)
    throw error
  }
}
