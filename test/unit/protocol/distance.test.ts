import { distanceOf, mayCall, PRIVATE_NETWORK, PUBLIC, THIS_MACHINE } from '../../../lib/protocol/distance.ts'
import t from '../../support/tap.ts'

const THIS_LINK = THIS_MACHINE + 1

/** The first and last address of ranges, their neighbours, and spellings of one address. */
const ADDRESSES: ReadonlyArray<readonly [number, readonly string[]]> = [
  [
    THIS_MACHINE,
    ['0.0.0.0', '0.255.255.255', '127.0.0.1', '127.255.255.255', '::', '::1', '::127.0.0.1', '::ffff:127.0.0.1']
  ],
  [THIS_MACHINE, ['0:0:0:0:0:ffff:7f00:1', '64:ff9b::127.0.0.1', '::ffff:0.0.0.0', '::FFFF:7F00:0001']],
  [THIS_MACHINE, ['', 'localhost', '127.1', '256.0.0.1', '1.2.3', '1:2', ':::', 'a'.repeat(1000)]],
  [
    THIS_LINK,
    ['169.254.169.254', '::ffff:169.254.0.1', '100.100.100.200', 'fe80::1', 'fe80::1%eth0', 'febf::', 'fd00:ec2::254']
  ],
  [
    PRIVATE_NETWORK,
    ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.1', '100.64.0.1', '::ffff:10.1.2.3']
  ],
  [PRIVATE_NETWORK, ['64:ff9b:1:1::a00:1', '64:ff9b:1:ffff::1', '64:ff9b:1::10.0.0.1']],
  [PRIVATE_NETWORK, ['fc00::', 'fdff::1', '2001:db8::1', '2002:7f00:1::', '224.0.0.1', '255.255.255.255', 'ff02::1']],
  [PUBLIC, ['1.1.1.1', '9.255.255.255', '11.0.0.0', '172.15.255.255', '172.32.0.0', '128.0.0.0', '169.253.255.255']],
  [
    PRIVATE_NETWORK,
    ['100.127.255.255', '192.0.0.255', '192.0.2.255', '198.19.255.255', '198.51.100.255', '203.0.113.255', '224.0.0.0']
  ],
  [
    PRIVATE_NETWORK,
    ['100::ffff', '2001:0:ffff::', '2001:db8:ffff::', '2002:ffff::', '3fff:fff::', '5f00:ffff::', 'feff::', 'ffff::']
  ],
  [PUBLIC, ['100.63.255.255', '100.128.0.0', '192.0.1.0', '192.0.3.0', '198.17.255.255', '198.20.0.0', '198.51.101.0']],
  [PUBLIC, ['203.0.114.0', '192.167.255.255', '192.169.0.0', '169.255.0.0', '100:0:0:1::', '2001:1::', '2001:db9::']],
  [PUBLIC, ['2003::', '3fff:1000::', '5f01::', 'fbff::', 'fe00::']],
  [PUBLIC, ['2606:4700::1111', '::ffff:1.1.1.1', '64:ff9b::1.1.1.1', '223.255.255.255']]
]

t.test('classifies an address by its range in every spelling', async (t) => {
  for (const [distance, addresses] of ADDRESSES)
    t.strictSame(
      addresses.map((address) => [address, distanceOf(address)]),
      addresses.map((address) => [address, distance])
    )
})

t.test('allows https: URLs no nearer than the given bound, and http: only on this machine', async (t) => {
  const cases: Array<[url: string, noNearerThan: 0 | 2 | 3, may: boolean]> = [
    ['https://id.example', PUBLIC, true],
    ['http://id.example', THIS_MACHINE, false],
    ['https://ann:pw@id.example', THIS_MACHINE, false],
    ['http://127.0.0.1:3000', THIS_MACHINE, true],
    ['http://localhost', THIS_MACHINE, true],
    ['https://localhost', PRIVATE_NETWORK, false],
    ['https://10.0.0.1', PRIVATE_NETWORK, true],
    ['https://10.0.0.1', PUBLIC, false],
    ['https://[::ffff:10.0.0.1]', PUBLIC, false],
    ['https://[::127.0.0.1]', PRIVATE_NETWORK, false],
    ['https://0x7f.1', PRIVATE_NETWORK, false],
    ['https://2130706433', PRIVATE_NETWORK, false],
    ['ftp://id.example', THIS_MACHINE, false],
    ['nothing', THIS_MACHINE, false]
  ]
  t.strictSame(
    cases.map(([url, bound]) => [url, bound, mayCall(url, bound)]),
    cases
  )
})
