import { deepEqual, equal, match, ok } from 'node:assert/strict'
import * as fc from 'fast-check'
import { passwordPolicyOptions } from '../support/password-policy.ts'
import { createPasswordPolicy } from '../../lib/accounts/password-policy.ts'
import { checkNewUsername, emailOf, normalizeUsername } from '../../lib/accounts/username.ts'
import { steppedClock } from '../../lib/testing/index.ts'
import { almost, character, property, wordsOf } from './support/property.ts'

const WORDS = [
  'a',
  'Z',
  '0',
  'ann',
  'ADA',
  '@',
  '.',
  '-',
  '_',
  '+',
  'example.com',
  'EXAMPLE',
  'xn--',
  'bücher.example',
  'é',
  'e\u0301',
  'É',
  '\u212a',
  '\u0130',
  'ß',
  '\uff21',
  'ﬁ',
  'σ',
  'ς',
  ' ',
  ',',
  '"',
  '<',
  '\u200b',
  '\u202e',
  '/',
  '%',
  '\u3002'
]
const name = fc.oneof(
  fc.constantFrom('ann', 'Ada.Lovelace', 'j-p_1'),
  fc.stringMatching(/^[a-z0-9][a-z0-9._-]{2,10}$/),
  fc
    .tuple(
      fc.stringMatching(/^[A-Za-z0-9._+-]{1,8}$/),
      fc.constantFrom(
        'example.com',
        'mail.Example.org',
        'bücher.example',
        'xn--bcher-kva.example',
        'localhost',
        '10.0.0.1'
      )
    )
    .map((parts) => parts.join('@'))
)

property(
  'P11 normalizes a username to one form, regardless of case and decomposed accents',
  [
    fc.oneof(
      { arbitrary: name, weight: 2 },
      almost(name, WORDS),
      wordsOf(WORDS, 6),
      fc.string({ unit: character, maxLength: 300 })
    )
  ],
  {
    examples: [
      ['\u212aelvin'],
      ['\u0130stanbul'],
      ['ß@example.com'],
      ['a@bücher.example'],
      ['a@xn--bcher-kva.example'],
      ['a@b@c'],
      ['a'.repeat(255)]
    ],
    cases: ['new account', 'known at most', 'none']
  },
  (input) => {
    const normal = normalizeUsername(input)
    if (normal === null) return 'none'
    equal(normalizeUsername(normal), normal)
    equal(normalizeUsername(input.normalize('NFD')), normal)
    const swapped = input.replace(/[a-z]+|[A-Z]+/g, (letters) =>
      /[a-z]/.test(letters) ? letters.toUpperCase() : letters.toLowerCase()
    )
    equal(normalizeUsername(swapped), normal, swapped)
    ok(normal.length >= 1 && normal.length <= 254)
    // oxlint-disable-next-line eslint/no-control-regex -- they are what this is about
    ok(!/[\s\u0000-\u0020\u007f,"<>\u200b\u202e\ufeff]/.test(normal))
    equal(Buffer.from(normal).toString(), normal, 'no half of a character')

    const reason = checkNewUsername(normal)
    if (reason !== null) {
      match(reason, /^The [\w ,.:@-]+\.$/)
      return 'known at most'
    }
    const email = emailOf(normal)
    equal(email !== null, normal.includes('@'))
    if (email !== null) {
      equal(email, normal)
      match(email, /^[!-~]+@[a-z0-9.-]+\.[a-z0-9-]+$/)
      equal(new URL(`https://${email.slice(email.indexOf('@') + 1)}`).hostname, email.slice(email.indexOf('@') + 1))
    } else match(normal, /^[a-z0-9][a-z0-9._-]{2,63}$/)
    return 'new account'
  }
)

const MIN = 8
const MAX = 72
const policy = createPasswordPolicy(
  passwordPolicyOptions({ minLength: MIN, maxBytes: MAX, contextWords: ['authority', 'example'] }),
  {
    clock: steppedClock(),
    onHookFailure(error) {
      throw error
    }
  }
)
const owner = { username: 'ada.lovelace', email: 'ada@example.com' }
const PASSWORD_WORDS = [
  'ada',
  'lovelace',
  'ada.lovelace',
  'Authority',
  'EXAMPLE',
  'example.com',
  '1234',
  '!',
  '.',
  '-',
  ' ',
  'correct',
  'horse',
  'pass',
  'word',
  'password',
  'qwerty',
  '\u{1f600}',
  'é',
  'e\u0301'
]
const password = fc.oneof(
  wordsOf(PASSWORD_WORDS, 5),
  fc.string({ minLength: 6, maxLength: 40 }),
  fc.string({ unit: character, maxLength: 40 }),
  fc.constantFrom('\ud800'.repeat(9), 'x'.repeat(MAX), 'é'.repeat(MAX))
)

property(
  'P11 accepts only a password of allowed length that is more than known words',
  [password],
  {
    examples: [
      ['Ada.Lovelace1'],
      ['example-ada!'],
      ['password1234'],
      ['\u{1f600}'.repeat(8)],
      ['\u{1f600}'.repeat(7)],
      ['correct horse battery']
    ],
    cases: ['good', 'refused']
  },
  async (password) => {
    const refusal = await policy.check(password, owner)
    deepEqual(await policy.check(password, owner), refusal)
    // `fits` allows every accepted password, and refuses a password by its length and characters only.
    const length = Buffer.byteLength(password)
    equal(policy.fits(password), length <= MAX && Buffer.from(password).toString() === password)
    if (refusal !== null) {
      match(refusal.message, /^[A-Z].*\.$/)
      return 'refused'
    }
    ok(policy.fits(password))
    ok([...password].length >= MIN && length <= MAX)
    let rest = password.normalize('NFC').toLowerCase()
    for (const word of ['ada.lovelace', 'ada@example.com', 'lovelace', 'authority', 'example'])
      rest = rest.replaceAll(word, ' ')
    ok(rest === password.normalize('NFC').toLowerCase() || [...rest.replace(/[^\p{L}\p{M}]/gu, '')].length >= 4, rest)
    return 'good'
  }
)
