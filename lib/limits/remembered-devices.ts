import { createHmac } from 'node:crypto'
import { equalSecrets } from '../protocol/digest.ts'

/** Accounts in the token of one browser. The account remembered longest ago goes first. */
const MAX_ACCOUNTS = 4
/** Finds the entry of an account. The MAC protects it, not the tag. */
const TAG_BYTES = 6
/** 128 bits of an HMAC that only this service can compute. */
const MAC_BYTES = 16
const TAG_LENGTH = 8
const TIME_LENGTH = 8
/** `<deviceId>`, and for each account its tag, the second in which it was remembered (base 36), and the MAC. */
const TOKEN = /^[\w-]{22}(?:\.[\w-]{8}[0-9a-z]{8}[\w-]{22}){1,4}$/

/** Settings of remembered browsers, which are not asked for the second factor. */
export interface RememberedDevices {
  /** The first key makes tokens, all keys open them. */
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
 * Makes the token that remembers the browser for one more account from `now` on. Entries of other accounts keep their
 * time, so that none lives longer. Uses `newDeviceId` if `token` is not one of ours.
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
