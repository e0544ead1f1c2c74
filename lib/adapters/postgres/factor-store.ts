import type { AddedFactor, FactorStore, UsedPasskey } from '../../ports/factor-store.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { factorsOf } from '../sql/factor-rows.ts'
import { flag, integer, text } from '../sql/rows.ts'
import type { Row } from '../sql/rows.ts'
import { quoted } from './database.ts'
import type { PostgresDatabase, PostgresValue } from './database.ts'
import { FACTOR_RIGHTS, factorMigrations, SWEPT_CLAIMS } from './factor-tables.ts'
import { connect } from './migrations.ts'
import { requireRights } from './rights.ts'
import { postgresSweep } from './sweep.ts'

export interface PostgresFactorStoreOptions {
  /**
   * The schema that holds the tables, as of `postgresState`, and it may be the same. Default: the search path decides.
   */
  schema?: string | undefined
  /** As of `postgresState`. Default true. */
  namedStatements?: boolean | undefined
}

const ADDED: Readonly<Record<string, AddedFactor>> = {
  added: { outcome: 'added', codesStored: false },
  'added with codes': { outcome: 'added', codesStored: true },
  duplicate: { outcome: 'duplicate' },
  full: { outcome: 'full' }
}
const USED: Readonly<Record<string, UsedPasskey>> = {
  used: { outcome: 'used', regressed: false },
  'used though regressed': { outcome: 'used', regressed: true },
  replayed: { outcome: 'replayed' },
  regressed: { outcome: 'regressed' },
  unknown: { outcome: 'unknown' }
}
const words = <Word extends string>(...all: Word[]): Readonly<Record<string, Word>> =>
  Object.fromEntries(all.map((word) => [word, word]))
const TOTP_USES = words('used', 'replayed', 'disabled', 'unknown')
const COUNTED = words('counted', 'disabled', 'unknown')
const REMOVED = words('removed', 'last', 'unknown')

/**
 * Second factors in PostgreSQL (12 or newer): any number of instances, durable. `db` is anything with `query(text,
 * params)`: a `Pool` of `pg`, or PGlite, and may be that of the state or the users. Every operation is one statement
 * and one transaction; the isolation must be READ COMMITTED, the default. The tables are made by versioned migrations,
 * by `prepare` or at the first use. Rejects with an error that has the SQLSTATE as its `code`, and no value of a row or
 * parameter, on an outage and on a string that PostgreSQL can't store.
 */
