import t from '../../support/tap.ts'
import { checkNewUsername, emailOf, normalizeUsername } from '../../../lib/accounts/username.ts'
import { processorSeconds } from '../../support/in-time.ts'

const composed = 'jos\u00e9@example.com'
const at254 = `${'a'.repeat(64)}@${`${'b'.repeat(59)}.`.repeat(3)}${'c'.repeat(6)}.de`

// covers POL-email-identifier
t.test('normalizes a username to one form, and rejects forbidden characters and lengths', async (t) => {
  const table: Array<[what: string, input: string, expected: string | null]> = [
    ['plain', 'ada@example.com', 'ada@example.com'],
    ['upper case', 'ADA@EXAMPLE.COM', 'ada@example.com'],
    ['plus tag and dots stay', 'A.d.a+x@example.com', 'a.d.a+x@example.com'],
    ['NFC', composed, composed],
    ['NFD', composed.normalize('NFD'), composed],
    ['IDN domain', 'ada@B\u00dcCHER.example', 'ada@xn--bcher-kva.example'],
    ['IDN domain, ASCII form', 'ada@XN--BCHER-KVA.example', 'ada@xn--bcher-kva.example'],
    ['IDN domain with a path', 'ada@b\u00fccher.example/x', null],
    ['IDN domain with an escape', 'ada@b\u00fccher%2eexample', null],
    ['dotless i is not i', 'd\u0131ana', 'd\u0131ana'],
    ['dotted capital I', 'D\u0130ANA', null],
    ['KELVIN SIGN', '\u212aate', null],
    ['ANGSTROM SIGN', '\u212bsa', null],
    ['full-width at', 'ada\uff20example.com', null],
    ['full-width letters', '\uff41da', null],
    ['ligature', 'o\ufb03ce', null],
    ['long s', 'mi\u017fs', null],
    ['zero-width space', 'ad\u200ba', null],
    ['zero-width joiner', 'ad\u200da', null],
    ['soft hyphen', 'ad\u00ada', null],
    ['right-to-left override', '\u202eada', null],
    ['Hangul filler', 'ad\u115fa', null],
    ['byte order mark', '\ufeffada', null],
    ['leading space', ' ada', null],
    ['trailing space', 'ada ', null],
    ['inner space', 'a da', null],
    ['no-break space', 'a\u00a0da', null],
    ['CRLF', 'ada@example.com\r\nBcc: eve@example.com', null],
    ['line feed at the end', 'ada\n', null],
    ['NUL', 'ada\0', null],
    ['delete', 'ada\x7f', null],
    ['lone surrogate', 'ada\ud800', null],
    ['comma', 'ada@example.com,eve@example.com', null],
    ['quote', '"ada"@example.com', null],
    ['angle brackets', '<ada@example.com>', null],
    ['empty', '', null],
    ['254 characters', at254, at254],
    ['255 characters', `a${at254}`, null],
    ['254 characters that become more in ASCII', `${'a'.repeat(64)}@${'\u00fc.'.repeat(90)}example`, null]
  ]
  t.equal(at254.length, 254)
  for (const [what, input, expected] of table) t.equal(normalizeUsername(input), expected, what)
})

// covers POL-email-identifier POL-username
t.test('accepts a new username only as an email address or a plain name of 3 to 64 characters', async (t) => {
  const allowed = [
    'ada@example.com',
    'a.d.a+tag@sub.example.co',
    "o'neill@example.com",
    'a@b.de',
    'ada@xn--bcher-kva.example',
    'ada@1and1.com',
    at254,
    'ada',
    'ada.lovelace',
    '0x_-.',
    'a'.repeat(64)
  ]
  for (const name of allowed) t.equal(checkNewUsername(name), null, name)

  const refused = [
    'ada@example',
    'ada@',
    '@example.com',
    'ada@@example.com',
    'a@b@example.com',
    '.ada@example.com',
    'ada.@example.com',
    'a..da@example.com',
    'ada@.example.com',
    'ada@example.com.',
    'ada@example..com',
    'ada@-example.com',
    'ada@example-.com',
    'ada@ex_ample.com',
    'ada@127.0.0.1',
    'ada@[127.0.0.1]',
    'ada@[::1]',
    'ada@127.1',
    'ada@1.2.3.0x4',
    'ada@xn--a.com',
    'ada@xn--1ug.com',
    'ada(x)@example.com',
    'ada\\x@example.com',
    'a:b@example.com',
    `${'a'.repeat(65)}@example.com`,
    `ada@${'b'.repeat(64)}.com`,
    composed,
    'ada@xn--\u00fc.example',
    'ada@b\u00fccher.example',
    'ad',
    'a'.repeat(65),
    '.ada',
    '-ada',
    '_ada',
    'Ada',
    'ad a',
    'd\u0131ana',
    '\u0430da',
    'ada!',
    ''
  ]
  for (const name of refused)
    t.match(checkNewUsername(name), /^The [\x20\x21\x23-\x5b\x5d-\x7e]+\.$/, JSON.stringify(name))
})

t.test('uses a username as the email address only if it is a valid address', async (t) => {
  t.equal(emailOf('ada@example.com'), 'ada@example.com')
  t.equal(emailOf('ada'), null)
  t.equal(emailOf('ada@localhost'), null)
  t.equal(emailOf(''), null)
})

t.test('checks the worst names and a name of five megabytes within two seconds', async (t) => {
  const worst = ['a.'.repeat(120), `a@${'a-'.repeat(120)}`, `${'a'.repeat(250)}!`, `a@${'a.'.repeat(120)}`]
  for (const name of worst) t.not(checkNewUsername(name), null)
  t.ok(
    (await processorSeconds(() => {
      t.equal(normalizeUsername('a'.repeat(5_000_000)), null)
      for (const name of worst) for (let round = 0; round < 100; round++) checkNewUsername(name)
    })) < 2
  )
})

// covers POL-email-identifier
t.test('rejects a new email address whose domain is not a host name with a top-level domain', async (t) => {
  for (const domain of ['123.example', 'example.1a', 'example.a1', 'a.12b', 'xn--bcher-kva.example'])
    t.equal(checkNewUsername(`ada@${domain}`), null, domain)
  for (const domain of [
    'example',
    'example.123',
    'example.12',
    'example.1',
    'a..example',
    '.example',
    'example.',
    'a.xn--a',
    'xn--zz.example',
    'a_b.example',
    '-a.example',
    'a-.example',
    `${'a'.repeat(64)}.example`
  ])
    t.equal(checkNewUsername(`ada@${domain}`), 'The email address is not valid.', domain)
})

// covers POL-email-identifier
t.test('refuses a new name that is not in normal form', async (t) => {
  for (const name of ['ADA', 'Ada@example.com', 'a b', 'ada@b\u00fccher.example', '', 'a'.repeat(255)])
    t.equal(checkNewUsername(name), 'The username holds characters that are not allowed.', name)
  t.equal(normalizeUsername('a'.repeat(254)), 'a'.repeat(254))
  t.equal(normalizeUsername('a@b@c'), 'a@b@c', 'with two of them it is no email address, and is looked up as it is')
  t.equal(normalizeUsername(`a@b@${'c'.repeat(250)}`), `a@b@${'c'.repeat(250)}`)
  t.equal(normalizeUsername('\u00c4da'), '\u00e4da')
})
