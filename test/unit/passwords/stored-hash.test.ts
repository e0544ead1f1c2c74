import t from 'tap'
import { needsRehash, parseStoredHash } from '../../../lib/accounts/stored-hash.ts'

const SALT = 'AAECAwQFBgcICQoLDA0ODw'
const TAG = 'RBjCXYboo4yjHH0P1K75vrL4xGciLt6io+o2v0yqSlo'
const argon2 = (parameters: string, { variant = 'argon2id', version = '$v=19', salt = SALT, tag = TAG } = {}) => `$${variant}${version}$${parameters}$${salt}$${tag}`
const bcrypt = (cost: string) => `$2b$${cost}$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW`
const scrypt = (parameters: string) => `$scrypt$${parameters}$${SALT}$${TAG}`
const ofBytes = (length: number) => Buffer.alloc(length, 1).toString('base64').replace(/=+$/, '')

t.test('an argon2 string in all its forms', async (t) => {
  t.same(parseStoredHash(argon2('m=19456,t=2,p=1')), {
    kind: 'argon2', variant: 'argon2id', version: 19, memoryCost: 19456, timeCost: 2, parallelism: 1, saltBytes: 16, tagBytes: 32, hasData: false,
    plain: argon2('m=19456,t=2,p=1')
  })
  t.match(parseStoredHash(argon2('m=64,p=4,t=3')), { timeCost: 3, parallelism: 4, plain: argon2('m=64,t=3,p=4') }, 'the other order')
  t.match(parseStoredHash(argon2('m=64,t=3,p=4,keyid=Ab+/0123')), { keyId: 'Ab+/0123', plain: argon2('m=64,t=3,p=4') }, 'keyid')
  t.match(parseStoredHash(argon2('m=64,t=3,p=4,keyid=Ab+/0123,data=YWJj')), { hasData: true, plain: argon2('m=64,t=3,p=4,data=YWJj') }, 'data')
  t.match(parseStoredHash(argon2('m=64,t=3,p=4', { version: '' })), { version: 16, plain: argon2('m=64,t=3,p=4', { version: '$v=16' }) }, 'no version is 16')
  for (const variant of ['argon2i', 'argon2d']) t.match(parseStoredHash(argon2('m=64,t=3,p=4', { variant })), { variant })
})

t.test('DOS-stored-hash-bomb at the limit it may run, one beyond it may not', async (t) => {
  const usable: Array<[string, string]> = [
    ['argon2', argon2('m=262144,t=8,p=16')], ['argon2', argon2('m=131072,t=16,p=1')], ['argon2', argon2('m=8,t=1,p=1')], ['argon2', argon2('m=128,t=1,p=16')],
    ['bcrypt', bcrypt('14')], ['bcrypt', bcrypt('04')],
    ['scrypt', scrypt('ln=18,r=8,p=2')], ['scrypt', scrypt('ln=14,r=8,p=16')], ['scrypt', scrypt('ln=1,r=1,p=1')],
    ['pbkdf2', `$pbkdf2-sha256$i=2000000$${SALT}$${TAG}`], ['pbkdf2', `$pbkdf2-sha256$i=1$${SALT}$${TAG}`], ['pbkdf2', `pbkdf2_sha256$2000000$seasalt$${TAG}=`]
  ]
  for (const [kind, encoded] of usable) t.match(parseStoredHash(encoded), { kind }, encoded)

  const unusable: Array<[string, RegExp]> = [
    [argon2('m=262145,t=1,p=1'), /above/], [argon2('m=262144,t=9,p=1'), /above/], [argon2('m=64,t=17,p=1'), /above/], [argon2('m=256,t=1,p=17'), /above/],
    [argon2('m=4194304,t=1,p=1'), /above/], [argon2('m=9999999999,t=9999999999,p=9999999999'), /above/], [argon2('m=99999999999,t=1,p=1'), /malformed/],
    [argon2('m=7,t=1,p=1'), /below/], [argon2('m=127,t=1,p=16'), /below/], [argon2('m=64,t=0,p=1'), /below/], [argon2('m=64,t=1,p=0'), /below/],
    [bcrypt('15'), /above/], [bcrypt('31'), /above/], [bcrypt('99'), /above/], [bcrypt('03'), /malformed/], [bcrypt('+4'), /unknown/],
    [scrypt('ln=19,r=8,p=1'), /above/], [scrypt('ln=18,r=9,p=1'), /above/], [scrypt('ln=18,r=8,p=3'), /above/], [scrypt('ln=4,r=8,p=17'), /above/],
    [scrypt('ln=9999999999,r=8,p=1'), /above/], [scrypt('ln=10,r=9999999999,p=1'), /above/], [scrypt('ln=0,r=8,p=1'), /below/], [scrypt('ln=16,r=1,p=1'), /below/], [scrypt('ln=4,r=0,p=1'), /below/],
    [`$pbkdf2-sha256$i=2000001$${SALT}$${TAG}`, /above/], [`$pbkdf2-sha256$2000001$${SALT}$${TAG}`, /above/], [`pbkdf2_sha256$2000001$seasalt$${TAG}=`, /above/],
    [`$pbkdf2-sha256$i=0$${SALT}$${TAG}`, /malformed/], [`$pbkdf2-sha256$i=1$${SALT}$${ofBytes(65)}`, /malformed/], [`$scrypt$ln=4,r=8,p=1$${SALT}$${ofBytes(65)}`, /malformed/]
  ]
  for (const [encoded, reason] of unusable) t.match(parseStoredHash(encoded), { kind: 'unusable', reason }, encoded)
})

