import { deepEqual, equal, ok } from 'node:assert/strict'
import * as fc from 'fast-check'
import { needsRehash, parseStoredHash } from '../../lib/accounts/stored-hash.ts'
import { almost, property, wordsOf } from './support/property.ts'

const WORDS = ['$', ',', '=', 'm=', 't=', 'p=', 'ln=', 'r=', 'i=', 'keyid=', 'data=', '$argon2id', '$scrypt', '$pbkdf2-sha256', 'pbkdf2_sha256', '$2b$', '0', '1', '9', '99999', 'AAAA', '+', '/', '.', '\n', ' ', '-']
const PASSWORD = 'SECRETpart'

const unpadded = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64').replaceAll('=', '')
const ofBytes = (length: number): fc.Arbitrary<string> => fc.uint8Array({ minLength: length, maxLength: length }).map(unpadded)
/** Mostly one of the first, which are good together. */
const usually = <Value>(good: Value[], odd: Value[]): fc.Arbitrary<Value> => fc.oneof({ arbitrary: fc.constantFrom(...good), weight: 6 }, { arbitrary: fc.constantFrom(...odd), weight: 1 })
const bytes = (good: number[], odd: number[]): fc.Arbitrary<string> => usually(good, odd).chain(ofBytes)
/** A number up to this limit, or where it is crossed. */
const upTo = (least: number, limit: number): fc.Arbitrary<number> => fc.oneof({ arbitrary: fc.integer({ min: least, max: limit }), weight: 6 }, fc.constantFrom(least, limit, least - 1, limit + 1, limit * 16))

const argon2 = fc.record({
  variant: usually(['argon2id', 'argon2i', 'argon2d'], ['argon2x']),
  version: usually(['$v=19', '$v=16', ''], ['$v=20']),
  m: fc.oneof(upTo(128, 70_000), upTo(8, 262_144)),
  t: upTo(1, 16),
  p: upTo(1, 16),
  swapped: fc.boolean(),
  more: usually(['', ',keyid=Ab+/0123', ',data=YWJj', ',keyid=AAAAAAAA,data=YWJj'], [',keyid=', ',x=1']),
  salt: bytes([8, 16, 64], [7, 65]),
  tag: bytes([12, 32, 128], [11, 129])
}).map(({ variant, version, m, t, p, swapped, more, salt, tag }) => `$${variant}${version}$m=${m},${swapped ? `p=${p},t=${t}` : `t=${t},p=${p}`}${more}$${salt}$${tag}`)
const scrypt = fc.tuple(upTo(1, 18), upTo(1, 8), upTo(1, 16), bytes([1, 16, 100], [0, 800]), bytes([12, 32, 64], [11, 65])).map(([ln, r, p, salt, tag]) => `$scrypt$ln=${ln},r=${r},p=${p}$${salt}$${tag}`)
const pbkdf2 = fc.tuple(usually(['-sha1', '-sha256', '-sha512', ''], ['-md5']), upTo(1, 2_000_000), bytes([16, 100], [0, 800]), bytes([12, 32, 64], [11, 65])).map(([digest, iterations, salt, tag]) => `$pbkdf2${digest}$${iterations}$${salt}$${tag}`)
const django = fc.tuple(upTo(1, 2_000_000), usually(['salt'], ['', 'x'.repeat(129)]), fc.uint8Array({ minLength: 11, maxLength: 65 })).map(([iterations, salt, tag]) => `pbkdf2_sha256$${iterations}$${salt}$${Buffer.from(tag).toString('base64')}`)
const bcrypt = fc.tuple(usually(['2a', '2b', '2y'], ['2x']), upTo(4, 14)).map(([name, cost]) => `$${name}$${String(cost).padStart(2, '0')}$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW`)
const hash = fc.oneof({ arbitrary: argon2, weight: 3 }, scrypt, pbkdf2, django, bcrypt)

/** Above these a hash is no hash but a way to stop the process. Memory in bytes; work in blocks of 1 KiB, or in rounds. */
const BOUNDS = { memory: 256 * 1024 * 1024, argon2: 2 ** 21, scrypt: 2 ** 22, pbkdf2: 2_000_000, bcrypt: 14, parallelism: 16 }

property('P8 a stored hash runs only within bounds of memory and work, and what may not run is told without a part of it', [fc.oneof({ arbitrary: hash, weight: 4 }, almost(hash, [...WORDS, PASSWORD]), wordsOf([...WORDS, PASSWORD]))], {
  examples: [[`$argon2id$v=19$m=64,t=3,p=4$${'A'.repeat(1200)}$${'A'.repeat(43)}`], ['$argon2id$v=19$m=4194304,t=1,p=1$AAECAwQFBgcICQoLDA0ODw$RBjCXYboo4yjHH0P1K75vrL4xGciLt6io+o2v0yqSlo'], [PASSWORD]],
  cases: ['argon2', 'bcrypt', 'scrypt', 'pbkdf2', 'unusable']
}, (encoded) => {
  const stored = parseStoredHash(encoded)
  if (stored.kind === 'unusable') {
    ok(/^[A-Za-z0-9 ]{5,60}$/.test(stored.reason))
    ok(!stored.reason.includes(PASSWORD))
    equal(needsRehash(stored, { memoryCost: 1, timeCost: 1, parallelism: 1 }, undefined), true)
    return stored.kind
  }
  ok(encoded.length <= 1024)
  if (stored.kind === 'bcrypt') ok(stored.cost >= 4 && stored.cost <= BOUNDS.bcrypt)
  if (stored.kind === 'pbkdf2') ok(stored.iterations >= 1 && stored.iterations <= BOUNDS.pbkdf2)
  if (stored.kind === 'scrypt') {
    const { N, r, p } = stored
    ok(N >= 2 && r >= 1 && p >= 1 && p <= BOUNDS.parallelism && 128 * N * r <= BOUNDS.memory && N * r * p <= BOUNDS.scrypt, `${N} ${r} ${p}`)
  }
  if (stored.kind === 'argon2') {
    const { memoryCost, timeCost, parallelism, saltBytes, tagBytes, plain, keyId } = stored
    ok(memoryCost * 1024 <= BOUNDS.memory && memoryCost * timeCost <= BOUNDS.argon2 && memoryCost >= 8 * parallelism && timeCost >= 1 && parallelism >= 1 && parallelism <= BOUNDS.parallelism)
    ok(saltBytes >= 8 && saltBytes <= 64 && tagBytes >= 12 && tagBytes <= 128)
    const { keyId: _keyId, ...unpeppered } = stored
    deepEqual(parseStoredHash(plain), unpeppered, 'what the engine gets means the same')
    equal(needsRehash(stored, stored, keyId), stored.variant !== 'argon2id' || stored.version !== 19 || saltBytes < 16 || tagBytes < 32 || stored.hasData)
    equal(needsRehash(stored, { ...stored, memoryCost: memoryCost + 1 }, keyId), true)
  }
  return stored.kind
})
