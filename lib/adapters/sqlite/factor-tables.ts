import type { MigrationStep } from '../sql/migration-steps.ts'

/** The tables of `sqliteFactorStore`, as migrations: a step that a release had is never edited. */
export const FACTOR_MIGRATIONS: readonly MigrationStep[] = [
  `CREATE TABLE authority_factor_users (
    user_id TEXT PRIMARY KEY NOT NULL,
    handle TEXT UNIQUE,
    device_epoch INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  CREATE TABLE authority_totp_factors (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    sealed_secret TEXT NOT NULL,
    last_step INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    disabled INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    name TEXT,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    PRIMARY KEY (user_id, id)
  ) STRICT;

  CREATE TABLE authority_passkeys (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    public_key TEXT NOT NULL,
    alg INTEGER NOT NULL,
    sign_count INTEGER NOT NULL,
    transports TEXT NOT NULL,
    backup_eligible INTEGER NOT NULL CHECK (backup_eligible IN (0, 1)),
    backed_up INTEGER NOT NULL CHECK (backed_up IN (0, 1)),
    uv_initialized INTEGER NOT NULL CHECK (uv_initialized IN (0, 1)),
    aaguid TEXT,
    rp_id TEXT NOT NULL,
    name TEXT,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    PRIMARY KEY (user_id, id),
    UNIQUE (user_id, credential_id)
  ) STRICT;

  CREATE TABLE authority_recovery_codes (
    user_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (user_id, digest)
  ) STRICT;

  CREATE TABLE authority_passkey_claims (
    user_id TEXT NOT NULL,
    claim TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, claim)
  ) STRICT;
  CREATE INDEX authority_passkey_claims_expires ON authority_passkey_claims (expires_at)`
]

const objectOf = (columns: string): string =>
  `json_object('place', rowid, ${columns
    .split(' ')
    .map((column) => `'${column}', ${column}`)
    .join(', ')})`

const PASSKEY_COLUMNS =
  'id credential_id public_key alg sign_count transports backup_eligible backed_up uv_initialized ' +
  'aaguid rp_id name created_at last_used_at'

/**
 * All of a user, as one statement reads it: two would see what another process has changed in between. Followed by a
 * condition.
 */
export const FACTORS = `SELECT user_id, handle, device_epoch,
  (SELECT json_group_array(${objectOf('id sealed_secret last_step failures disabled name created_at last_used_at')})
    FROM authority_totp_factors AS factors WHERE factors.user_id = users.user_id) AS totp,
  (SELECT json_group_array(${objectOf(PASSKEY_COLUMNS)})
    FROM authority_passkeys AS factors WHERE factors.user_id = users.user_id) AS passkeys,
  (SELECT count(*) FROM authority_recovery_codes AS codes WHERE codes.user_id = users.user_id) AS recovery_codes_left
  FROM authority_factor_users AS users WHERE`
