import type { PasskeyFactor, TotpFactor } from '../ports/factor-store.ts'
import { type HeldFactors, noFactors } from './factors.ts'

type Fields = Readonly<Record<string, unknown>>
type Types<Factor> = Partial<Record<keyof Factor, 'string' | 'number' | 'boolean'>>

/** The fields that the rules decide on. The others are checked where a host reads them. */
const TOTP: Types<TotpFactor> = {
  id: 'string',
  sealedSecret: 'string',
  lastStep: 'number',
  failures: 'number',
  knownFailures: 'number',
  disabled: 'boolean',
  provisional: 'boolean'
}
const PASSKEY: Types<PasskeyFactor> = {
  id: 'string',
  credentialId: 'string',
  signCount: 'number',
  backupEligible: 'boolean',
  provisional: 'boolean'
}

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null

const areAll = (values: unknown, types: Readonly<Record<string, string>>): boolean =>
  Array.isArray(values) &&
  values.every(
    (value) => isObject(value) && Object.entries(types).every(([field, type]) => typeof value[field] === type)
  )

/** Whether this release can read the value. */
export function isHeld(value: unknown): value is HeldFactors {
  if (!isObject(value)) return false
  const { form, userId, handle, codes, twoStepChosen, epoch } = value
  return (
    form === 1 &&
    typeof userId === 'string' &&
    (handle === null || typeof handle === 'string') &&
    areAll(value['totp'], TOTP) &&
    areAll(value['passkeys'], PASSKEY) &&
    Array.isArray(codes) &&
    codes.every((code) => typeof code === 'string') &&
    typeof twoStepChosen === 'boolean' &&
    Number.isSafeInteger(epoch)
  )
}

/**
 * The factors of whoever has this record. Throws where the record can't be read: a user whose factors are unreadable
 * must not pass for a user without factors.
 */
export function heldIn(value: unknown): HeldFactors {
  if (!isHeld(value)) throw new TypeError('A record of second factors has a form that this release cannot read.')
  return value
}

/** The factors of this user, who has none without a record. Throws where the record belongs to another user. */
export function heldBy(userId: string, value: unknown): HeldFactors {
  if (value === null) return noFactors(userId)
  const held = heldIn(value)
  if (held.userId !== userId) throw new TypeError('A record of second factors belongs to another user.')
  return held
}
