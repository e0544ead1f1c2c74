import { setImmediate } from 'node:timers/promises'
import type { AddedFactor, FactorStore, PasskeyFactor, TotpFactor, UserFactors } from '../../ports/factor-store.ts'
import { hasRegressed } from '../../protocol/sign-count.ts'
import { factorsOf, passkeyOf, totpOf } from '../sql/factor-rows.ts'
import { integer, text } from '../sql/rows.ts'
import { connect } from './database.ts'
import type { SqliteDatabase } from './database.ts'
import { FACTOR_MIGRATIONS, FACTORS } from './factor-tables.ts'
import { migrate } from './migrations.ts'
import { patient, patientStore } from './patience.ts'
import { expiredIn, SLICE } from './sweep.ts'

/** Of both kinds. */
const TABLES = ['authority_totp_factors', 'authority_passkeys'] as const

/**
 * Second factors in a SQLite file: one machine, any number of processes, durable. `db` is a database object of
 * `node:sqlite`, `better-sqlite3` or `libsql`, which may be that of the state or the users; leave no transaction of
 * your own open on it across an `await`. The tables are made at once, by versioned migrations. Rejects with the
 * driver's error (SQLITE_BUSY) where another process has the lock for more than 1.5 s, and with `TypeError` on a string
 * with a NUL or a lone surrogate.
 */
