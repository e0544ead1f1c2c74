import { createHmac } from 'node:crypto'
import { equalSecrets } from '../protocol/digest.ts'

/**
 * Maximum number of entries in the token of one browser, up to three per account (its password, its second factor, its
 * sessions). The entry that was made or renewed longest ago is dropped first.
 */
const MAX_ENTRIES = 12
/** 64 bits of an HMAC that only this service can compute: 11 characters. */
const MAC_BYTES = 8
/** `<deviceId>.<macs>` and up to eleven more pairs of MACs, each 22 characters of base64url. */
const KNOWN = /^[\w-]{22}(?:\.[\w-]{22}){1,12}$/

/** The device id and the entries of a token; empty for any other text. */
const partsOf = (token: string | undefined, format: RegExp): string[] =>
  token !== undefined && format.test(token) ? token.split('.') : []

/** The parts of an account in a MAC: its name, and a value that changes with its password. */
export interface DeviceAccount {
  account: string
  password: string
}

/**
 * The device id of a token that a browser got after a sign-in to this account, otherwise `null`. `isCurrent`: true if
 * the password has not changed since that sign-in, because a browser that knows a former password gets no privilege.
 *
 * Nothing is stored. The MACs of an account are bound to the device id and the account, so nobody can make or move a
 * MAC without `key`. The first MAC does not cover the password, so that a forged token is refused without a store read.
 */
export function verifyDevice(
  key: Uint8Array,
  token: string | undefined,
  account: string
): { deviceId: string; isCurrent(password: string): boolean } | null {
  const [deviceId, ...entries] = partsOf(token, KNOWN)
  if (deviceId === undefined) return null
  const own = macOf(key, deviceId, { account })
  const entry = entries.find((candidate) => equalSecrets(candidate.slice(0, own.length), own))
  return entry === undefined
    ? null
    : {
        deviceId,
        isCurrent: (password) => equalSecrets(entry.slice(own.length), macOf(key, deviceId, { account, password }))
      }
}

/**
 * Makes the token by which the browser is known for one more account. Uses `newDeviceId` if `token` is missing or
 * malformed.
 */
export function extendDevice(
  key: Uint8Array,
  token: string | undefined,
  { account, password }: DeviceAccount,
  newDeviceId: string
): string {
  const [deviceId = newDeviceId, ...entries] = partsOf(token, KNOWN)
  const own = macOf(key, deviceId, { account })
  const entry = own + macOf(key, deviceId, { account, password })
  return [deviceId, entry, ...entries.filter((other) => !other.startsWith(own))].slice(0, 1 + MAX_ENTRIES).join('.')
}

function macOf(
  key: Uint8Array,
  deviceId: string,
  { account, password }: { account: string; password?: string }
): string {
  const what =
    password === undefined
      ? `known-device\0${deviceId}\0${account}`
      : `known-device-password\0${deviceId}\0${account}\0${password}`
  return createHmac('sha256', key).update(what).digest().subarray(0, MAC_BYTES).toString('base64url')
}

/** Maximum number of accounts in the token of one browser. The account remembered longest ago is dropped first. */
const MAX_ACCOUNTS = 4
/** The length of the tag that finds the entry of an account. Only the MAC proves the entry. */
const TAG_BYTES = 6
/** 128 bits of an HMAC that only this service can compute. */
const REMEMBERED_MAC_BYTES = 16
const TAG_LENGTH = 8
const TIME_LENGTH = 8
/** `<deviceId>`, and for each account its tag, the second in which it was remembered (base 36), and the MAC. */
const REMEMBERED = /^[\w-]{22}(?:\.[\w-]{8}[0-9a-z]{8}[\w-]{22}){1,4}$/

/** Settings of remembered browsers, which are not asked for the second factor. */
export interface RememberedDevices {
  /** The first key makes tokens. Every key verifies them. */
  keys: readonly Uint8Array[]
  lifetimeMs: number
}

/** An account when it was remembered. The entry is void once the epoch or the password differs. */
interface RememberedAccount {
  userId: string
  /** Changes with every change of the user's factors, and when their devices are forgotten. */
  epoch: number
  passwordHash: string | null
}

/**
 * True if this browser got the token for this account in its present state, less than `lifetimeMs` ago, under one of
 * `keys`.
 */
export function isRemembered(
  keys: readonly Uint8Array[],
  token: string | undefined,
  account: RememberedAccount,
  { now, lifetimeMs }: { now: number; lifetimeMs: number }
): boolean {
  const [deviceId = '', ...entries] = partsOf(token, REMEMBERED)
  return keys.some((key) =>
    entries.some((entry) => {
      const time = entry.slice(TAG_LENGTH, TAG_LENGTH + TIME_LENGTH)
      return now - parseInt(time, 36) * 1000 < lifetimeMs && equalSecrets(entry, entryOf(key, deviceId, account, time))
    })
  )
}

/**
 * Makes the token that remembers the browser for one more account from `now` on, in milliseconds since the epoch.
 * Entries of other accounts keep their time, so that none lives longer. Uses `newDeviceId` if `token` is missing or
 * malformed.
 */
export function rememberAccount(
  [key = new Uint8Array()]: readonly Uint8Array[],
  token: string | undefined,
  account: RememberedAccount,
  now: number,
  newDeviceId: string
): string {
  const [deviceId = newDeviceId, ...entries] = partsOf(token, REMEMBERED)
  const entry = entryOf(
    key,
    deviceId,
    account,
    Math.floor(now / 1000)
      .toString(36)
      .padStart(TIME_LENGTH, '0')
  )
  return [deviceId, entry, ...entries.filter((other) => other.slice(0, TAG_LENGTH) !== entry.slice(0, TAG_LENGTH))]
    .slice(0, 1 + MAX_ACCOUNTS)
    .join('.')
}

function entryOf(
  key: Uint8Array,
  deviceId: string,
  { userId, epoch, passwordHash }: RememberedAccount,
  time: string
): string {
  const mac = (what: unknown[], bytes: number): string =>
    createHmac('sha256', key).update(JSON.stringify(what)).digest().subarray(0, bytes).toString('base64url')
  const tag = mac(['account', deviceId, userId], TAG_BYTES)
  return `${tag}${time}${mac(['remembered', deviceId, userId, time, epoch, passwordHash], REMEMBERED_MAC_BYTES)}`
}
