import { hash } from 'node:crypto'
import { deepEqual } from 'node:assert/strict'
import type {
  FactorAddition,
  FactorStore,
  PasskeyFactor,
  PasskeyUse,
  TotpFactor,
  TotpUse,
  UserFactors
} from '../../../lib/ports/factor-store.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import type { Closable } from '../../../lib/testing/contract.ts'
import { T0 } from './token-fixtures.ts'

/** The subject of `factorStoreContract`. */
export interface FactorStoreSubject extends Closable {
  store: FactorStore
}

export const ALICE = 'user-19367'
export const BOB = 'user-104981'

/** A handle begins with the partition of its user. */
export const handleOf = (label: string, userId = ALICE): string => partitionOf(userId) + digestOf(label)

/** 43 characters, as of recovery codes and of claims. */
export const digestOf = (label: string): string => hash('sha256', label, 'base64url')

/** Digests of ten recovery codes. */
export const codesOf = (label: string): string[] =>
  Array.from({ length: 10 }, (_, index) => digestOf(`${label} ${index}`))

export const totp = (fields: Partial<TotpFactor> = {}): TotpFactor => ({
  id: 'totp-1',
  sealedSecret: 'sealed-1',
  lastStep: 100,
  failures: 0,
  knownFailures: 0,
  disabled: false,
  name: 'phone',
  createdAt: T0,
  lastUsedAt: null,
  provisional: false,
  ...fields
})

export const passkey = (fields: Partial<PasskeyFactor> = {}): PasskeyFactor => ({
  id: 'passkey-1',
  credentialId: 'credential-1',
  publicKey: 'MFkwEwYHKoZIzj0CAQ',
  alg: -7,
  signCount: 0,
  transports: ['internal', 'hybrid'],
  backupEligible: false,
  backedUp: false,
  uvInitialized: true,
  aaguid: 'fbfc3007-154e-4ecc-8c0b-6e020557d7bd',
  rpId: 'example.com',
  name: 'laptop',
  createdAt: T0,
  lastUsedAt: null,
  provisional: false,
  ...fields
})

export const totpAddition = (fields: Partial<FactorAddition<TotpFactor>> = {}): FactorAddition<TotpFactor> => ({
  userId: ALICE,
  factor: totp(),
  limit: 5,
  ...fields
})
export const passkeyAddition = (
  fields: Partial<FactorAddition<PasskeyFactor>> = {}
): FactorAddition<PasskeyFactor> => ({ userId: ALICE, factor: passkey(), limit: 20, ...fields })
export const totpUse = (fields: Partial<TotpUse> = {}): TotpUse => ({
  userId: ALICE,
  factorId: 'totp-1',
  step: 101,
  now: T0 + 5,
  ...fields
})
export const passkeyUse = (fields: Partial<PasskeyUse> = {}): PasskeyUse => ({
  userId: ALICE,
  credentialId: 'credential-1',
  claim: digestOf('challenge'),
  claimExpiresAt: T0 + 600_000,
  signCount: 0,
  backedUp: false,
  now: T0 + 5,
  ...fields
})

export const appOf = async (store: FactorStore, id = 'totp-1', userId = ALICE): Promise<TotpFactor | undefined> =>
  (await store.findFactors(userId)).totp.find((one) => one.id === id)

export const NOTHING: UserFactors = {
  handle: null,
  totp: [],
  passkeys: [],
  recoveryCodesLeft: 0,
  twoStepChosen: false,
  deviceEpoch: 0
}

/** Runs the call, and asserts that the user's factors are unchanged. */
export async function unchanged<Answer>(
  store: FactorStore,
  userId: string,
  act: () => Promise<Answer>
): Promise<Answer> {
  const before = await store.findFactors(userId)
  const answer = await act()
  deepEqual(await store.findFactors(userId), before, 'nothing is written')
  return answer
}

/** A case of the suite, on a store of its own. */
export type DefineFactorCase = (
  name: string,
  check: (store: FactorStore, subject: FactorStoreSubject) => Promise<void>
) => void
