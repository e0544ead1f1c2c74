import { hash } from 'node:crypto'
import { isIPv4, isIPv6 } from 'node:net'

/**
 * The kind of a counter key. It is part of the digest, so that an API key spelt like an address never counts as an
 * address.
 */
type Subject =
  | 'address'
  | 'custom'
  | 'api-key'
  | 'account'
  | 'device'
  | 'second-factor'
  | 'message'
  | 'recipient'
  | 'user'

/** The eight 16 bit groups of an IPv6 address that `isIPv6` accepted. A zone id is dropped. */
export function ipv6Groups(address: string): number[] {
  const bare = address.split('%')[0] ?? ''
  const [head = '', tail] = bare.split('::')
  const left = groupsOf(head)
  if (tail === undefined) return left
  const right = groupsOf(tail)
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right]
}

function groupsOf(part: string): number[] {
  if (part === '') return []
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}

/**
 * The IPv4 address inside an IPv4-mapped one (`::ffff:0:0/96`), dotted or hexadecimal, otherwise `null`.
 * @see RFC 4291 §2.5.5.2
 */
export function mappedIPv4(groups: readonly number[]): string | null {
  if (groups.slice(0, 5).some((group) => group !== 0) || groups[5] !== 0xffff) return null
  const [high = 0, low = 0] = groups.slice(6)
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/**
 * One spelling per address: IPv4 dotted, IPv4-mapped IPv6 as IPv4, IPv6 as eight groups. `null` for anything else, such
 * as a Unix socket. Drops a port, because some proxies forward `address:port` and a client chooses its own port.
 */
export function canonicalAddress(ip: string | undefined): string | null {
  if (ip === undefined) return null
  if (isIPv4(ip)) return ip
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(ip)?.[1] ?? /^([\d.]+):\d+$/.exec(ip)?.[1] ?? ip
  if (isIPv4(bare)) return bare
  if (!isIPv6(bare)) return null
  const groups = ipv6Groups(bare)
  return mappedIPv4(groups) ?? groups.map((group) => group.toString(16)).join(':')
}

/**
 * The key of a client address. IPv6 counts per /64, the network of one customer. Everything that is not an address
 * shares one key, because a client that can forge a forwarding header would otherwise get any number of allowances.
 */
export function addressKey(ip: string | undefined): string {
  const address = canonicalAddress(ip)
  if (address === null) return digest('address', 'none')
  if (!address.includes(':')) return digest('address', address)
  return digest('address', `${address.split(':').slice(0, 4).join(':')}::/64`)
}

/**
 * The key of the /48 around an IPv6 address, the network of one site: 65,536 of the networks that `addressKey` counts.
 * `null` for anything else.
 */
export function networkKey(ip: string | undefined): string | null {
  const address = canonicalAddress(ip)
  if (address === null || !address.includes(':')) return null
  return digest('address', `${address.split(':').slice(0, 3).join(':')}::/48`)
}

/** The key of the value that the option `rateLimit.key` returned. */
export function customKey(value: string): string {
  return digest('custom', value)
}

/** The key of a verified API key. */
export function apiKeyKey(apiKey: string): string {
  return digest('api-key', apiKey)
}

/**
 * The key of a username, normalised as for `UserStore.findByUsername`. It does not depend on whether the user exists.
 */
export function accountKey(username: string): string {
  return digest('account', username)
}

/** The key of a username tried in a browser that is known for it. */
export function knownDeviceKey(account: string, deviceId: string): string {
  return digest('device', `${account}.${deviceId}`)
}

/** The key of a user's second factors, by user id. */
export function secondFactorKey(userId: string): string {
  return digest('second-factor', userId)
}

/**
 * The key of a code's recipient: a normalised name, whether a user has it or not. A browser that is known for the name
 * gets a key of its own.
 */
export function recipientKey(name: string, deviceId: string | null): string {
  // A name never contains NUL.
  return digest('recipient', deviceId === null ? name : `${name}\0${deviceId}`)
}

/** The key of a signed-in user. It keeps their allowance apart from strangers at the same address. */
export function userKey(userId: string): string {
  return digest('user', userId)
}

/** The key of messages of one kind to one person. */
export function messageKey(subject: readonly string[]): string {
  return digest('message', JSON.stringify(subject))
}

/** Always 43 characters, so that neither content nor length of user input reaches a store. */
function digest(subject: Subject, value: string): string {
  return hash('sha256', `${subject}\0${value}`, 'base64url')
}
