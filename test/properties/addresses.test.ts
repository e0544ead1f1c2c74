import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict'
import { isIP } from 'node:net'
import * as fc from 'fast-check'
import { addressKey, canonicalAddress, networkKey } from '../../lib/limits/attempt.ts'
import { parseBypassList } from '../../lib/limits/bypass-list.ts'
import { almost, property, thrownBy, wordsOf } from './support/property.ts'

/** Models an address as a number of 128 bits, with IPv4 mapped into IPv6. */
const MAPPED = 0xffffn << 32n
const isV4 = (address: bigint): boolean => address >> 32n === 0xffffn
const groupsOf = (address: bigint): number[] =>
  Array.from({ length: 8 }, (_, index) => Number((address >> BigInt(112 - 16 * index)) & 0xffffn))
const dotted = (address: bigint): string =>
  Array.from({ length: 4 }, (_, index) => String((address >> BigInt(24 - 8 * index)) & 0xffn)).join('.')
const canonicalOf = (address: bigint): string =>
  isV4(address)
    ? dotted(address)
    : groupsOf(address)
        .map((group) => group.toString(16))
        .join(':')

const group = fc.oneof(fc.constantFrom(0, 0, 0, 0xffff, 0xffff, 0xa00, 1), fc.integer({ min: 0, max: 0xffff }))
const v6 = fc
  .array(group, { minLength: 8, maxLength: 8 })
  .map((groups) => groups.reduce((sum, one) => (sum << 16n) + BigInt(one), 0n))
const v4 = fc
  .oneof(fc.integer({ min: 0, max: 0xffffffff }), fc.constantFrom(0, 0x0a000001, 0x7f000001, 0xffffffff))
  .map((number) => MAPPED + BigInt(number))
const address = fc.oneof(v4, v6)

/**
 * One of the many ways to write an address: with or without `::`, leading zeros, capitals, a dotted end, a zone,
 * brackets and a port.
 */
const style = fc.record({
  compress: fc.boolean(),
  pad: fc.boolean(),
  upper: fc.boolean(),
  dottedEnd: fc.boolean(),
  asV6: fc.boolean(),
  around: fc.constantFrom('', '', 'port', 'brackets')
})
function spelled(
  address: bigint,
  { compress, pad, upper, dottedEnd, asV6, around }: typeof style extends fc.Arbitrary<infer Style> ? Style : never
): string {
  if (isV4(address) && !asV6) return around === 'port' ? `${dotted(address)}:4711` : dotted(address)
  const groups = groupsOf(address).map((one) => one.toString(16).padStart(pad ? 4 : 1, '0'))
  const parts = dottedEnd ? [...groups.slice(0, 6), dotted(address)] : groups
  const from = parts.findIndex((part, at) => /^0+$/.test(part) && /^0+$/.test(parts[at + 1] ?? ''))
  let text = parts.join(':')
  if (compress && from !== -1) {
    let end = from
    while (end < parts.length && /^0+$/.test(parts[end] ?? '')) end += 1
    text = `${parts.slice(0, from).join(':')}::${parts.slice(end).join(':')}`
  }
  if (upper) text = text.toUpperCase()
  if (around === '') return text
  return around === 'port' ? `[${text}]:4711` : `[${text}]`
}

property(
  'P7 normalizes every spelling of an address, and counts it by its network',
  [address, style, address, style],
  {
    cases: ['IPv4', 'IPv6'],
    examples: [
      [
        0x20010db8000000000000ffff0a000001n,
        { compress: true, pad: false, upper: false, dottedEnd: false, asV6: true, around: '' },
        MAPPED + 0x0a000001n,
        { compress: false, pad: false, upper: false, dottedEnd: false, asV6: false, around: '' }
      ]
    ]
  },
  (one, oneStyle, other, otherStyle) => {
    const [text, otherText] = [spelled(one, oneStyle), spelled(other, otherStyle)]
    equal(canonicalAddress(text), canonicalOf(one), text)
    equal(canonicalAddress(canonicalOf(one)), canonicalOf(one), 'once more changes nothing')
    ok(isIP(canonicalOf(one)) !== 0)
    const [bits, otherBits] = [one, other].map((address) => (isV4(address) ? `4 ${address}` : `6 ${address >> 64n}`))
    equal(addressKey(text) === addressKey(otherText), bits === otherBits, `${text} and ${otherText}`)
    equal(networkKey(text) === null, isV4(one))
    if (!isV4(one) && !isV4(other)) equal(networkKey(text) === networkKey(otherText), one >> 80n === other >> 80n)
    return isV4(one) ? 'IPv4' : 'IPv6'
  }
)

