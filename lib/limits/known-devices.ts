import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Entries in the token of one browser, up to three per account (its password, its second factor, its sessions). The
 * least recently used entry goes first.
 */
const MAX_ENTRIES = 12
/** 64 bits of an HMAC that only this service can compute: 11 characters. */
const MAC_BYTES = 8
/** `<deviceId>.<macs>` and up to eleven more pairs of MACs, each 22 characters of base64url. */
const TOKEN = /^[\w-]{22}(?:\.[\w-]{22}){1,12}$/

/** The parts of an account in a MAC: its name, and a value that changes with its password. */
export interface DeviceAccount {
  account: string
  password: string
}

/**
 * The device id of a token that a browser got after a sign-in to this account, otherwise `null`. `isCurrent` says
 * whether the password is still the one of that sign-in, because a browser that knows a former password gets no
 * privilege.
 *
 * Nothing is stored. The MACs of an account are bound to the device id and the account, so nobody can make or move one
 * without `key`. The first MAC covers the account only, so that a forged token costs no store read.
 */
export function verifyDevice(
  key: Uint8Array,
  token: string | undefined,
  account: string
): { deviceId: string; isCurrent(password: string): boolean } | null {
  if (token === undefined || !TOKEN.test(token)) return null
  const [deviceId = '', ...entries] = token.split('.')
  const own = macOf(key, deviceId, { account })
  const entry = entries.find((candidate) => equal(candidate.slice(0, own.length), own))
  return entry === undefined
    ? null
    : { deviceId, isCurrent: (password) => equal(entry.slice(own.length), macOf(key, deviceId, { account, password })) }
}

/**
 * Makes the token by which the browser is known for one more account. Uses `newDeviceId` if `token` is not one of ours.
 */
export function extendDevice(
  key: Uint8Array,
  token: string | undefined,
  { account, password }: DeviceAccount,
  newDeviceId: string
): string {
  const [deviceId = newDeviceId, ...entries] = token !== undefined && TOKEN.test(token) ? token.split('.') : []
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

function equal(left: string, right: string): boolean {
  return left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right))
}
