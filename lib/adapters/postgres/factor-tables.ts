import type { MigrationStep } from '../sql/migration-steps.ts'
import { factorFunctions } from './factor-functions.ts'
import { type Swept, sweepFunction } from './sweep.ts'

export const SWEPT_CLAIMS: Swept = {
  name: 'passkey_claims',
  key: 'ctid',
  type: 'tid',
  due: 'expires_at',
  ended: 'expires_at <= now_ms'
}

/** What the statements of the factor store do with each table. A test holds them, and the guide, to that. */
export const FACTOR_RIGHTS: Readonly<Record<string, readonly string[]>> = {
  authority_factor_users: ['SELECT', 'INSERT', 'UPDATE'],
  authority_totp_factors: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  authority_passkeys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  authority_recovery_codes: ['SELECT', 'INSERT', 'DELETE'],
  authority_passkey_claims: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  authority_migrations: ['SELECT']
}

/**
 * The tables of `postgresFactorStore`, as migrations: a step that a release had is never edited. `prefix` is
 * `"schema".` or nothing.
 */
export const factorMigrations = (prefix: string): readonly MigrationStep[] => [
  `CREATE TABLE ${prefix}authority_factor_users (
    user_id text COLLATE "C" PRIMARY KEY,
    handle text COLLATE "C" UNIQUE,
    device_epoch bigint NOT NULL DEFAULT 0
  );

  CREATE TABLE ${prefix}authority_totp_factors (
    user_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    place bigint GENERATED ALWAYS AS IDENTITY,
    sealed_secret text NOT NULL,
    last_step bigint NOT NULL,
    failures integer NOT NULL,
    disabled boolean NOT NULL,
    name text,
    created_at bigint NOT NULL,
    last_used_at bigint,
    PRIMARY KEY (user_id, id)
  ) WITH (fillfactor = 80);

  CREATE TABLE ${prefix}authority_passkeys (
    user_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    place bigint GENERATED ALWAYS AS IDENTITY,
    credential_id text COLLATE "C" NOT NULL,
    public_key text NOT NULL,
    alg integer NOT NULL,
    sign_count bigint NOT NULL,
    transports text[] NOT NULL,
    backup_eligible boolean NOT NULL,
    backed_up boolean NOT NULL,
    uv_initialized boolean NOT NULL,
    aaguid text,
    rp_id text NOT NULL,
    name text,
    created_at bigint NOT NULL,
    last_used_at bigint,
    PRIMARY KEY (user_id, id),
    UNIQUE (user_id, credential_id)
  ) WITH (fillfactor = 80);

  CREATE TABLE ${prefix}authority_recovery_codes (
    user_id text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, digest)
  );

  CREATE TABLE ${prefix}authority_passkey_claims (
    user_id text COLLATE "C" NOT NULL,
    claim text COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (user_id, claim)
  );
  CREATE INDEX authority_passkey_claims_expires ON ${prefix}authority_passkey_claims (expires_at);
  ${factorFunctions(prefix)}
  ${sweepFunction(prefix, SWEPT_CLAIMS)}`
]
