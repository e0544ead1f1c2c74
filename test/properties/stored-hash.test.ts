import { deepEqual, equal, ok } from 'node:assert/strict'
import * as fc from 'fast-check'
import { needsRehash, parseStoredHash } from '../../lib/accounts/stored-hash.ts'
import { importedHashVerifier } from '../../lib/adapters/imported-hashes/imported-hash-verifier.ts'
import { almost, character, property, wordsOf } from './support/property.ts'

const WORDS = [
  '$',
  ',',
  '=',
  'm=',
  't=',
  'p=',
  'ln=',
  'r=',
  'i=',
  'keyid=',
  'data=',
  '$argon2id',
  '$scrypt',
  '$pbkdf2-sha256',
  'pbkdf2_sha256',
  '$2b$',
  '$wp',
  'bcrypt_sha256$',
  'argon2',
  'scrypt:',
  'scrypt$',
  'pbkdf2:sha256:',
  '$fbscrypt$v=1',
  'ss=',
  'sk=',
  '$P$',
  '$H$',
  'AQ',
  ':',
  '0',
  '1',
  '9',
  '99999',
  'AAAA',
  '+',
  '/',
  '.',
  '\n',
  ' ',
  '-'
]
const PASSWORD = 'SECRETpart'

const unpadded = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64').replaceAll('=', '')
const ofBytes = (length: number): fc.Arbitrary<string> =>
  fc.uint8Array({ minLength: length, maxLength: length }).map(unpadded)
/** Mostly one of the first values, which are valid together. */
const usually = <Value>(good: Value[], odd: Value[]): fc.Arbitrary<Value> =>
  fc.oneof({ arbitrary: fc.constantFrom(...good), weight: 6 }, { arbitrary: fc.constantFrom(...odd), weight: 1 })
const bytes = (good: number[], odd: number[]): fc.Arbitrary<string> => usually(good, odd).chain(ofBytes)
/** A number up to this limit, or just above it. */
const upTo = (least: number, limit: number): fc.Arbitrary<number> =>
  fc.oneof(
    { arbitrary: fc.integer({ min: least, max: limit }), weight: 6 },
    fc.constantFrom(least, limit, least - 1, limit + 1, limit * 16)
  )

const argon2 = fc
  .record({
    variant: usually(['argon2id', 'argon2i', 'argon2d'], ['argon2x']),
    version: usually(['$v=19', '$v=16', ''], ['$v=20']),
    m: fc.oneof(upTo(128, 70_000), upTo(8, 262_144)),
    t: upTo(1, 16),
    p: upTo(1, 16),
    swapped: fc.boolean(),
    more: usually(['', ',keyid=Ab+/0123', ',data=YWJj', ',keyid=AAAAAAAA,data=YWJj'], [',keyid=', ',x=1']),
    salt: bytes([8, 16, 64], [7, 65]),
    tag: bytes([12, 32, 128], [11, 129])
  })
  .map(
    ({ variant, version, m, t, p, swapped, more, salt, tag }) =>
      `$${variant}${version}$m=${m},${swapped ? `p=${p},t=${t}` : `t=${t},p=${p}`}${more}$${salt}$${tag}`
  )
const scrypt = fc
  .tuple(upTo(1, 18), upTo(1, 8), upTo(1, 16), bytes([1, 16, 100], [0, 800]), bytes([12, 32, 64], [11, 65]))
  .map(([ln, r, p, salt, tag]) => `$scrypt$ln=${ln},r=${r},p=${p}$${salt}$${tag}`)
const pbkdf2 = fc
  .tuple(
    usually(['-sha1', '-sha256', '-sha512', ''], ['-md5']),
    upTo(1, 2_000_000),
    bytes([16, 100], [0, 800]),
    bytes([12, 32, 64], [11, 65])
  )
  .map(([digest, iterations, salt, tag]) => `$pbkdf2${digest}$${iterations}$${salt}$${tag}`)
const django = fc
  .tuple(upTo(1, 2_000_000), usually(['salt'], ['', 'x'.repeat(129)]), fc.uint8Array({ minLength: 11, maxLength: 65 }))
  .map(([iterations, salt, tag]) => `pbkdf2_sha256$${iterations}$${salt}$${Buffer.from(tag).toString('base64')}`)
const bcrypt = fc
  .tuple(
    usually(['', '$wp', 'bcrypt$', 'bcrypt_sha256$'], ['$', 'wp']),
    usually(['2a', '2b', '2y'], ['2x']),
    upTo(4, 14)
  )
  .map(
    ([wrapper, name, cost]) =>
      `${wrapper}$${name}$${String(cost).padStart(2, '0')}$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW`
  )
