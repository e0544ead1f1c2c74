import { createHash } from 'node:crypto'
import t from '../../support/tap.ts'
import {
  accountKey,
  addressKey,
  apiKeyKey,
  canonicalAddress,
  customKey,
  knownDeviceKey,
  messageKey,
  networkKey
} from '../../../lib/limits/attempt.ts'

// covers RL-8
t.test('normalizes each spelling of an IP address to one form, and rejects other text', async (t) => {
  const cases: Array<[string | undefined, string | null]> = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:c000:0201', '192.0.2.1'],
    ['192.0.2.1:4711', '192.0.2.1'],
    ['[2001:db8::1]:4711', '2001:db8:0:0:0:0:0:1'],
    ['[2001:db8::1]', '2001:db8:0:0:0:0:0:1'],
    ['2001:0DB8::0001', '2001:db8:0:0:0:0:0:1'],
    ['fe80::1%eth0', 'fe80:0:0:0:0:0:0:1'],
    ['::', '0:0:0:0:0:0:0:0'],
    ['1::', '1:0:0:0:0:0:0:0'],
    // Not mapped, because an IPv4-compatible or NAT64 address does not belong to the host of the IPv4 address.
    ['::192.0.2.1', '0:0:0:0:0:0:c000:201'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0:0:0:c000:201'],
    // Not mapped, because the groups of a mapped address are at another place or follow other groups.
    ['2001:db8::ffff:a00:1', '2001:db8:0:0:0:ffff:a00:1'],
    ['1::ffff:a00:1', '1:0:0:0:0:ffff:a00:1'],
    ['::1:ffff:a00:1', '0:0:0:0:1:ffff:a00:1'],
    ['::ffff:0:a00:1', '0:0:0:0:ffff:0:a00:1'],
    ['010.0.0.1', null],
    ['unknown', null],
    ['x[2001:db8::1]', null],
    ['[2001:db8::1]:4711x', null],
    ['[2001:db8::1]:', null],
    ['x192.0.2.1:4711', null],
    ['192.0.2.1:4711x', null],
    ['', null],
    [undefined, null]
  ]
  for (const [given, expected] of cases) t.equal(canonicalAddress(given), expected, String(given))
})

// covers RL-7
t.test('counts IPv6 per /64, IPv4 per address, and all invalid addresses together', async (t) => {
  const same: Array<[string | undefined, string | undefined]> = [
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:1', '192.0.2.1:65535'],
    ['garbage-1', 'garbage-2'],
    [undefined, '']
  ]
  for (const [a, b] of same) t.equal(addressKey(a), addressKey(b), `${a} and ${b}`)
  const different: Array<[string, string]> = [
    ['2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['192.0.2.1', '192.0.2.2'],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2'],
    ['::1', '127.0.0.1']
  ]
  for (const [a, b] of different) t.not(addressKey(a), addressKey(b), `${a} and ${b}`)
})

// covers RL-30 A17
t.test('returns the /48 network of an IPv6 address, and none for other input', async (t) => {
  t.equal(networkKey('2001:db8:1:2::1'), networkKey('2001:0DB8:1:ffff:ffff::'))
  t.not(networkKey('2001:db8:1::'), networkKey('2001:db8:2::'))
  t.not(networkKey('2001:db8:1::1'), addressKey('2001:db8:1::1'))
  for (const none of ['192.0.2.1', '::ffff:192.0.2.1', '::ffff:c000:201', 'garbage', '', undefined])
    t.equal(networkKey(none), null, String(none))
})

// covers RL-13 RL-14
t.test('derives a hashed key of one length that differs between the kinds of subjects', async (t) => {
  const nasty = ['__proto__', 'constructor', 'x'.repeat(8192), 'a:{slot}:*', '\r\nFLUSHALL', '', '\ud800']
  for (const value of nasty) {
    const keys = [
      accountKey(value),
      apiKeyKey(value),
      customKey(value),
      addressKey(value),
      knownDeviceKey(value, value)
    ]
    for (const key of keys) t.match(key, /^[\w-]{43}$/)
    t.equal(new Set(keys).size, keys.length, 'no subject is taken for another')
  }
  t.not(accountKey('ann'), accountKey('anne'))
})

t.test('keeps the keys identical across releases, so that instances share their counters', async (t) => {
  const digest = (text: string): string => createHash('sha256').update(text).digest('base64url')
  t.equal(addressKey('192.0.2.1'), digest('address\x00192.0.2.1'))
  t.equal(addressKey('2001:db8:1:2::1'), digest('address\x002001:db8:1:2::/64'))
  t.equal(addressKey('garbage'), digest('address\0none'))
  t.equal(networkKey('2001:db8:1:2::1'), digest('address\x002001:db8:1::/48'))
  t.equal(customKey('x'), digest('custom\0x'))
  t.equal(apiKeyKey('x'), digest('api-key\0x'))
  t.equal(accountKey('x'), digest('account\0x'))
  t.equal(knownDeviceKey('x', 'd'), digest('device\0x.d'))
  t.equal(messageKey(['reset', 'x']), digest('message\0["reset","x"]'))
})
