/** Reads a credential before its verification: JSON, base64url, CBOR, and the challenge. */
import t from '../../support/tap.ts'
import { decodeCbor, WebauthnError } from '../../../lib/protocol/webauthn-key.ts'
import { CLAIM_LIFETIME_MS, isChallengeFor, makeChallenge } from '../../../lib/protocol/webauthn-options.ts'
import { isBase64url, readAssertion, readRegistration } from '../../../lib/protocol/webauthn.ts'
import { encodeCbor } from '../../../lib/testing/soft-passkey.ts'

const MALFORMED = { name: 'WebauthnError', refusal: 'malformed' }
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

// covers PK-25
t.test('CBOR: decodes the supported types', async (t) => {
  for (const [written, value] of [
    ['00', 0],
    ['17', 23],
    ['1818', 24],
    ['18ff', 255],
    ['190100', 256],
    ['1a00010000', 65536],
    ['1affffffff', 4294967295],
    ['20', -1],
    ['26', -7],
    ['390100', -257],
    ['3affffffff', -4294967296],
    ['f4', false],
    ['f5', true],
    ['f6', null],
    ['40', Buffer.alloc(0)],
    ['43010203', Buffer.from([1, 2, 3])],
    ['60', ''],
    ['63e282ac', '€'],
    ['80', []],
    ['83010203', [1, 2, 3]],
    ['63efbbbf', '\ufeff'],
    ['a0', new Map()],
    [
      'a2016161026162',
      new Map([
        [1, 'a'],
        [2, 'b']
      ])
    ],
    ['a16161a161628101', new Map([['a', new Map([['b', [1]]])]])]
  ] as const) {
    t.same(decodeCbor(hex(written)), value, written)
    if (value !== null) t.equal(encodeCbor(value as never).toString('hex'), written)
  }
})

// covers PK-25
t.test('CBOR: refuses malformed and unsupported input', async (t) => {
  for (const [name, written] of [
    ['nothing', ''],
    ['something after it', '0000'],
    ['a length without its byte', '58'],
    ['half a length', '59 01'],
    ['most of a length', '5a 00 00 00'],
    ['a text length without its byte', '78'],
    ['a map length without its byte', 'b8'],
    ['a number without its byte', '18'],
    ['bytes that end early', '42 01'],
    ['a huge length', '5a ff ff ff ff 00'],
    ['64 bits', '1b 00 00 00 00 00 00 00 01'],
    ['64 bits of length', '5b 00 00 00 00 00 00 00 01 00'],
    ['indefinite bytes', '5f 41 00 ff'],
    ['indefinite text', '7f 61 61 ff'],
    ['an indefinite array', '9f 01 ff'],
    ['an indefinite map', 'bf 01 02 ff'],
    ['a break', 'ff'],
    ['reserved lengths', '1c'],
    ['a tag', 'c2 41 01'],
    ['a tag with the number of false', 'd4'],
    ['a tag with the number of null', 'd6'],
    ['half a float', 'f9 00 00'],
    ['a float', 'fb 3f f1 99 99 99 99 99 9a'],
    ['undefined', 'f7'],
    ['another simple value', 'e0'],
    ['a simple value of one byte', 'f8 ff'],
    ['a key twice', 'a2 01 02 01 03'],
    ['a key twice, once written longer', 'a2 01 02 18 01 03'],
    ['a key of bytes', 'a1 41 01 02'],
    ['a key that is a list', 'a1 80 02'],
    ['a map that ends early', 'a2 01 02'],
    ['a map without a value', 'a1 01'],
    ['text that is no UTF-8', '61 ff'],
    ['a surrogate', '63 ed a0 80'],
    ['an array that ends early', '82 01'],
    ['too deep', '81 81 81 81 00'],
    ['too many', `98 41 ${'00'.repeat(65)}`],
    ['too many members', 'b8 41'],
    [
      'too many members, all of them there',
      `b8 41 ${Array.from({ length: 65 }, (_, key) => `18${key.toString(16).padStart(2, '0')}00`).join('')}`
    ],
    ['keys in keys without an end', 'a1'.repeat(14_000)],
    ['maps in maps without an end', 'a100'.repeat(7000)],
    ['lists in lists without an end', '81'.repeat(14_000)]
  ] as const)
    t.throws(() => decodeCbor(hex(written)), MALFORMED, name)
  t.same(decodeCbor(hex(`98 40 ${'00'.repeat(64)}`)), Array(64).fill(0))
  t.same(decodeCbor(hex('81 81 81 00')), [[[0]]])
  t.equal(
    (
      decodeCbor(
        hex(`b8 40 ${Array.from({ length: 64 }, (_, key) => `18${key.toString(16).padStart(2, '0')}00`).join('')}`)
      ) as Map<number, number>
    ).size,
    64
  )
  t.throws(() => decodeCbor(hex('')), { message: 'malformed: CBOR ends early' }, 'the log is told what and why')
})