const hex = (length: number): fc.Arbitrary<string> =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((of) => Buffer.from(of).toString('hex'))
const hexTag = usually([12, 32, 64], [11, 65]).chain(hex)
/** Powers of 2, which scrypt wants, and others. */
const powers = fc.oneof(
  { arbitrary: upTo(1, 18).map((exponent) => 2 ** exponent), weight: 6 },
  fc.integer({ min: 0, max: 70_000 })
)
const djangoScrypt = fc
  .tuple(powers, usually(['salt'], ['', 'x'.repeat(129)]), upTo(1, 8), upTo(1, 16), bytes([12, 32, 64], [11, 65]))
  .map(([N, salt, r, p, tag]) => `scrypt$${N}$${salt}$${r}$${p}$${tag}`)
const werkzeug = fc.oneof(
  fc.tuple(powers, upTo(1, 8), upTo(1, 16), hexTag).map(([N, r, p, tag]) => `scrypt:${N}:${r}:${p}$salt$${tag}`),
  fc.tuple(upTo(1, 2_000_000), hexTag).map(([iterations, tag]) => `pbkdf2:sha512:${iterations}$salt$${tag}`)
)
const firebase = fc
  .tuple(
    upTo(1, 16),
    upTo(1, 16),
    upTo(1, 4),
    usually([',ss=Bw==', ''], [',ss=']),
    usually([16, 64], [11, 12, 65]).chain((length) => fc.tuple(ofBytes(length), ofBytes(length))),
    bytes([1, 8], [0, 800])
  )
  .map(
    ([n, r, p, separator, [key, tag], salt]) =>
      `$fbscrypt$v=1,n=${n},r=${r},p=${p}${separator},sk=${key}$${salt}$${tag}`
  )
const ITOA64 = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const phpass = fc
  .tuple(
    usually(['P', 'H'], ['S']),
    upTo(7, 20).map((exponent) => ITOA64[exponent] ?? 'z'),
    usually(['.', '1'], ['z', '9'])
  )
  .map(([name, exponent, last]) => `$${name}$${exponent}iH/SmNO8YbcwyQ9MAl53JX8oA3qXo${last}`)
const aspNet = fc.oneof(
  fc
    .uint8Array({ minLength: 48, maxLength: 49 })
    .map((rest) => Buffer.from([0, ...rest.subarray(1)]).toString('base64')),
  fc
    .tuple(
      usually([0, 1, 2], [3, 2 ** 32 - 1]),
      upTo(1, 2_000_000),
      usually([16, 32], [0, 15, 17, 2 ** 32 - 1]),
      fc.uint8Array({ minLength: 44, maxLength: 100 })
    )
    .map(([digest, iterations, saltBytes, rest]) => {
      const head = Buffer.alloc(13, 1)
      for (const [index, value] of [digest, iterations, saltBytes].entries()) head.writeUInt32BE(value, 1 + 4 * index)
      return Buffer.concat([head, rest]).toString('base64')
    })
)
const imported = fc.oneof(scrypt, pbkdf2, django, bcrypt, djangoScrypt, werkzeug, firebase, phpass, aspNet)
const hash = fc.oneof({ arbitrary: argon2, weight: 3 }, { arbitrary: imported, weight: 9 })

/** Above these limits a hash is an attack on the process. Memory in bytes; work in blocks of 1 KiB, or in rounds. */
const BOUNDS = {
  memory: 256 * 1024 * 1024,
  argon2: 2 ** 20,
  scrypt: 2 ** 21,
  scryptR: 32,
  pbkdf2: 2_000_000,
  bcrypt: 14,
  parallelism: 16,
  firebase: { N: 2 ** 16, r: 16 },
  phpass: 2 ** 18
}