export function postgresFactorStore(
  db: PostgresDatabase,
  { schema, namedStatements = true, ...others }: PostgresFactorStoreOptions = {}
): Required<FactorStore> {
  noOthers('postgresFactorStore', others)
  const prefix = schema === undefined ? '' : `${quoted(schema, 'schema')}.`
  const { query, prepare } = connect(db, {
    component: 'factors',
    steps: factorMigrations(prefix),
    prefix,
    named: namedStatements
  })

  /** One statement reads all: two would see what another instance has changed in between. */
  const FACTORS = `SELECT user_id, handle, device_epoch,
    (SELECT coalesce(json_agg(app), '[]') FROM ${prefix}authority_totp_factors AS app WHERE app.user_id = users.user_id) AS totp,
    (SELECT coalesce(json_agg(passkey), '[]') FROM ${prefix}authority_passkeys AS passkey WHERE passkey.user_id = users.user_id) AS passkeys,
    (SELECT count(*) FROM ${prefix}authority_recovery_codes AS codes WHERE codes.user_id = users.user_id) AS recovery_codes_left
    FROM ${prefix}authority_factor_users AS users`

  /** What a function of the tables answered. */
  async function call(name: string, parameters: string, ...values: PostgresValue[]): Promise<Row> {
    const [row] = await query(`SELECT ${prefix}authority_${name}(${parameters}) AS answer`, ...values)
    if (row === undefined) throw new TypeError('The database gave no answer.')
    return row
  }
  function outcomeIn<Outcome>(row: Row, outcomes: Readonly<Record<string, Outcome>>): Outcome {
    const outcome = outcomes[text(row, 'answer')]
    if (outcome === undefined) throw new TypeError('The database gave an outcome that is none.')
    return outcome
  }
  const add = async (
    userId: string,
    isPasskey: boolean,
    row: object,
    limit: number,
    digests: readonly string[] = []
  ): Promise<AddedFactor> =>
    outcomeIn(
      await call(
        'add_factor',
        '$1, $2, $3::text::json, $4, $5::text::json',
        userId,
        isPasskey,
        JSON.stringify(row),
        limit,
        JSON.stringify(digests)
      ),
      ADDED
    )

  return {
    kind: 'postgres',
    durable: true,

    async findFactors(userId) {
      return factorsOf((await query(`${FACTORS} WHERE user_id = $1`, userId))[0])
    },
    async findByHandle(handle, credentialId) {
      const [row] = await query(`${FACTORS} WHERE handle = $1`, handle)
      const factors = factorsOf(row)
      const passkey = factors.passkeys.find((one) => one.credentialId === credentialId)
      return row === undefined || passkey === undefined ? null : { userId: text(row, 'user_id'), passkey, factors }
    },
    async claimHandle(userId, candidate) {
      const [row] = await query(
        `INSERT INTO ${prefix}authority_factor_users AS users (user_id, handle) VALUES ($1, $2)
        ON CONFLICT (user_id) DO UPDATE SET handle = coalesce(users.handle, excluded.handle) RETURNING handle`,
        userId,
        candidate
      )
      if (row === undefined) throw new TypeError('The database answered an INSERT with no row.')
      return text(row, 'handle')
    },

    addTotp: ({ userId, factor, limit, recoveryDigests }) =>
      add(
        userId,
        false,
        {
          id: factor.id,
          sealed_secret: factor.sealedSecret,
          last_step: factor.lastStep,
          failures: factor.failures,
          disabled: factor.disabled,
          name: factor.name,
          created_at: factor.createdAt,
          last_used_at: factor.lastUsedAt
        },
        limit,
        recoveryDigests
      ),
    addPasskey: ({ userId, factor: passkey, limit, recoveryDigests }) =>
      add(
        userId,
        true,
        {
          id: passkey.id,
          credential_id: passkey.credentialId,
          public_key: passkey.publicKey,
          alg: passkey.alg,
          sign_count: passkey.signCount,
          transports: passkey.transports,
          backup_eligible: passkey.backupEligible,
          backed_up: passkey.backedUp,
          uv_initialized: passkey.uvInitialized,
          aaguid: passkey.aaguid,
          rp_id: passkey.rpId,
          name: passkey.name,
          created_at: passkey.createdAt,
          last_used_at: passkey.lastUsedAt
        },
        limit,
        recoveryDigests
      ),

    async useTotp({ userId, factorId, step, now, sealedSecret }) {
      return outcomeIn(
        await call('use_totp', '$1, $2, $3, $4, $5', userId, factorId, step, now, sealedSecret ?? null),
        TOTP_USES
      )
    },
    async usePasskey({ userId, credentialId, claim, claimExpiresAt, signCount, backedUp, now }) {
      return outcomeIn(
        await call(
          'use_passkey',
          '$1, $2, $3, $4, $5, $6, $7',
          userId,
          credentialId,
          claim,
          claimExpiresAt,
          signCount,
          backedUp,
          now
        ),
        USED
      )
    },
    async useRecoveryCode({ userId, digest }) {
      const row = await call('use_recovery_code', '$1, $2', userId, digest)
      return row['answer'] === null ? { outcome: 'unknown' } : { outcome: 'used', left: integer(row, 'answer') }
    },
    async replaceRecoveryCodes(userId, digests) {
      return flag(await call('replace_recovery_codes', '$1, $2::text::json', userId, JSON.stringify(digests)), 'answer')
    },
    async countFailure({ userId, max }) {
      return outcomeIn(await call('count_totp_failure', '$1, $2', userId, max), COUNTED)
    },

    async removeFactor({ userId, factorId, keepOne }) {
      return outcomeIn(await call('remove_factor', '$1, $2, $3', userId, factorId, keepOne), REMOVED)
    },
    async renameFactor({ userId, factorId, name }) {
      return (
        (
          await query(
            `WITH app AS (UPDATE ${prefix}authority_totp_factors SET name = $3 WHERE user_id = $1 AND id = $2 RETURNING id),
          passkey AS (UPDATE ${prefix}authority_passkeys SET name = $3 WHERE user_id = $1 AND id = $2 RETURNING id)
        SELECT id FROM app UNION ALL SELECT id FROM passkey`,
            userId,
            factorId,
            name
          )
        ).length > 0
      )
    },
    async forgetDevices(userId) {
      return integer(await call('move_device_epoch', '$1', userId), 'answer')
    },
    async removeFactorsOfUser(userId) {
      return integer(await call('remove_factors', '$1', userId), 'answer')
    },

    async prepare() {
      await prepare()
      // A removal of nothing does what a removal does, so the start finds out whether the role can write. Nobody has an
      // empty id.
      await requireRights(query, { what: 'postgresFactorStore', prefix, rights: FACTOR_RIGHTS }, async () => {
        await call('remove_factors', '$1', '')
      })
    },
    sweep: postgresSweep(query, prefix, [SWEPT_CLAIMS])
  }
}