// covers PK-25
t.test('CBOR: decodes random bytes or refuses them, without any other error', async (t) => {
  let seed = 0x2f6e2b1
  const next = (): number => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) >>> 16
  for (let round = 0; round < 20_000; round++) {
    const bytes = Buffer.from(Array.from({ length: next() % 24 }, () => next() & 255))
    try {
      decodeCbor(bytes)
    } catch (error) {
      if (!(error instanceof WebauthnError)) return t.fail(`${bytes.toString('hex')}: ${String(error)}`)
    }
  }
  t.pass('seed 0x2f6e2b1')
})

// covers PK-25
t.test('accepts only canonical base64url', async (t) => {
  for (const good of ['AA', 'AAA', 'AAAA', '-_-_', 'Zg', 'Zm8', 'Zm9v']) t.ok(isBase64url(good), good)
  for (const bad of [
    '',
    'A',
    'AAAAA',
    'AB',
    'AAB',
    'Zh',
    'Zm9',
    'AA==',
    'AA=',
    'A+',
    '//8',
    'AA\n',
    ' AA',
    'AA AA',
    'ÀA',
    'AA\0',
    '😀',
    null,
    undefined,
    1,
    ['AA'],
    {}
  ])
    t.notOk(isBase64url(bad), JSON.stringify(bad))
})

const REGISTRATION = { id: 'AAAA', type: 'public-key', response: { clientDataJSON: 'e30', attestationObject: 'oA' } }
const ASSERTION = {
  id: 'AAAA',
  type: 'public-key',
  response: { clientDataJSON: 'e30', authenticatorData: 'AAAA', signature: 'AAAA', userHandle: 'AAAA' }
}
const WRONG = [undefined, null, '', 1, true, [], {}, 'AA==', 'AB', 'A'.repeat(20_000)]

t.test('reads a credential from text or an object, and ignores unknown members', async (t) => {
  t.same(readRegistration(REGISTRATION), {
    id: 'AAAA',
    clientDataJSON: Buffer.from('{}'),
    attestationObject: Buffer.from([0xa0]),
    transports: []
  })
  t.same(
    readAssertion(
      JSON.stringify({
        ...ASSERTION,
        rawId: 1,
        authenticatorAttachment: {},
        clientExtensionResults: { credProps: { rk: true } }
      })
    ),
    readAssertion(ASSERTION)
  )
  t.equal(readAssertion({ ...ASSERTION, response: { ...ASSERTION.response, userHandle: null } }).userHandle, null)
  const transports = [
    'internal',
    'hybrid',
    'internal',
    7,
    null,
    ['usb'],
    true,
    'UPPER',
    'with space',
    'x'.repeat(33),
    'smart-card',
    ...Array.from({ length: 20 }, (_, index) => `t${'x'.repeat(index)}`)
  ]
  t.same(readRegistration({ ...REGISTRATION, response: { ...REGISTRATION.response, transports } }).transports, [
    'internal',
    'hybrid',
    'smart-card',
    't',
    'tx',
    'txx',
    'txxx',
    'txxxx'
  ])
})