property(
  'P8 accepts a stored hash only within the limits, and refuses others without quoting them',
  [fc.oneof({ arbitrary: hash, weight: 4 }, almost(hash, [...WORDS, PASSWORD]), wordsOf([...WORDS, PASSWORD]))],
  {
    examples: [
      [`$argon2id$v=19$m=64,t=3,p=4$${'A'.repeat(1200)}$${'A'.repeat(43)}`],
      ['$argon2id$v=19$m=4194304,t=1,p=1$AAECAwQFBgcICQoLDA0ODw$RBjCXYboo4yjHH0P1K75vrL4xGciLt6io+o2v0yqSlo'],
      [PASSWORD]
    ],
    cases: ['argon2', 'bcrypt', 'scrypt', 'pbkdf2', 'firebase', 'phpass', 'unusable']
  },
  (encoded) => {
    const stored = parseStoredHash(encoded)
    if (stored.kind === 'unusable') {
      ok(/^[A-Za-z0-9 ]{5,60}$/.test(stored.reason))
      ok(!stored.reason.includes(PASSWORD))
      equal(needsRehash(stored, { memoryCost: 1, timeCost: 1, parallelism: 1 }, undefined), true)
      return stored.kind
    }
    ok(encoded.length <= 1024)
    if (stored.kind === 'bcrypt') ok(stored.cost >= 4 && stored.cost <= BOUNDS.bcrypt)
    if (stored.kind === 'pbkdf2') {
      ok(stored.iterations >= 1 && stored.iterations <= BOUNDS.pbkdf2)
      ok(stored.digest !== 'sha1' || stored.iterations * Math.ceil(stored.tag.length / 20) <= 5_500_000)
    }
    if (stored.kind === 'phpass')
      ok(
        stored.rounds >= 2 ** 7 &&
          stored.rounds <= BOUNDS.phpass &&
          stored.tag.length === 16 &&
          stored.salt.length === 8
      )
    if (stored.kind === 'firebase')
      ok(
        stored.N <= BOUNDS.firebase.N && stored.r <= BOUNDS.firebase.r && stored.signerKey.length === stored.tag.length
      )
    if (stored.kind === 'scrypt' || stored.kind === 'firebase') {
      const { N, r, p } = stored
      ok(
        N >= 2 &&
          r >= 1 &&
          r <= BOUNDS.scryptR &&
          p >= 1 &&
          p <= BOUNDS.parallelism &&
          128 * N * r <= BOUNDS.memory &&
          N * r * p <= BOUNDS.scrypt,
        `${N} ${r} ${p}`
      )
    }
    if (stored.kind === 'argon2') {
      const { memoryCost, timeCost, parallelism, saltBytes, tagBytes, plain, keyId } = stored
      ok(
        memoryCost * 1024 <= BOUNDS.memory &&
          memoryCost * timeCost <= BOUNDS.argon2 &&
          memoryCost >= 8 * parallelism &&
          timeCost >= 1 &&
          parallelism >= 1 &&
          parallelism <= BOUNDS.parallelism
      )
      ok(saltBytes >= 8 && saltBytes <= 64 && tagBytes >= 12 && tagBytes <= 128)
      const { keyId: _keyId, ...unpeppered } = stored
      deepEqual(parseStoredHash(plain), unpeppered, 'what the engine gets means the same')
      equal(
        needsRehash(stored, stored, keyId),
        stored.variant !== 'argon2id' || stored.version !== 19 || saltBytes < 16 || tagBytes < 32 || stored.hasData
      )
      equal(needsRehash(stored, { ...stored, memoryCost: memoryCost + 1 }, keyId), true)
    }
    return stored.kind
  }
)

/** Cheap parameters of each kind, because these tests check a parser and not speed. */
function isCheap(stored: ReturnType<typeof parseStoredHash>): boolean {
  if (stored.kind === 'bcrypt') return stored.cost <= 5
  if (stored.kind === 'pbkdf2') return stored.iterations <= 5000
  if (stored.kind === 'phpass') return stored.rounds <= 512
  return (stored.kind === 'scrypt' || stored.kind === 'firebase') && stored.N * stored.r * stored.p <= 2 ** 12
}

const CHEAP = [
  '$2b$04$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW',
  '$wp$2y$04$B1yyf4k3OyT2qT5xsOg/V.No3ySJn.b9fx/ZafkVvZJnuPaSZ3oJq',
  'bcrypt_sha256$$2b$04$5DTjB7VT7el7uGaGxO2gEuVv9NVuBdJ8OkArxSyOlqSiACTXQon3i',
  '$scrypt$ln=4,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$RBjCXYboo4yjHH0P1K75vrL4xGciLt6io+o2v0yqSlo',
  'scrypt$16$seasalt$8$1$RBjCXYboo4yjHH0P1K75vrL4xGciLt6io+o2v0yqSlo=',
  'scrypt:16:8:1$seasalt$29b9c97acbfa073f326fa8409b6f9be1a413ed55',
  '$fbscrypt$v=1,n=4,r=8,p=1,ss=Bw==,sk=AAECAwQFBgcICQoLDA0ODw==$MDEyMzQ1Njc4OWFi$RBjCXYboo4yjHH0P1K75vg==',
  '$P$5ye83fY1neyxFCCzCj817EN/m7Ngtk/',
  'pbkdf2:sha1:10$qZ7y35jWij0i5zMh$a119e1ce99579712233712060ec4e6727b6ab4f9',
  '$pbkdf2-sha256$10$AAECAwQFBgcICQoLDA0ODw$RBjCXYboo4yjHH0P1K75vrL4xGciLt6io+o2v0yqSlo',
  'AQAAAAIAAAAyAAAAEOMwvh3+FZxqkdMBz2ekgGhwQ4B6pZWND6zgESBuWiHw',
  'AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJg=='
]
const verifier = importedHashVerifier()

property(
  'P8 verifies each cheap parsed hash by its engine, and reports no match for a random password',
  [almost(fc.constantFrom(...CHEAP), WORDS), fc.string({ unit: character, maxLength: 90 })],
  {
    cases: ['bcrypt', 'scrypt', 'pbkdf2', 'firebase', 'phpass', 'not run'],
    share: 0.8
  },
  async (encoded, password) => {
    const stored = parseStoredHash(encoded)
    if (stored.kind === 'unusable' || stored.kind === 'argon2' || !isCheap(stored)) return 'not run'
    equal(await verifier.verify(stored, password), 'no_match')
    return stored.kind
  }
)
