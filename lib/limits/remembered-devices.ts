import { createHmac } from 'node:crypto'
import { equalSecrets } from '../protocol/digest.ts'

/** Accounts that one browser is remembered for at a time; the one remembered longest ago goes first. */
const MAX_ACCOUNTS = 4
/** Finds the entry of an account. It protects nothing: that is for the MAC. */
const TAG_BYTES = 6
/** 128 bits of an HMAC that only this service can try. */
const MAC_BYTES = 16
const TAG_LENGTH = 8
const TIME_LENGTH = 8
/** `<deviceId>`, and for each account its tag, the second in which it was remembered (base 36), and the MAC. */
const TOKEN = /^[\w-]{22}(?:\.[\w-]{8}[0-9a-z]{8}[\w-]{22}){1,4}$/

/** Where people can have a browser remembered, in which they are not asked for the second factor. */
export interface RememberedDevices {
  /** The first makes tokens, all open them. */
  keys: readonly Uint8Array[]
  lifetimeMs: number
}

/** An account as it was when it was remembered. With another epoch or another password the browser counts no more. */
interface RememberedAccount {
  userId: string
  /** Moves with every change of the user's factors, and when their devices are forgotten. */
  epoch: number
  passwordHash: string | null
}

/**
 * Whether this token was given to a browser for this account as it is now, less than `lifetimeMs` ago. One of `keys`
 * has to have made it.
 */
export function isRemembered(
  keys: readonly Uint8Array[],
  token: string | undefined,
  account: RememberedAccount,
  { now, lifetimeMs }: { now: number; lifetimeMs: number }
): boolean {
  if (token === undefined || !TOKEN.test(token)) return false
  const [deviceId = '', ...entries] = token.split('.')
  return keys.some((key) =>
    entries.some((entry) => {
      const time = entry.slice(TAG_LENGTH, TAG_LENGTH + TIME_LENGTH)
      return now - parseInt(time, 36) * 1000 < lifetimeMs && equalSecrets(entry, entryOf(key, deviceId, account, time))
    })
  )
}

/**
 * The token that has a browser remembered for one more account, from `now` on. The entries of other accounts keep their
 * time, so that none lives longer by it. `newDeviceId` is used where `token` is not one of ours.
 */
export function rememberAccount(
  [key = new Uint8Array()]: readonly Uint8Array[],
  token: string | undefined,
  account: RememberedAccount,
  now: number,
  newDeviceId: string
): string {
  const [deviceId = newDeviceId, ...entries] = token !== undefined && TOKEN.test(token) ? token.split('.') : []
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
  return `${tag}${time}${mac(['remembered', deviceId, userId, time, epoch, passwordHash], MAC_BYTES)}`
}
