import { randomUUID } from 'node:crypto'
import type { State } from '../../ports/state.ts'
import { checkPerUser, noOthers } from '../../protocol/bounds.ts'
import { integer, text } from '../sql/rows.ts'
import { postgresAssertionStore } from './assertion-store.ts'
import { postgresConsentStore } from './consent-store.ts'
import { quoted } from './database.ts'
import type { PostgresDatabase } from './database.ts'
import { postgresKeyStore } from './key-store.ts'
import { connect } from './migrations.ts'
import { postgresOneTimeTokenStore } from './one-time-token-store.ts'
import { requireRights, STATE_RIGHTS } from './rights.ts'
import { postgresSessionStore } from './session-store.ts'
import { stateMigrations } from './state-tables.ts'
import { postgresSweep } from './sweep.ts'
import { postgresTokenStore } from './token-store.ts'

export interface PostgresStateOptions {
  /**
   * How many devices one user may be signed in on; one more signs out the one that signed in first. Default 100; from 1
   * to 1,000.
   */
  maxFamiliesPerUser?: number | undefined
  /**
   * How many browsers one user may be signed in with on the hosted pages; one more ends the first. Default 100; from 1
   * to 1,000.
   */
  maxSessionsPerUser?: number | undefined
  /**
   * The schema that holds the tables. Its name has letters, digits and `_`; it is created where it does not exist.
   * Default: the search path decides.
   */
  schema?: string | undefined
  /**
   * Whether a `Pool` or `Client` of `pg` gets statements with names, which the server plans once for each connection.
   * Default true.
   */
  namedStatements?: boolean | undefined
}

/**
 * State in PostgreSQL (12 or newer): any number of instances, durable. `db` is anything with `query(text, params)`: a
 * `Pool` of `pg`, or PGlite. Every operation is one statement and one transaction, so transaction pooling (PgBouncer)
 * is fine; the isolation must be READ COMMITTED, the default. The tables are made by versioned migrations at the first
 * use, by as many instances at once as there are. Rejects with an error that has the SQLSTATE as its `code`, and no
 * value of a row or parameter, on an outage. How long an operation may take is the pool's to bound
 * (`connectionTimeoutMillis`, `query_timeout`). Give a `Pool` a listener for `error`: without one, Node.js ends the
 * process when an idle connection is cut.
 */
export function postgresState(
  db: PostgresDatabase,
  {
    maxFamiliesPerUser = 100,
    maxSessionsPerUser = 100,
    schema,
    namedStatements = true,
    ...others
  }: PostgresStateOptions = {}
): State & Required<Pick<State, 'prepare' | 'time' | 'claimFor'>> {
  noOthers('postgresState', others)
  checkPerUser({ maxFamiliesPerUser, maxSessionsPerUser })
  const prefix = schema === undefined ? '' : `${quoted(schema, 'schema')}.`
  const { query, prepare } = connect(db, {
    component: 'state',
    steps: stateMigrations(prefix),
    prefix,
    named: namedStatements
  })
  const tokens = postgresTokenStore(query, prefix, maxFamiliesPerUser)

  /** Creates a family of a made-up user and revokes it, so that the start finds out whether the role can write. */
  async function trial(): Promise<void> {
    const sid = `trial ${randomUUID()}`
    const now = Date.now()
    await tokens.createFamily({
      sid,
      userId: sid,
      clientId: null,
      scope: '',
      authenticatedAt: now,
      acr: null,
      amr: [],
      createdAt: now,
      lastUsedAt: now,
      expiresAt: now + TRIAL_MS,
      idleExpiresAt: now + TRIAL_MS,
      userAgent: null,
      sessionSid: null,
      offline: true,
      authorization: null,
      tokenDigest: sid
    })
    await tokens.revokeFamily(sid)
  }

  return {
    kind: 'postgres',
    shared: true,
    tokens,
    oneTimeTokens: postgresOneTimeTokenStore(query, prefix),
    browserSessions: postgresSessionStore(query, prefix, maxSessionsPerUser),
    consents: postgresConsentStore(query, prefix),
    keys: postgresKeyStore(query, prefix),
    assertions: postgresAssertionStore(query, prefix),
    async prepare() {
      await prepare()
      await requireRights(query, { what: 'postgresState', prefix, rights: STATE_RIGHTS }, trial)
    },
    async claimFor(issuer) {
      const owners = `${prefix}authority_issuer`
      const [before] = await query(`SELECT issuer FROM ${owners}`)
      if (before !== undefined) return text(before, 'issuer')
      // Another instance may insert the row after our SELECT. `DO NOTHING` would then return no row; `DO UPDATE`
      // returns the row of the other.
      const [row] = await query(
        `INSERT INTO ${owners} AS owner (id, issuer) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET ` +
          'issuer = owner.issuer RETURNING issuer',
        issuer
      )
      if (row === undefined) throw new TypeError('The database answered an INSERT with no row.')
      return text(row, 'issuer')
    },
    async time() {
      const [row] = await query('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now')
      if (row === undefined) throw new TypeError('The database answered a SELECT with no row.')
      return integer(row, 'now')
    },
    sweep: postgresSweep(query, prefix)
  }
}

const TRIAL_MS = 60_000
