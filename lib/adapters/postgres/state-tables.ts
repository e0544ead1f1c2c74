import type { MigrationStep } from '../sql/migration-steps.ts'
import { codeColumns } from './code-columns.ts'
import { lifetimeFunctions } from './lifetime.ts'
import { sessionFunctions } from './session-functions.ts'
import { signInColumns } from './sign-in-columns.ts'
import { ASSERTIONS_SWEPT, sweepFunction, sweepFunctions } from './sweep.ts'
import { tokenFunctions } from './token-functions.ts'

/**
 * The tables of `postgresState`, as migrations: a step that a release had is never edited. `prefix` is `"schema".` or
 * nothing.
 *
 * What changes with every use has no index, and pages have room, so that a new version of a row stays on its page and
 * no index hears of it (HOT). For the sweep there is `sweep_after` instead of the ends themselves (see lifetime). What
 * it leaves behind is cleaned up at 2 % of the table and not at 20 %, or the next sweep would have to step over
 * millions of dead entries.
 */
export const stateMigrations = (prefix: string): readonly MigrationStep[] => [
  `CREATE TABLE ${prefix}authority_families (
    sid text COLLATE "C" PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL,
    client_id text COLLATE "C",
    scope text NOT NULL,
    authenticated_at bigint NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    idle_expires_at bigint NOT NULL,
    sweep_after bigint NOT NULL,
    rotated_at bigint,
    offline boolean NOT NULL,
    -- How many calls got the current token and have not given it back; 0: it is somebody's for good.
    holders integer NOT NULL DEFAULT 0,
    user_agent text,
    session_sid text COLLATE "C",
    "authorization" text,
    code_digest text COLLATE "C",
    current_digest text COLLATE "C",
    previous_digest text COLLATE "C",
    sealed text,
    CHECK (code_digest IS NOT NULL OR current_digest IS NOT NULL),
    CHECK (previous_digest IS NULL OR (rotated_at IS NOT NULL AND sealed IS NOT NULL))
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX authority_families_user ON ${prefix}authority_families (user_id);
  CREATE INDEX authority_families_sweep ON ${prefix}authority_families (sweep_after);

  CREATE TABLE ${prefix}authority_browser_sessions (
    sid text COLLATE "C" PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL,
    authenticated_at bigint NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    idle_expires_at bigint NOT NULL,
    sweep_after bigint NOT NULL,
    user_agent text,
    client_ids text[] COLLATE "C" NOT NULL,
    digests text[] COLLATE "C" NOT NULL
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX authority_browser_sessions_user ON ${prefix}authority_browser_sessions (user_id);
  CREATE INDEX authority_browser_sessions_sweep ON ${prefix}authority_browser_sessions (sweep_after);

  CREATE TABLE ${prefix}authority_one_time_tokens (
    purpose text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (purpose, user_id),
    UNIQUE (digest, purpose)
  );
  CREATE INDEX authority_one_time_tokens_expires ON ${prefix}authority_one_time_tokens (expires_at);

  CREATE TABLE ${prefix}authority_consents (
    user_id text COLLATE "C" NOT NULL,
    client_id text COLLATE "C" NOT NULL,
    scopes text[] COLLATE "C" NOT NULL,
    granted_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (user_id, client_id)
  );
  CREATE INDEX authority_consents_expires ON ${prefix}authority_consents (expires_at);

  CREATE TABLE ${prefix}authority_keys (
    kid text COLLATE "C" PRIMARY KEY,
    alg text COLLATE "C" NOT NULL,
    sequence bigint NOT NULL,
    signs_from bigint NOT NULL,
    created_at bigint NOT NULL,
    public_jwk jsonb NOT NULL,
    sealed text NOT NULL,
    UNIQUE (alg, sequence)
  );
  ${lifetimeFunctions(prefix)}
  ${tokenFunctions(prefix)}
  ${sessionFunctions(prefix)}
  ${sweepFunctions(prefix)}`,

  // Whose state it is.
  {
    sql:
      `CREATE TABLE ${prefix}authority_issuer (id integer PRIMARY KEY CHECK (id = 1), issuer ` +
      'text COLLATE "C" NOT NULL)',
    minReader: 1
  },

  { sql: signInColumns(prefix), minReader: 1 },

  // Assertions of other parties that were claimed, since each counts once.
  {
    sql: `CREATE TABLE ${prefix}authority_assertions (digest text COLLATE "C" PRIMARY KEY, expires_at bigint NOT NULL);
  CREATE INDEX authority_assertions_expires ON ${prefix}authority_assertions (expires_at);
  ${sweepFunction(prefix, ASSERTIONS_SWEPT)}`,
    minReader: 1
  },

  // Wrong guesses at the codes of an owner, which count until that time.
  { sql: codeColumns(prefix), minReader: 1 }
]
