import type { PasskeyFactor, TotpFactor, UserFactors } from '../../ports/factor-store.ts'
import { flag, integer, rowsIn, text, textOrNull, texts } from './rows.ts'
import type { Row } from './rows.ts'

const integerOrNull = (row: Row, column: string): number | null => (row[column] === null ? null : integer(row, column))

export function totpOf(row: Row): TotpFactor {
  return {
    id: text(row, 'id'),
    sealedSecret: text(row, 'sealed_secret'),
    lastStep: integer(row, 'last_step'),
    failures: integer(row, 'failures'),
    disabled: flag(row, 'disabled'),
    name: textOrNull(row, 'name'),
    createdAt: integer(row, 'created_at'),
    lastUsedAt: integerOrNull(row, 'last_used_at')
  }
}

export function passkeyOf(row: Row): PasskeyFactor {
  return {
    id: text(row, 'id'),
    credentialId: text(row, 'credential_id'),
    publicKey: text(row, 'public_key'),
    alg: integer(row, 'alg'),
    signCount: integer(row, 'sign_count'),
    transports: texts(row, 'transports'),
    backupEligible: flag(row, 'backup_eligible'),
    backedUp: flag(row, 'backed_up'),
    uvInitialized: flag(row, 'uv_initialized'),
    aaguid: textOrNull(row, 'aaguid'),
    rpId: text(row, 'rp_id'),
    name: textOrNull(row, 'name'),
    createdAt: integer(row, 'created_at'),
    lastUsedAt: integerOrNull(row, 'last_used_at')
  }
}

/** A row of a user, with their factors as JSON of rows. */
export function factorsOf(row: Row | undefined): UserFactors {
  if (row === undefined) return { handle: null, totp: [], passkeys: [], recoveryCodesLeft: 0, deviceEpoch: 0 }
  return {
    handle: textOrNull(row, 'handle'),
    totp: added(rowsIn(row, 'totp')).map(totpOf),
    passkeys: added(rowsIn(row, 'passkeys')).map(passkeyOf),
    recoveryCodesLeft: integer(row, 'recovery_codes_left'),
    deviceEpoch: integer(row, 'device_epoch')
  }
}

/** In the order in which they were added: an aggregate has none. */
const added = (rows: Row[]): Row[] => rows.toSorted((a, b) => integer(a, 'place') - integer(b, 'place'))