t.test('DOS-stored-hash-bomb salt, tag and the whole have bounds', async (t) => {
  const bounds: Array<[salt: number, tag: number, usable: boolean]> = [[8, 12, true], [64, 128, true], [7, 12, false], [65, 32, false], [8, 11, false], [16, 129, false]]
  for (const [salt, tag, usable] of bounds) t.equal(parseStoredHash(argon2('m=64,t=3,p=4', { salt: ofBytes(salt), tag: ofBytes(tag) })).kind, usable ? 'argon2' : 'unusable', `salt of ${salt} bytes, tag of ${tag}`)
  for (const bytes of [12, 64]) t.equal(parseStoredHash(`$scrypt$ln=4,r=8,p=1$${SALT}$${ofBytes(bytes)}`).kind, 'scrypt', `tag of ${bytes}`)
  // Forms whose salt has no bound of its own: good hashes but for their length.
  const scryptOf = (bytes: number): string => `$scrypt$ln=4,r=8,p=1$${ofBytes(bytes)}$${TAG}`
  t.equal(parseStoredHash(scryptOf(700)).kind, 'scrypt')
  t.match(parseStoredHash(scryptOf(800)), { kind: 'unusable', reason: 'hash too long' })
  const pbkdf2Of = (bytes: number): string => `$pbkdf2-sha256$1000$${ofBytes(bytes)}$${TAG}`
  t.equal(parseStoredHash(pbkdf2Of(700)).kind, 'pbkdf2')
  t.match(parseStoredHash(pbkdf2Of(800)), { kind: 'unusable', reason: 'hash too long' })
})

t.test('what is malformed may not run, and the reason holds nothing of it', async (t) => {
  const table = [
    '', 'plain', 'password', '$', '$argon2id$', argon2('m=64,t=3'), argon2('t=3,m=64,p=4'), argon2('m=064,t=3,p=4'), argon2('m=-64,t=3,p=4'), argon2('m=6e1,t=3,p=4'),
    argon2('m=64,t=3,p=4,x=1'), argon2('m=64,t=3,p=4,keyid='), argon2('m=64,t=3,p=4', { version: '$v=20' }), argon2('m=64,t=3,p=4', { variant: 'argon2x' }),
    argon2('m=64,t=3,p=4', { salt: '' }), argon2('m=64,t=3,p=4', { tag: '' }), argon2('m=64,t=3,p=4', { salt: ofBytes(7) }), argon2('m=64,t=3,p=4', { tag: ofBytes(11) }),
    argon2('m=64,t=3,p=4', { salt: 'AAECAwQFBgcICQoLDA0ODx' }), argon2('m=64,t=3,p=4', { salt: 'A'.repeat(13) }), `${argon2('m=64,t=3,p=4')}=`, `${argon2('m=64,t=3,p=4')}\n`, ` ${argon2('m=64,t=3,p=4')}`,
    argon2('m=64,t=3,p=4', { tag: 'A'.repeat(1000) }), '$2b$10$short', ` ${bcrypt('10')}`, `${bcrypt('10')}A`, `${bcrypt('10')}\n`, '$2x$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW', '$1$abcdefgh$0123456789012345678901',
    '$scrypt$ln=4,r=8,p=1$', `$scrypt$ln=4,r=8,p=1$${SALT}$${ofBytes(11)}`, `$pbkdf2-md5$1000$${SALT}$${TAG}`, `$pbkdf2-sha256$1000$${SALT}$AAAA`, 'x'.repeat(1_000_000)
  ]
  for (const encoded of table) {
    const parsed = parseStoredHash(encoded)
    t.equal(parsed.kind, 'unusable', encoded.slice(0, 80))
    if (parsed.kind === 'unusable') t.match(parsed.reason, /^[a-zA-Z0-9 ]{5,60}$/)
  }
})