export function sqliteFactorStore(db: SqliteDatabase): FactorStore & Required<Pick<FactorStore, 'sweep'>> {
  const connection = connect(db)
  migrate(connection, 'factors', FACTOR_MIGRATIONS)
  const { query, change, execute, transaction } = connection

  const factorsBy = (userId: string): UserFactors => factorsOf(query(`${FACTORS} user_id = ?`, userId)[0])
  const storeCodes = (userId: string, digests: readonly string[]): void => {
    execute('DELETE FROM authority_recovery_codes WHERE user_id = ?', userId)
    execute(
      'INSERT INTO authority_recovery_codes (user_id, digest) SELECT ?, value FROM json_each(?)',
      userId,
      JSON.stringify(digests)
    )
  }
  const movedEpoch = (userId: string): number => {
    const [row] = change(
      `INSERT INTO authority_factor_users (user_id, device_epoch) VALUES (?, 1)
      ON CONFLICT (user_id) DO UPDATE SET device_epoch = device_epoch + 1 RETURNING device_epoch`,
      userId
    )
    if (row === undefined) throw new TypeError('The database answered an INSERT with no row.')
    return integer(row, 'device_epoch')
  }

  /** With the write lock from the start: what is decided on is what is there when it is written. */
  function add(
    userId: string,
    recoveryDigests: readonly string[],
    {
      isDuplicate,
      isFull,
      insert
    }: { isDuplicate(held: UserFactors): boolean; isFull(held: UserFactors): boolean; insert(): void }
  ): AddedFactor {
    return transaction(() => {
      const held = factorsBy(userId)
      if (isDuplicate(held)) return { outcome: 'duplicate' }
      if (isFull(held)) return { outcome: 'full' }
      insert()
      movedEpoch(userId)
      const codesStored = recoveryDigests.length > 0 && held.recoveryCodesLeft === 0
      if (codesStored) storeCodes(userId, recoveryDigests)
      return { outcome: 'added', codesStored }
    })
  }
  const isHeld = ({ totp, passkeys }: UserFactors, factorId: string): boolean =>
    [...totp, ...passkeys].some(({ id }) => id === factorId)

  const store: Omit<FactorStore, 'kind' | 'durable' | 'prepare' | 'sweep'> = {
    async findFactors(userId) {
      return factorsBy(userId)
    },
    async findByHandle(handle, credentialId) {
      const [row] = query(`${FACTORS} handle = ?`, handle)
      const factors = factorsOf(row)
      const passkey = factors.passkeys.find((one) => one.credentialId === credentialId)
      return row === undefined || passkey === undefined ? null : { userId: text(row, 'user_id'), passkey, factors }
    },
    async claimHandle(userId, candidate) {
      const [row] = change(
        `INSERT INTO authority_factor_users (user_id, handle) VALUES (?, ?)
        ON CONFLICT (user_id) DO UPDATE SET handle = coalesce(handle, excluded.handle) RETURNING handle`,
        userId,
        candidate
      )
      if (row === undefined) throw new TypeError('The database answered an INSERT with no row.')
      return text(row, 'handle')
    },

    addTotp: async ({ userId, factor, limit, recoveryDigests = [] }) =>
      add(userId, recoveryDigests, {
        isDuplicate: (held) => isHeld(held, factor.id),
        isFull: ({ totp }) => totp.length >= limit,
        insert() {
          execute(
            `INSERT INTO authority_totp_factors (user_id, id, sealed_secret, last_step, failures, disabled, name, created_at, last_used_at)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
            userId,
            factor.id,
            factor.sealedSecret,
            factor.lastStep,
            factor.failures,
            Number(factor.disabled),
            factor.name,
            factor.createdAt,
            factor.lastUsedAt
          )
        }
      }),
    addPasskey: async ({ userId, factor: passkey, limit, recoveryDigests = [] }) =>
      add(userId, recoveryDigests, {
        isDuplicate: (held) =>
          isHeld(held, passkey.id) || held.passkeys.some(({ credentialId }) => credentialId === passkey.credentialId),
        isFull: ({ passkeys }) => passkeys.length >= limit,
        insert() {
          execute(
            `INSERT INTO authority_passkeys (user_id, id, credential_id, public_key, alg, sign_count, transports, backup_eligible, backed_up,
            uv_initialized, aaguid, rp_id, name, created_at, last_used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
            userId,
            passkey.id,
            passkey.credentialId,
            passkey.publicKey,
            passkey.alg,
            passkey.signCount,
            JSON.stringify(passkey.transports),
            Number(passkey.backupEligible),
            Number(passkey.backedUp),
            Number(passkey.uvInitialized),
            passkey.aaguid,
            passkey.rpId,
            passkey.name,
            passkey.createdAt,
            passkey.lastUsedAt
          )
        }
      }),

    async useTotp({ userId, factorId, step, now, sealedSecret }) {
      return transaction(() => {
        const factor = oneOf<TotpFactor>(
          query('SELECT * FROM authority_totp_factors WHERE user_id = ? AND id = ?', userId, factorId).map(totpOf)
        )
        if (factor === null) return 'unknown'
        if (factor.disabled) return 'disabled'
        if (step <= factor.lastStep) return 'replayed'
        execute('UPDATE authority_totp_factors SET failures = 0 WHERE user_id = ? AND disabled = 0', userId)
        execute(
          'UPDATE authority_totp_factors SET last_step = ?, last_used_at = ?, sealed_secret = ? ' +
            'WHERE user_id = ? AND id = ?',
          step,
          now,
          sealedSecret ?? factor.sealedSecret,
          userId,
          factorId
        )
        return 'used'
      })
    },
    async usePasskey({ userId, credentialId, claim, claimExpiresAt, signCount, backedUp, now }) {
      return transaction(() => {
        const passkey = oneOf<PasskeyFactor>(
          query('SELECT * FROM authority_passkeys WHERE user_id = ? AND credential_id = ?', userId, credentialId).map(
            passkeyOf
          )
        )
        if (passkey === null) return { outcome: 'unknown' }
        if (query('SELECT 1 FROM authority_passkey_claims WHERE user_id = ? AND claim = ?', userId, claim).length > 0)
          return { outcome: 'replayed' }
        const regressed = hasRegressed(passkey.signCount, signCount)
        if (regressed && !passkey.backupEligible) return { outcome: 'regressed' }
        execute(
          'INSERT INTO authority_passkey_claims (user_id, claim, expires_at) VALUES (?, ?, ?)',
          userId,
          claim,
          claimExpiresAt
        )
        execute(
          'UPDATE authority_passkeys SET sign_count = ?, backed_up = ?, last_used_at = ? WHERE user_id = ? AND id = ?',
          signCount,
          Number(backedUp),
          now,
          userId,
          passkey.id
        )
        return { outcome: 'used', regressed }
      })
    },
    async useRecoveryCode({ userId, digest }) {
      return transaction(() => {
        const used =
          change(
            'DELETE FROM authority_recovery_codes WHERE user_id = ? AND digest = ? RETURNING 1 AS used',
            userId,
            digest
          ).length > 0
        return used ? { outcome: 'used', left: factorsBy(userId).recoveryCodesLeft } : { outcome: 'unknown' }
      })
    },
    async replaceRecoveryCodes(userId, digests) {
      return transaction(() => {
        const { totp, passkeys } = factorsBy(userId)
        if (totp.length + passkeys.length === 0) return false
        storeCodes(userId, digests)
        return true
      })
    },
    async countFailure({ userId, max }) {
      const counted = change(
        'UPDATE authority_totp_factors SET failures = failures + 1, disabled = failures + 1 >= ? ' +
          'WHERE user_id = ? AND disabled = 0 RETURNING disabled',
        max,
        userId
      )
      if (counted.length === 0) return 'unknown'
      return counted.some((row) => integer(row, 'disabled') === 1) ? 'disabled' : 'counted'
    },

    async removeFactor({ userId, factorId, keepOne }) {
      return transaction(() => {
        const held = factorsBy(userId)
        if (!isHeld(held, factorId)) return 'unknown'
        const others = [...held.totp, ...held.passkeys].filter(({ id }) => id !== factorId)
        if (keepOne && !others.some((factor) => !('disabled' in factor) || !factor.disabled)) return 'last'
        for (const table of TABLES) execute(`DELETE FROM ${table} WHERE user_id = ? AND id = ?`, userId, factorId)
        if (others.length === 0) storeCodes(userId, [])
        movedEpoch(userId)
        return 'removed'
      })
    },
    async renameFactor({ userId, factorId, name }) {
      return transaction(() =>
        TABLES.some(
          (table) =>
            change(`UPDATE ${table} SET name = ? WHERE user_id = ? AND id = ? RETURNING id`, name, userId, factorId)
              .length > 0
        )
      )
    },
    async forgetDevices(userId) {
      return movedEpoch(userId)
    },
    async removeFactorsOfUser(userId) {
      return transaction(() => {
        if (query('SELECT 1 FROM authority_factor_users WHERE user_id = ?', userId).length === 0) return 0
        storeCodes(userId, [])
        movedEpoch(userId)
        return TABLES.flatMap((table) =>
          change(`DELETE FROM ${table} WHERE user_id = ? RETURNING 1 AS removed`, userId)
        ).length
      })
    }
  }

  return {
    kind: 'sqlite',
    durable: true,
    ...patientStore(store),
    async sweep(now) {
      while (
        (await patient(async () => change(expiredIn('authority_passkey_claims', 'rowid', 'expires_at <= ?'), now)))
          .length === SLICE
      )
        await setImmediate()
    }
  }
}

const oneOf = <Factor>([factor]: readonly Factor[]): Factor | null => factor ?? null