t.test('refuses a missing, mistyped, non-canonical or overlong member', async (t) => {
  for (const whole of [
    undefined,
    null,
    1,
    true,
    [],
    '',
    'null',
    '[]',
    '"x"',
    '{',
    `${JSON.stringify(ASSERTION)}${' '.repeat(17_000)}`
  ]) {
    t.throws(() => readAssertion(whole), MALFORMED, String(whole).slice(0, 40))
    t.throws(() => readRegistration(whole), MALFORMED)
  }
  for (const wrong of WRONG) {
    const shown = JSON.stringify(wrong)?.slice(0, 20)
    for (const name of ['id', 'type', 'response']) {
      t.throws(() => readAssertion({ ...ASSERTION, [name]: wrong }), MALFORMED, `${name} ${shown}`)
      t.throws(() => readRegistration({ ...REGISTRATION, [name]: wrong }), MALFORMED, `${name} ${shown}`)
    }
    for (const name of ['clientDataJSON', 'authenticatorData', 'signature'])
      t.throws(
        () => readAssertion({ ...ASSERTION, response: { ...ASSERTION.response, [name]: wrong } }),
        MALFORMED,
        `${name} ${shown}`
      )
    for (const name of ['clientDataJSON', 'attestationObject'])
      t.throws(
        () => readRegistration({ ...REGISTRATION, response: { ...REGISTRATION.response, [name]: wrong } }),
        MALFORMED,
        `${name} ${shown}`
      )
    if (wrong !== undefined && wrong !== null)
      t.throws(
        () => readAssertion({ ...ASSERTION, response: { ...ASSERTION.response, userHandle: wrong } }),
        MALFORMED,
        `userHandle ${shown}`
      )
    if (wrong !== undefined && !Array.isArray(wrong))
      t.throws(
        () => readRegistration({ ...REGISTRATION, response: { ...REGISTRATION.response, transports: wrong } }),
        MALFORMED,
        `transports ${shown}`
      )
  }
  t.throws(() => readAssertion({ ...ASSERTION, id: Buffer.alloc(1024).toString('base64url') }), MALFORMED)
  t.equal(readAssertion({ ...ASSERTION, id: Buffer.alloc(1023).toString('base64url') }).id.length, 1364)
  for (const [bytes, isTaken] of [
    [64, true],
    [65, false]
  ] as const) {
    const read = () =>
      readAssertion({
        ...ASSERTION,
        response: { ...ASSERTION.response, userHandle: Buffer.alloc(bytes).toString('base64url') }
      })
    if (isTaken) t.equal(read().userHandle?.length, 86)
    else t.throws(read, MALFORMED)
  }
  const text = JSON.stringify(ASSERTION)
  t.equal(readAssertion(text.padEnd(16_384)).id, 'AAAA')
  t.throws(() => readAssertion(text.padEnd(16_385)), MALFORMED)
  for (const [bytes, isTaken] of [
    [10_500, true],
    [10_501, false]
  ] as const) {
    const read = () =>
      readAssertion({
        ...ASSERTION,
        response: { ...ASSERTION.response, signature: Buffer.alloc(bytes).toString('base64url') }
      })
    if (isTaken) t.equal(read().signature.length, bytes)
    else t.throws(read, MALFORMED)
  }
})

// covers PK-12 ASVS-6.7.2
t.test('accepts a challenge for one purpose, under the configured keys, for ten minutes', async (t) => {
  const key = Buffer.alloc(32, 1)
  const now = 1_800_000_000_000
  const challenge = makeChallenge('sign-in', { key, now, random: Buffer.alloc(16, 3) })
  t.match(challenge, /^[\w-]{54}$/)
  t.not(challenge, makeChallenge('sign-in', { key, now, random: Buffer.alloc(16, 4) }))
  const good = (fields: { purpose?: string; text?: string; keys?: Buffer[]; at?: number } = {}): boolean =>
    isChallengeFor(fields.purpose ?? 'sign-in', fields.text ?? challenge, {
      keys: fields.keys ?? [key],
      now: fields.at ?? now
    })
  t.ok(good())
  t.notOk(good({ purpose: 'sign-in2' }))
  t.notOk(good({ keys: [Buffer.alloc(32, 2)] }))
  t.notOk(good({ keys: [] }))
  t.ok(good({ keys: [Buffer.alloc(32, 2), key] }), 'a former secret')
  for (const [at, holds] of [
    [now + 599_999, true],
    [now + 600_000, false],
    [now - 60_000, true],
    [now - 60_001, false],
    [now + CLAIM_LIFETIME_MS, false]
  ] as const)
    t.equal(good({ at }), holds, String(at - now))
  const bytes = Buffer.from(challenge, 'base64url')
  for (let index = 0; index < bytes.length; index++)
    t.notOk(
      good({ text: Buffer.from(bytes.map((byte, at) => (at === index ? byte ^ 128 : byte))).toString('base64url') }),
      `byte ${index}`
    )
  for (const text of ['', 'AAAA', `${challenge}=`, `${challenge}A`, challenge.slice(0, -1), ` ${challenge}`])
    t.notOk(good({ text }), text)
})
