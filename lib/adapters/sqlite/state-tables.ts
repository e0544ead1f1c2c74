import type { MigrationStep } from '../sql/migration-steps.ts'

/** The tables of `sqliteState`, as migrations: a step that a release had is never edited. */
export const STATE_MIGRATIONS: readonly MigrationStep[] = [
  `CREATE TABLE authority_families (
    sid TEXT PRIMARY KEY NOT NULL,
    user_id TEXT NOT NULL,
    client_id TEXT,
    scope TEXT NOT NULL,
    authenticated_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    idle_expires_at INTEGER NOT NULL,
    user_agent TEXT,
    current_digest TEXT NOT NULL,
    previous_digest TEXT,
    sealed TEXT,
    rotated_at INTEGER
  ) STRICT;
  CREATE INDEX authority_families_user ON authority_families (user_id, created_at);
  CREATE INDEX authority_families_expires ON authority_families (expires_at);
  CREATE INDEX authority_families_idle_expires ON authority_families (idle_expires_at);

  CREATE TABLE authority_one_time_tokens (
    purpose TEXT NOT NULL,
    user_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (purpose, user_id),
    UNIQUE (purpose, digest)
  ) STRICT;
  CREATE INDEX authority_one_time_tokens_expires ON authority_one_time_tokens (expires_at);

  CREATE TABLE authority_keys (
    kid TEXT PRIMARY KEY NOT NULL,
    alg TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    signs_from INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    public_jwk TEXT NOT NULL,
    sealed TEXT NOT NULL,
    UNIQUE (alg, sequence)
  ) STRICT;`,

  // Families that began with an authorization code, and codes: a code is a family without a token. A table made anew,
  // because SQLite can't take NOT NULL from a column.
  `CREATE TABLE authority_families_2 (
    sid TEXT PRIMARY KEY NOT NULL,
    user_id TEXT NOT NULL,
    client_id TEXT,
    scope TEXT NOT NULL,
    authenticated_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    idle_expires_at INTEGER NOT NULL,
    user_agent TEXT,
    session_sid TEXT,
    offline INTEGER NOT NULL DEFAULT 1 CHECK (offline IN (0, 1)),
    authorization TEXT,
    code_digest TEXT,
    current_digest TEXT,
    previous_digest TEXT,
    sealed TEXT,
    rotated_at INTEGER,
    CHECK (code_digest IS NOT NULL OR current_digest IS NOT NULL)
  ) STRICT;
  INSERT INTO authority_families_2 (sid, user_id, client_id, scope, authenticated_at, created_at, last_used_at, expires_at,
      idle_expires_at, user_agent, current_digest, previous_digest, sealed, rotated_at)
    SELECT sid, user_id, client_id, scope, authenticated_at, created_at, last_used_at, expires_at, idle_expires_at, user_agent,
      current_digest, previous_digest, sealed, rotated_at FROM authority_families ORDER BY rowid;
  DROP TABLE authority_families;
  ALTER TABLE authority_families_2 RENAME TO authority_families;
  CREATE INDEX authority_families_user ON authority_families (user_id, created_at);
  CREATE INDEX authority_families_expires ON authority_families (expires_at);
  CREATE INDEX authority_families_idle_expires ON authority_families (idle_expires_at);

  CREATE TABLE authority_browser_sessions (
    sid TEXT PRIMARY KEY NOT NULL,
    user_id TEXT NOT NULL,
    authenticated_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    idle_expires_at INTEGER NOT NULL,
    user_agent TEXT,
    client_ids TEXT NOT NULL,
    digests TEXT NOT NULL
  ) STRICT;
  CREATE INDEX authority_browser_sessions_user ON authority_browser_sessions (user_id, created_at);
  CREATE INDEX authority_browser_sessions_expires ON authority_browser_sessions (expires_at);
  CREATE INDEX authority_browser_sessions_idle_expires ON authority_browser_sessions (idle_expires_at);

  CREATE TABLE authority_consents (
    user_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    scopes TEXT NOT NULL,
    granted_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, client_id)
  ) STRICT;
  CREATE INDEX authority_consents_expires ON authority_consents (expires_at);`,

  // How many calls got the current token and have not given it back; 0: it is somebody's for good.
  'ALTER TABLE authority_families ADD COLUMN holders INTEGER NOT NULL DEFAULT 0',

  // Whose state it is.
  {
    sql: 'CREATE TABLE authority_issuer (id INTEGER PRIMARY KEY CHECK (id = 1), issuer TEXT NOT NULL) STRICT',
    minReader: 3
  },

  // How their user was authenticated. NULL: by a password.
  {
    sql: `ALTER TABLE authority_families ADD COLUMN acr TEXT;
  ALTER TABLE authority_families ADD COLUMN amr TEXT;
  ALTER TABLE authority_browser_sessions ADD COLUMN methods TEXT`,
    minReader: 3
  },

  // Assertions of other parties that were claimed, since each counts once.
  {
    sql: `CREATE TABLE authority_assertions (digest TEXT PRIMARY KEY NOT NULL, expires_at INTEGER NOT NULL) STRICT;
  CREATE INDEX authority_assertions_expires ON authority_assertions (expires_at)`,
    minReader: 3
  },

  // Wrong guesses at the codes of an owner, which count until that time.
  {
    sql: `ALTER TABLE authority_one_time_tokens ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE authority_one_time_tokens ADD COLUMN failures_until INTEGER NOT NULL DEFAULT 0`,
    minReader: 3
  }
]
