import { createHmac, timingSafeEqual } from 'node:crypto'

/** Accounts that one browser is known for at a time; the one longest unused goes first. */
const MAX_ACCOUNTS = 4
/** 128 bits of the HMAC, 22 characters. */
const MAC_BYTES = 16
/** `<deviceId>.<mac>` and up to three more macs; each 22 characters of base64url. */
const TOKEN = /^[\w-]{22}(?:\.[\w-]{22}){1,4}$/

/**
 * The device id of a token that was given to a browser after a sign-in to this account; `null` for any other.
 * Nothing is stored: each account's mac is bound to the device id and the account, so none can be made or moved without `key`.
 */
export function verifyDevice (key: Uint8Array, token: string | undefined, account: string): string | null {
  if (token === undefined || !TOKEN.test(token)) return null
  const [deviceId = '', ...macs] = token.split('.')
  const expected = Buffer.from(macOf(key, deviceId, account))
  let known = false
  for (const mac of macs) known = timingSafeEqual(Buffer.from(mac), expected) || known
  return known ? deviceId : null
}

/** The token that makes a browser known for one more account. `newDeviceId` is used where `token` is none of ours. */
export function extendDevice (key: Uint8Array, token: string | undefined, account: string, newDeviceId: string): string {
  const [deviceId = newDeviceId, ...macs] = token !== undefined && TOKEN.test(token) ? token.split('.') : []
  const mac = macOf(key, deviceId, account)
  return [deviceId, mac, ...macs.filter((other) => other !== mac)].slice(0, 1 + MAX_ACCOUNTS).join('.')
}

function macOf (key: Uint8Array, deviceId: string, account: string): string {
  return createHmac('sha256', key).update(`known-device\0${deviceId}\0${account}`).digest().subarray(0, MAC_BYTES).toString('base64url')
}
