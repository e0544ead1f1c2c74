/** The distance of a network address, which decides who may name it for an outbound call. */
import { isLoopbackHost } from './redirect-uri.ts'

/** The distances: this machine, its link, a private network, and everything else. A higher number is farther away. */
export const THIS_MACHINE = 0
const THIS_LINK = 1
export const PRIVATE_NETWORK = 2
export const PUBLIC = 3
export type Distance = typeof THIS_MACHINE | typeof THIS_LINK | typeof PRIVATE_NETWORK | typeof PUBLIC

type Range = readonly [address: string, bits: number]

/**
 * Special address ranges by their distance. The first range that matches decides. Ranges in which no provider can be
 * (documentation, multicast, tunnels) count as a private network, so that no stranger can name them.
 * @see RFC 6890, https://www.iana.org/assignments/iana-ipv6-special-registry
 */
const RANGES: ReadonlyArray<readonly [Distance, readonly Range[]]> = [
  [
    THIS_MACHINE,
    [
      ['0.0.0.0', 8],
      ['127.0.0.0', 8]
    ]
  ],
  [
    // Cloud metadata services have link-local addresses, or are treated as if they had.
    THIS_LINK,
    [
      ['169.254.0.0', 16],
      ['100.100.100.200', 32],
      ['fe80::', 10],
      ['fd00:ec2::254', 128]
    ]
  ],
  [
    PRIVATE_NETWORK,
    [
      ['10.0.0.0', 8],
      ['100.64.0.0', 10],
      ['172.16.0.0', 12],
      ['192.0.0.0', 24],
      ['192.0.2.0', 24],
      ['192.168.0.0', 16],
      ['198.18.0.0', 15],
      ['198.51.100.0', 24],
      ['203.0.113.0', 24],
      ['224.0.0.0', 3],
      ['100::', 64],
      ['2001::', 32],
      ['2001:db8::', 32],
      ['2002::', 16],
      ['3fff::', 20],
      ['5f00::', 16],
      // Local NAT64. The translator may reach any internal address. @see RFC 8215
      ['64:ff9b:1::', 48],
      ['fc00::', 7],
      ['fec0::', 10],
      ['ff00::', 8]
    ]
  ]
]

const PARSED = RANGES.map(
  ([distance, ranges]) =>
    [distance, ranges.map(([address, bits]) => ({ words: wordsOf(address) ?? [], bits }))] as const
)

/**
 * Prefixes of IPv6 addresses whose last 32 bits are an IPv4 address: mapped, compatible and NAT64 (RFC 6052, RFC 8215).
 */
const EMBEDDING = ['::', '::ffff:0:0', '64:ff9b::', '64:ff9b:1::'].map((prefix) => wordsOf(prefix) ?? [])

export function nearer(one: Distance, other: Distance): Distance {
  return one < other ? one : other
}

/**
 * The distance of an IP address. A text that is not an address counts as this machine, so that no other party can name
 * it.
 */
export function distanceOf(address: string): Distance {
  const words = wordsOf(address)
  if (words === null) return THIS_MACHINE
  const plain =
    words.length === 8 && EMBEDDING.some((prefix) => prefix.slice(0, 6).every((word, at) => word === words[at]))
      ? words.slice(6)
      : words
  const found = PARSED.find(([, ranges]) => ranges.some(({ words: range, bits }) => isWithin(plain, range, bits)))
  return found === undefined ? PUBLIC : found[0]
}

/**
 * True if this service may call a URL that a party at the distance `noNearerThan` named: an https URL, or an http URL
 * on this machine, without user name and password, and not nearer than that distance. The address behind a host name is
 * checked when the connection is made.
 */
export function mayCall(url: string, noNearerThan: Distance): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname, username, password } = new URL(url)
  const isHere = isLoopbackHost(hostname)
  const address = hostname.replace(/^\[|\]$/g, '')
  return (
    username === '' &&
    password === '' &&
    (protocol === 'https:' || (protocol === 'http:' && isHere)) &&
    (!isHere || noNearerThan === THIS_MACHINE) &&
    (wordsOf(address) === null || distanceOf(address) >= noNearerThan)
  )
}

function isWithin(words: readonly number[], range: readonly number[], bits: number): boolean {
  return (
    words.length === range.length &&
    range.every((word, at) => {
      const ignored = Math.min(16, Math.max(0, 16 * (at + 1) - bits))
      return (word ^ (words[at] ?? 0)) >> ignored === 0
    })
  )
}

/** The 16-bit words of an address: two for IPv4, eight for IPv6. `null` for anything else. */
function wordsOf(address: string): number[] | null {
  if (/^\d{1,3}(?:\.\d{1,3}){3}$/.test(address)) return wordsOfIpv4(address)
  const [plain = ''] = address.split('%')
  // The URL parser accepts every spelling of an IPv6 address and returns one form, in hexadecimal.
  const url = plain.includes(':') ? `http://[${plain}]/` : ''
  if (!URL.canParse(url)) return null
  const [head = '', tail] = new URL(url).hostname.slice(1, -1).split('::')
  const parse = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((word) => Number.parseInt(word, 16))
  const [before, after] = [parse(head), parse(tail ?? '')]
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after]
}

function wordsOfIpv4(address: string): number[] | null {
  const [a = 256, b = 256, c = 256, d = 256] = address.split('.').map(Number)
  return Math.max(a, b, c, d) > 255 ? null : [a * 256 + b, c * 256 + d]
}