/** An address without its port and brackets, if it has them in the right places. */
function withoutPort(text: string): string {
  const isPort = (port: string): boolean => /^:\d+$/.test(port)
  if (text.startsWith('[') && text.includes(']')) {
    const [inside, port] = [text.slice(1, text.indexOf(']')), text.slice(text.indexOf(']') + 1)]
    return port === '' || isPort(port) ? inside : text
  }
  const [address, port] = [text.slice(0, text.lastIndexOf(':')), text.slice(text.lastIndexOf(':'))]
  return isIP(address) === 4 && isPort(port) ? address : text
}

const ADDRESS_WORDS = [
  '1',
  '0',
  'ffff',
  ':',
  '::',
  '.',
  '%',
  '%eth0',
  '[',
  ']',
  ']:80',
  ':80',
  '/',
  '/8',
  '127.0.0.1',
  '2001:db8',
  ' ',
  'g',
  '010',
  '0x7f',
  '256',
  '\0'
]
property(
  'P7 gives all invalid addresses one counter, and no bypass',
  [
    fc.oneof(
      wordsOf(ADDRESS_WORDS, 8),
      almost(
        fc.tuple(address, style).map(([one, how]) => spelled(one, how)),
        ADDRESS_WORDS
      )
    )
  ],
  {
    examples: [['010.0.0.1'], ['x[::1]'], ['[::1]x'], ['[::1]:'], ['::1%eth0'], ['127.1'], ['[127.0.0.1]:80']],
    cases: ['address', 'none']
  },
  (text) => {
    const canonical = canonicalAddress(text)
    equal(canonical !== null, isIP(withoutPort(text)) !== 0)
    equal(parseBypassList(['0.0.0.0/1', '128.0.0.0/1']).has(text), canonical !== null && !canonical.includes(':'))
    if (canonical === null) {
      equal(addressKey(text), addressKey(undefined))
      return 'none'
    }
    notEqual(addressKey(text), addressKey(undefined))
    equal(canonicalAddress(canonical), canonical)
    const bare = text.split('%')[0] ?? ''
    // The platform's own parser, if it accepts this form.
    if (isIP(bare) === 6) equal(canonical, canonicalAddress(new URL(`http://[${bare}]`).hostname))
    return 'address'
  }
)

property(
  'P7 matches an address to a range by the bits of the prefix only',
  [address, fc.integer({ min: 0, max: 128 }), style, address, fc.integer({ min: 0, max: 127 }), style],
  {
    cases: ['range', 'no range'],
    examples: [
      [
        MAPPED + 0x0a000000n,
        104,
        { compress: false, pad: false, upper: false, dottedEnd: false, asV6: false, around: '' },
        0x20010db8000000000000ffff0a000001n,
        0,
        { compress: true, pad: false, upper: false, dottedEnd: false, asV6: true, around: '' }
      ]
    ]
  },
  (within, prefix, rangeStyle, other, flipped, style) => {
    const host = BigInt(128 - prefix)
    const base = (within >> host) << host
    const asV4 = isV4(base) && !rangeStyle.asV6
    const length = asV4 ? prefix - 96 : prefix
    const entry = `${spelled(base, { ...rangeStyle, around: '' })}/${length}`
    // Refuses a range that contains all of IPv4.
    if (length <= 0 || (prefix <= 96 && MAPPED >> host === base >> host)) {
      match(String(thrownBy(() => parseBypassList([entry]))), /is refused/)
      return 'no range'
    }
    if (within !== base)
      ok(
        thrownBy(() =>
          parseBypassList([`${spelled(within, { ...rangeStyle, asV6: !asV4, around: '' })}/${length}`])
        ) !== null,
        'bits beyond the prefix'
      )
    const list = parseBypassList(['192.0.2.7', entry])
    for (const asked of [within, other, within ^ (1n << BigInt(flipped)), MAPPED + 0xc0000207n]) {
      const expected = asked === MAPPED + 0xc0000207n || (isV4(asked) === isV4(base) && asked >> host === base >> host)
      equal(list.has(spelled(asked, style)), expected, `${spelled(asked, style)} in ${entry}`)
    }
    deepEqual(parseBypassList(list.entries).entries, list.entries)
    return 'range'
  }
)
