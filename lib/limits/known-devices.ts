import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * What one browser is known for at a time, up to three for each account (its password, its second factor, its
 * sessions); the one longest unused goes first.
 */
const MAX_ENTRIES = 12
/** 64 bits of an HMAC that only this service can try, 11 characters. */
const MAC_BYTES = 8
/** `<deviceId>.<macs>` and up to eleven more pairs of macs; each 22 characters of base64url. */
const TOKEN = /^[\w-]{22}(?:\.[\w-]{22}){1,12}$/

/** An account, and a value that is another one once its password has changed. */
export interface DeviceAccount {
  account: string
  password: string
}

/**
 * The device id of a token that was given to a browser after a sign-in to this account; `null` for any other.
 * `isCurrent`: whether the password is still the one of that sign-in. Whoever knew a former one is no better than a
 * stranger.
 *
 * Nothing is stored: each account's macs are bound to the device id and the account, so none can be made or moved
 * without `key`. The first is for the account alone, so that nothing has to be looked up for a token that is made up.
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
 * The token that makes a browser known for one more account. `newDeviceId` is used where `token` is not one of ours.
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