t.test('ASVS-11.4.2 what is made anew at the next sign-in', async (t) => {
  const current = { memoryCost: 19456, timeCost: 2, parallelism: 1 }
  const table: Array<[what: string, encoded: string, keyId: string | undefined, expected: boolean]> = [
    ['current', argon2('m=19456,t=2,p=1'), undefined, false],
    ['current, other order', argon2('m=19456,p=1,t=2'), undefined, false],
    ['current pepper', argon2('m=19456,t=2,p=1,keyid=AAAAAAAA'), 'AAAAAAAA', false],
    ['longer salt and tag', argon2('m=19456,t=2,p=1', { salt: ofBytes(32), tag: ofBytes(64) }), undefined, false],
    ['less memory', argon2('m=19455,t=2,p=1'), undefined, true],
    ['more memory', argon2('m=19457,t=2,p=1'), undefined, true],
    ['other time', argon2('m=19456,t=3,p=1'), undefined, true],
    ['other parallelism', argon2('m=19456,t=2,p=2'), undefined, true],
    ['argon2i', argon2('m=19456,t=2,p=1', { variant: 'argon2i' }), undefined, true],
    ['argon2d', argon2('m=19456,t=2,p=1', { variant: 'argon2d' }), undefined, true],
    ['version 16', argon2('m=19456,t=2,p=1', { version: '$v=16' }), undefined, true],
    ['no version', argon2('m=19456,t=2,p=1', { version: '' }), undefined, true],
    ['15 byte salt', argon2('m=19456,t=2,p=1', { salt: ofBytes(15) }), undefined, true],
    ['31 byte tag', argon2('m=19456,t=2,p=1', { tag: ofBytes(31) }), undefined, true],
    ['data', argon2('m=19456,t=2,p=1,data=YWJj'), undefined, true],
    ['no pepper yet', argon2('m=19456,t=2,p=1'), 'AAAAAAAA', true],
    ['older pepper', argon2('m=19456,t=2,p=1,keyid=BBBBBBBB'), 'AAAAAAAA', true],
    ['pepper turned off', argon2('m=19456,t=2,p=1,keyid=BBBBBBBB'), undefined, true],
    ['bcrypt', bcrypt('12'), undefined, true],
    ['scrypt', scrypt('ln=17,r=8,p=1'), undefined, true],
    ['PBKDF2', `$pbkdf2-sha256$i=600000$${SALT}$${TAG}`, undefined, true],
    ['unusable', 'plain', undefined, true]
  ]
  for (const [what, encoded, keyId, expected] of table) t.equal(needsRehash(parseStoredHash(encoded), current, keyId), expected, what)
})

t.test('of PBKDF2, which digest', async (t) => {
  for (const digest of ['sha1', 'sha256', 'sha512']) {
    t.match(parseStoredHash(`$pbkdf2-${digest}$i=1000$${SALT}$${TAG}`), { kind: 'pbkdf2', digest, iterations: 1000 })
    t.match(parseStoredHash(`pbkdf2_${digest}$1000$salt$${TAG}=`), { kind: 'pbkdf2', digest, iterations: 1000 })
  }
  t.match(parseStoredHash(`$pbkdf2$1000$${SALT}$${TAG}`), { kind: 'pbkdf2', digest: 'sha1', iterations: 1000 }, 'of passlib, no name is SHA-1')
  t.match(parseStoredHash(`$pbkdf2-sha256$1000$${SALT}$${ofBytes(30).slice(0, -2)}..`), { kind: 'pbkdf2' }, 'passlib writes a dot for a plus')
  t.match(parseStoredHash(`$pbkdf2-sha256$1000$${SALT}$${ofBytes(11)}`), { kind: 'unusable', reason: 'malformed PBKDF2 hash' })
})

t.test('what is wrong with a hash is said', async (t) => {
  for (const [encoded, reason] of [
    ['$argon2id$', 'malformed argon2 hash'], ['$argon2x$v=19$m=64,t=1,p=1$a$b', 'malformed argon2 hash'], ['$scrypt$', 'malformed scrypt hash'], ['$scrypt$ln=x', 'malformed scrypt hash'],
    [`$scrypt$ln=4,r=0,p=1$${SALT}$${TAG}`, 'scrypt parameters below what RFC 7914 allows'], [`$scrypt$ln=4,r=1,p=0$${SALT}$${TAG}`, 'scrypt parameters below what RFC 7914 allows'], ['', 'unknown hash format'], ['x', 'unknown hash format']
  ] as const) t.strictSame(parseStoredHash(encoded), { kind: 'unusable', reason }, encoded)
  t.match(parseStoredHash(`$scrypt$ln=4,r=8,p=1$AA$${TAG}`), { kind: 'scrypt' }, 'a salt of one byte')
  t.match(parseStoredHash(`$scrypt$ln=4,r=8,p=1$AB$${TAG}`), { reason: 'malformed scrypt salt or tag' }, 'in one spelling only')
  t.notOk('keyId' in parseStoredHash(argon2('m=64,t=1,p=1')))
  t.strictSame(needsRehash(parseStoredHash(bcrypt('10')), { memoryCost: 64, timeCost: 1, parallelism: 1 }, undefined), true)
  t.strictSame(needsRehash({ ...parseStoredHash(argon2('m=64,t=1,p=1')), kind: 'scrypt' } as never, { memoryCost: 64, timeCost: 1, parallelism: 1 }, undefined), true)
})
