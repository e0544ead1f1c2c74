import t from 'tap'
import { accountKey, addressKey, apiKeyKey, canonicalAddress, customKey, knownDeviceKey } from '../../../lib/limits/attempt-keys.ts'

t.test('RL-8 one address has one spelling', async (t) => {
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
    // Not mapped: an IPv4-compatible and a NAT64 address belong to somebody else than the IPv4 address in them.
    ['::192.0.2.1', '0:0:0:0:0:0:c000:201'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0:0:0:c000:201'],
    ['010.0.0.1', null],
    ['unknown', null],
    ['', null],
    [undefined, null]
  ]
  for (const [given, expected] of cases) t.equal(canonicalAddress(given), expected, String(given))
})

t.test('RL-7 IPv6 counts per /64, IPv4 per address, and all that is no address as one', async (t) => {
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

t.test('RL-13 RL-14 keys have one length, no user bytes, and one for each subject', async (t) => {
  const nasty = ['__proto__', 'constructor', 'x'.repeat(8192), 'a:{slot}:*', '\r\nFLUSHALL', '', '\ud800']
  for (const value of nasty) {
    const keys = [accountKey(value), apiKeyKey(value), customKey(value), addressKey(value), knownDeviceKey(value, value)]
    for (const key of keys) t.match(key, /^[\w-]{43}$/)
    t.equal(new Set(keys).size, keys.length, 'no subject is taken for another')
  }
  t.not(accountKey('ann'), accountKey('anne'))
})
