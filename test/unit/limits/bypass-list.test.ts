import t from '../../support/tap.ts'
import { parseBypassList } from '../../../lib/limits/bypass-list.ts'

// covers RL-4 ASVS-1.5.3
t.test('matches the addresses of an entry, also an IPv4 address that is mapped to IPv6', async (t) => {
  const cases: Array<[string, string, boolean]> = [
    ['10.0.0.0/8', '10.1.2.3', true],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['10.0.0.0/8', '::ffff:0a01:0203', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.0.0.0/8', '::10.1.2.3', false],
    ['10.0.0.0/8', '64:ff9b::10.1.2.3', false],
    ['10.0.0.0/8', '2001:db8::ffff:a00:1', false],
    ['10.0.0.0/8', '::1:ffff:a00:1', false],
    ['192.0.2.7', '192.0.2.7', true],
    ['192.0.2.7', '192.0.2.8', false],
    ['192.0.2.7/32', '192.0.2.7', true],
    ['::ffff:10.0.0.0/104', '10.9.9.9', true],
    ['::ffff:10.0.0.0/104', '11.9.9.9', false],
    ['::ffff:192.0.2.7', '192.0.2.7', true],
    ['2001:db8::/32', '2001:db8:ffff::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
    ['2001:db8::1', '2001:db8::1', true],
    ['2001:db8::1', '2001:db8::2', false],
    ['::1', '127.0.0.1', false]
  ]
  for (const [entry, address, expected] of cases)
    t.equal(parseBypassList([entry]).has(address), expected, `${entry} and ${address}`)
  const list = parseBypassList(['10.0.0.0/8'])
  for (const nothing of [undefined, '', 'garbage', '010.0.0.1']) t.equal(list.has(nothing), false)
  t.equal(parseBypassList([]).has('10.0.0.1'), false)
})

// covers RL-3 RL-5
t.test('rejects an entry that is malformed or too wide with the reason', async (t) => {
  const cases: Array<[unknown, RegExp]> = [
    ['010.0.0.0/8', /malformed/],
    ['10.0.0.0/08', /malformed/],
    ['0x0a.0.0.1', /malformed/],
    ['10.1', /malformed/],
    ['10.0.0.5/8', /the network is 10\.0\.0\.0\/8/],
    ['2001:db8::1/32', /the network is 2001:db8:0:0:0:0:0:0\/32/],
    ['0.0.0.0/0', /every address/],
    ['::/0', /every address/],
    ['::ffff:0:0/96', /every IPv4 address/],
    // Ranges that contain all mapped IPv4 addresses and other IPv6 addresses.
    ['::/8', /every IPv4 address/],
    ['::/80', /every IPv4 address/],
    ['::fffe:0:0/95', /every IPv4 address/],
    ['10.0.0.0/33', /more than 32/],
    ['2001:db8::/129', /more than 128/],
    ['10.0.0.0/', /malformed/],
    ['10.0.0.0/-1', /malformed/],
    ['10.0.0.0/8/8', /more than one/],
    ['10.0.0.0/255.0.0.0', /malformed/],
    ['10.0.0.1 ', /malformed/],
    [' 10.0.0.1', /malformed/],
    ['10.0.0.1:80', /malformed/],
    ['[::1]', /malformed/],
    ['fe80::1%eth0', /malformed/],
    ['localhost', /malformed/],
    ['*', /malformed/],
    ['', /malformed/],
    [7, /not a string/],
    [undefined, /not a string/],
    [null, /not a string/]
  ]
  for (const [entry, reason] of cases) {
    const parse = (): unknown => parseBypassList(['192.0.2.1', entry] as string[])
    t.throws(parse, { message: reason }, `${JSON.stringify(entry)} is refused`)
    t.throws(parse, { message: /^rateLimit\.bypass: .* It takes IPv4 and IPv6 addresses and CIDR ranges/ })
    if (typeof entry === 'string')
      t.throws(parse, new RegExp(JSON.stringify(entry).replace(/[.*[\]/\\]/g, '\\$&')), 'the message names the entry')
  }
})

// covers RL-3
t.test('returns the canonical entries for the log', async (t) => {
  t.same(parseBypassList(['192.0.2.7', '::ffff:10.0.0.0/104', '2001:db8::/32']).entries, [
    '192.0.2.7/32',
    '10.0.0.0/8',
    '2001:db8::/32'
  ])
})
