import type { State } from '../../ports/state.ts'
import { integer } from '../sql/rows.ts'
import { postgresConsentStore } from './consent-store.ts'
import { quoted } from './database.ts'
import type { PostgresDatabase } from './database.ts'
import { postgresKeyStore } from './key-store.ts'
import { connect } from './migrations.ts'
import { postgresOneTimeTokenStore } from './one-time-token-store.ts'
import { postgresSessionStore } from './session-store.ts'
import { stateMigrations } from './state-tables.ts'
import { postgresSweep } from './sweep.ts'
import { postgresTokenStore } from './token-store.ts'

export interface PostgresStateOptions {
  /** How many devices one user may be signed in on; one more signs out the one that signed in first. Default 100, minimum 1. */
  maxFamiliesPerUser?: number
  /** How many browsers one user may be signed in with on the hosted pages; one more ends the first. Default 100, minimum 1. */
  maxSessionsPerUser?: number
  /** Where the tables are: letters, digits and `_`; made where it is missing. Default: where the search path says. */
  schema?: string
}

/**
 * State in PostgreSQL (12 or newer): any number of instances, durable. `db` is anything with `query(text, params)`: a `Pool` of `pg`,
 * or PGlite. Every operation is one statement and one transaction, so transaction pooling (PgBouncer) is fine; the isolation must
 * be READ COMMITTED, the default. The tables are made by versioned migrations at the first use, by as many instances at once as
 * there are. Rejects with an error that has the SQLSTATE as its `code`, and no value of a row or parameter, on an outage. How long
 * an operation may take is the pool's to bound (`connectionTimeoutMillis`, `query_timeout`). Give a `Pool` a listener for `error`:
 * without one, Node.js ends the process when an idle connection is cut.
 */
export function postgresState (db: PostgresDatabase, { maxFamiliesPerUser = 100, maxSessionsPerUser = 100, schema }: PostgresStateOptions = {}): State & Required<Pick<State, 'prepare' | 'time'>> {
  for (const [name, max] of Object.entries({ maxFamiliesPerUser, maxSessionsPerUser })) {
    if (!Number.isSafeInteger(max) || max < 1 || max > MAX_ROWS) throw new RangeError(`${name} must be a whole number from 1 up.`)
  }
  const prefix = schema === undefined ? '' : `${quoted(schema, 'schema')}.`
  const { query, prepare } = connect(db, { component: 'state', steps: stateMigrations(prefix), prefix })
  return {
    kind: 'postgres',
    shared: true,
    tokens: postgresTokenStore(query, prefix, maxFamiliesPerUser),
    oneTimeTokens: postgresOneTimeTokenStore(query, prefix),
    browserSessions: postgresSessionStore(query, prefix, maxSessionsPerUser),
    consents: postgresConsentStore(query, prefix),
    keys: postgresKeyStore(query, prefix),
    prepare,
    async time () {
      const [row] = await query('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now')
      if (row === undefined) throw new TypeError('The database answered a SELECT with no row.')
      return integer(row, 'now')
    },
    sweep: postgresSweep(query, prefix)
  }
}

/** An `integer` of PostgreSQL. */
const MAX_ROWS = 2 ** 31 - 1
