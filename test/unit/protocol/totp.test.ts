import t from '../../support/tap.ts'
import { Secret, TOTP, URI } from 'otpauth'
import { asciiDigits } from '../../../lib/protocol/typed-code.ts'
import {
  fromBase32,
  matchTotp,
  readTotpCode,
  toBase32,
  totpCode,
  totpStep,
  totpUri
} from '../../../lib/protocol/totp.ts'

const SECRET = Buffer.from('12345678901234567890')

// covers TOTP-01
t.test('makes the codes of RFC 4226 appendix D and RFC 6238 appendix B', async (t) => {
  for (const [counter, code] of [
    '755224',
    '287082',
    '359152',
    '969429',
    '338314',
    '254676',
    '287922',
    '162583',
    '399871',
    '520489'
  ].entries())
    t.equal(totpCode(SECRET, counter), code, `counter ${counter}`)
  // The RFC lists codes of eight digits. Codes of six digits are their last six.
  for (const [seconds, code] of [
    [59, '94287082'],
    [1111111109, '07081804'],
    [1111111111, '14050471'],
    [1234567890, '89005924'],
    [2000000000, '69279037'],
    [20000000000, '65353130']
  ] as const) {
    t.equal(totpCode(SECRET, totpStep(seconds * 1000)), code.slice(2), `at ${seconds}`)
    t.equal(matchTotp(SECRET, code.slice(2), seconds * 1000), Math.floor(seconds / 30))
  }
})

t.test('makes the same codes as another implementation for keys of 1 to 100 bytes', async (t) => {
  for (const length of [1, 10, 16, 20, 32, 64, 65, 100]) {
    const secret = Buffer.alloc(length, length)
    const other = new TOTP({ secret: new Secret({ buffer: Uint8Array.from(secret).buffer }) })
    for (const now of [0, 29_999, 30_000, 1_800_000_000_000])
      t.equal(totpCode(secret, totpStep(now)), other.generate({ timestamp: now }))
  }
})

// covers TOTP-02 R6238-5.2 ASVS-6.5.8
t.test('accepts the codes of the current and the previous step only', async (t) => {
  const now = 1_800_000_015_000
  const present = totpStep(now)
  for (const offset of [-3, -2, -1, 0, 1, 2, 3]) {
    t.equal(
      matchTotp(SECRET, totpCode(SECRET, present + offset), now),
      offset === 0 || offset === -1 ? present + offset : null,
      `step ${offset}`
    )
  }
  const code = totpCode(SECRET, present)
  const shown = present * 30_000
  for (const [at, taken] of [
    [shown - 1, false],
    [shown, true],
    [shown + 59_999, true],
    [shown + 60_000, false]
  ] as const)
    t.equal(matchTotp(SECRET, code, at) !== null, taken, String(at - shown))
  t.equal(matchTotp(SECRET, '755224', 0), 0, 'there is no step before the first')
  t.equal(totpCode(SECRET, 910_737), totpCode(SECRET, 910_738))
  t.equal(
    matchTotp(SECRET, totpCode(SECRET, 910_737), 910_738 * 30_000),
    910_738,
    'of two steps with one code it is the newer one, so that none of them counts again'
  )
})

// covers TOTP-13
t.test('reads the digits of five mathematical digit sets that follow one another', async (t) => {
  // Five sets of mathematical digits without a gap.
  for (let set = 0; set < 5; set++)
    for (let value = 0; value < 10; value++)
      t.equal(asciiDigits(String.fromCodePoint(0x1d7ce + 10 * set + value)), String(value), `set ${set}`)
})

t.test('reads a code with spaces, separators and non-ASCII digits', async (t) => {
  for (const typed of [
    '123456',
    '123456'.padEnd(64),
    ' 123 456 ',
    '123-456',
    '123\u00a0456',
    '１２３４５６',
    '١٢٣٤٥٦',
    '१२३४५६',
    '123\u2013456',
    '\u200f123456\t\n'
  ])
    t.equal(readTotpCode(typed), '123456', typed)
  for (const typed of [
    '',
    '12345',
    '1234567',
    '12345a',
    '123.456',
    '+12345',
    '0x1234',
    '1e5',
    '①②③④⑤⑥⑦',
    '½',
    '123456'.repeat(20),
    '123456'.padEnd(65),
    ' '.repeat(100_000)
  ])
    t.equal(readTotpCode(typed), null, typed.slice(0, 20))
})

t.test('encodes and decodes base32 of RFC 4648 without padding', async (t) => {
  for (const [plain, text] of [
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI']
  ] as const) {
    t.equal(toBase32(Buffer.from(plain)), text)
    if (text !== '')
      for (const written of [text, text.toLowerCase(), `${text}====`, ` ${text.slice(0, 1)}-${text.slice(1)}\n`])
        t.same(fromBase32(written), Buffer.from(plain), written)
  }
  const odd = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
  t.same(fromBase32(toBase32(odd)), odd, 'every byte')
  for (const text of [
    '',
    ' ',
    'M',
    'MZX',
    'MZXW6Y',
    'M1',
    'MZ=XQ',
    '=',
    'MZXQ!',
    'MZXQ\0',
    'ΜZXQ',
    `M${'='.repeat(100_000)}x`
  ])
    t.equal(fromBase32(text), null, text.slice(0, 20))
})

// covers TOTP-11
t.test('encodes issuer and account so that an authenticator app reads them back', async (t) => {
  for (const [issuer, account] of [
    ['Example', 'ann@example.com'],
    ['Müller & Söhne', 'jörg+otp@example.com'],
    ['A shop', 'ann 1%25/?#&='],
    ["It's (ours)!*", '日本語']
  ] as const) {
    const uri = totpUri({ issuer, account, secret: SECRET })
    const read = URI.parse(uri) as TOTP
    t.same(
      [read.issuer, read.label, read.secret.base32, read.algorithm, read.digits, read.period],
      [issuer, account, toBase32(SECRET), 'SHA1', 6, 30]
    )
    t.match(uri, /^otpauth:\/\/totp\/[\w.~%-]+:[\w.~%-]+\?secret=[A-Z2-7]{32}&issuer=[\w.~%-]+$/)
    t.equal(new URL(uri).searchParams.get('issuer'), issuer)
  }
  t.match(
    totpUri({ issuer: 'a*', account: 'b', secret: SECRET }),
    /^otpauth:\/\/totp\/a%2A:b\?/,
    'in capitals, as encodeURIComponent has the others'
  )
  t.match(
    totpUri({ issuer: 'a:b ', account: ':c\ud800', secret: SECRET }),
    /^otpauth:\/\/totp\/a%20b:c%EF%BF%BD\?/,
    'a colon parts the two, and nothing else may'
  )
})
