import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { canonicalAddress, ipv6Groups, mappedIPv4 } from './attempt.ts'

export interface BypassList {
  /**
   * True if the address is in the list. IPv4-mapped IPv6 counts as IPv4. `false` for anything that is not an address.
   */
  has(ip: string | undefined): boolean
  /** The parsed entries, for the log at start. */
  readonly entries: readonly string[]
}

/** The prefix of IPv4-mapped addresses: `::ffff:0:0/96`. */
const MAPPED = '0'.repeat(80) + '1'.repeat(16)

interface Range {
  family: 'ipv4' | 'ipv6'
  address: string
  prefix: number
}

/**
 * Parses addresses and CIDR ranges. Strict, because a lenient parser would let strangers in: `010.0.0.0/8` means
 * 8.0.0.0/8 to a parser that knows octal, and `10.0.0.5/8` looks like one host and covers sixteen million.
 *
 * @throws {Error} whose message names the entry and the accepted forms.
 */
export function parseBypassList(entries: readonly string[]): BypassList {
  const list = new BlockList()
  const ranges = entries.map(parseRange)
  for (const range of ranges) list.addSubnet(range.address, range.prefix, range.family)
  return {
    entries: ranges.map((range) => `${range.address}/${range.prefix}`),
    has(ip) {
      // Skip the search of an empty list, because each search allocates an address object.
      if (ranges.length === 0) return false
      const address = canonicalAddress(ip)
      return address !== null && list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
    }
  }
}

function parseRange(entry: unknown): Range {
  if (typeof entry !== 'string') throw refusal(entry, 'it is not a string')
  const [address = '', length, ...more] = entry.split('/')
  if (more.length > 0) throw refusal(entry, 'it has more than one "/"')
  if (!isIPv4(address) && (!isIPv6(address) || address.includes('%'))) throw refusal(entry, 'the address is malformed')
  if (length !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(length))
    throw refusal(entry, 'the prefix length is malformed')

  const bits = isIPv4(address)
    ? address
        .split('.')
        .map((octet) => Number(octet).toString(2).padStart(8, '0'))
        .join('')
    : ipv6Bits(address)
  const prefix = length === undefined ? bits.length : Number(length)
  if (prefix > bits.length) throw refusal(entry, `the prefix length is more than ${bits.length}`)
  if (prefix === 0) throw refusal(entry, 'it holds every address; rateLimit.<rule>: false turns a rule off')
  if (bits.slice(prefix).includes('1'))
    throw refusal(entry, `there are bits set beyond the prefix; the network is ${network(bits, prefix)}`)

  if (isIPv4(address)) return { family: 'ipv4', address, prefix }
  if (prefix <= MAPPED.length && MAPPED.startsWith(bits.slice(0, prefix)))
    throw refusal(entry, 'it holds every IPv4 address; rateLimit.<rule>: false turns a rule off')

  // Keep mapped entries as IPv4, because `request.ip` is compared as IPv4 if it is mapped.
  const mapped = mappedIPv4(ipv6Groups(address))
  return mapped === null
    ? { family: 'ipv6', address, prefix }
    : { family: 'ipv4', address: mapped, prefix: prefix - MAPPED.length }
}

function ipv6Bits(address: string): string {
  return ipv6Groups(address)
    .map((group) => group.toString(2).padStart(16, '0'))
    .join('')
}

function network(bits: string, prefix: number): string {
  const kept = bits.slice(0, prefix).padEnd(bits.length, '0')
  const octets = kept.length === 32
  const parts = (kept.match(octets ? /.{8}/g : /.{16}/g) ?? []).map((part) => Number.parseInt(part, 2))
  return `${parts.map((part) => part.toString(octets ? 10 : 16)).join(octets ? '.' : ':')}/${prefix}`
}

function refusal(entry: unknown, reason: string): Error {
  return new Error(
    `rateLimit.bypass: ${JSON.stringify(entry) ?? String(entry)} is refused: ${reason}. It ` +
      'takes IPv4 and IPv6 addresses and CIDR ranges, such as "192.0.2.7", "10.0.0.0/8" or ' +
      '"2001:db8::/32".'
  )
}
