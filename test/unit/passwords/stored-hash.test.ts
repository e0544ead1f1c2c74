import t from '../../support/tap.ts'
import { needsRehash, parseStoredHash } from '../../../lib/accounts/stored-hash.ts'

const SALT = 'AAECAwQFBgcICQoLDA0ODw'
const TAG = 'RBjCXYboo4yjHH0P1K75vrL4xGciLt6io+o2v0yqSlo'
const argon2 = (parameters: string, { variant = 'argon2id', version = '$v=19', salt = SALT, tag = TAG } = {}) =>
  `$${variant}${version}$${parameters}$${salt}$${tag}`
const bcrypt = (cost: string) => `$2b$${cost}$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW`
const scrypt = (parameters: string) => `$scrypt$${parameters}$${SALT}$${TAG}`
const HEX_TAG = Buffer.from(TAG, 'base64').toString('hex')
const firebase = (parameters: string, { version = 'v=1', key = TAG, salt = SALT, tag = TAG } = {}) =>
  `$fbscrypt$${version},${parameters},ss=Bw==,sk=${key}$${salt}$${tag}`
const phpass = (exponent: string) => `$P$${exponent}iH/SmNO8YbcwyQ9MAl53JX8oA3qXo1`
/**
 * A hash of version 3 of ASP.NET Core Identity: a header with digest, iterations and length of the salt, then `salt`
 * and `tag` bytes.
 */
function aspNet(
  digest: number,
  iterations: number,
  saltBytes: number,
  { salt = 16, tag = 32, version = 1 } = {}
): string {
  const head = Buffer.from([version, ...Array<number>(12).fill(0)])
  for (const [index, value] of [digest, iterations, saltBytes].entries()) head.writeUInt32BE(value, 1 + 4 * index)
  return Buffer.concat([head, Buffer.alloc(salt + tag, 1)]).toString('base64')
}
const ofBytes = (length: number) => Buffer.alloc(length, 1).toString('base64').replace(/=+$/, '')

t.test('parses an argon2 string with each order, version, variant and optional parameter', async (t) => {
  t.same(parseStoredHash(argon2('m=19456,t=2,p=1')), {
    kind: 'argon2',
    variant: 'argon2id',
    version: 19,
    memoryCost: 19456,
    timeCost: 2,
    parallelism: 1,
    saltBytes: 16,
    tagBytes: 32,
    hasData: false,
    plain: argon2('m=19456,t=2,p=1')
  })
  t.match(
    parseStoredHash(argon2('m=64,p=4,t=3')),
    { timeCost: 3, parallelism: 4, plain: argon2('m=64,t=3,p=4') },
    'the other order'
  )
  t.match(
    parseStoredHash(argon2('m=64,t=3,p=4,keyid=Ab+/0123')),
    { keyId: 'Ab+/0123', plain: argon2('m=64,t=3,p=4') },
    'keyid'
  )
  t.match(
    parseStoredHash(argon2('m=64,t=3,p=4,keyid=Ab+/0123,data=YWJj')),
    { hasData: true, plain: argon2('m=64,t=3,p=4,data=YWJj') },
    'data'
  )
  t.match(
    parseStoredHash(argon2('m=64,t=3,p=4', { version: '' })),
    { version: 16, plain: argon2('m=64,t=3,p=4', { version: '$v=16' }) },
    'no version is 16'
  )
  for (const variant of ['argon2i', 'argon2d'])
    t.match(parseStoredHash(argon2('m=64,t=3,p=4', { variant })), { variant })
})

t.test('DOS-stored-hash-bomb accepts parameters at the limit, and refuses the next higher ones', async (t) => {
  const usable: Array<[string, string]> = [
    ['argon2', argon2('m=262144,t=4,p=16')],
    ['argon2', argon2('m=65536,t=16,p=1')],
    ['argon2', argon2('m=8,t=1,p=1')],
    ['argon2', argon2('m=128,t=1,p=16')],
    ['bcrypt', bcrypt('14')],
    ['bcrypt', bcrypt('04')],
    ['scrypt', scrypt('ln=17,r=8,p=2')],
    ['scrypt', scrypt('ln=14,r=8,p=16')],
    ['scrypt', scrypt('ln=18,r=8,p=1')],
    ['scrypt', scrypt('ln=16,r=32,p=1')],
    ['scrypt', scrypt('ln=1,r=32,p=16')],
    ['scrypt', scrypt('ln=1,r=1,p=1')],
    ['bcrypt', `$wp${bcrypt('14')}`],
    ['bcrypt', `bcrypt_sha256$${bcrypt('14')}`],
    ['bcrypt', `bcrypt$${bcrypt('04')}`],
    ['argon2', `argon2${argon2('m=262144,t=4,p=16')}`],
    ['scrypt', `scrypt$131072$salt$8$2$${TAG}=`],
    ['scrypt', `scrypt$2$s$1$1$${TAG}`],
    ['scrypt', `scrypt:262144:8:1$salt$${HEX_TAG}`],
    ['firebase', firebase('n=16,r=16,p=2')],
    ['firebase', firebase('n=1,r=1,p=1')],
    ['phpass', phpass('5')],
    ['phpass', phpass('G')],
    ['pbkdf2', aspNet(1, 2_000_000, 16)],
    ['pbkdf2', aspNet(2, 1, 16, { tag: 64 })],
    ['pbkdf2', `pbkdf2:sha256:2000000$salt$${HEX_TAG}`],
    ['pbkdf2', `$pbkdf2-sha256$i=2000000$${SALT}$${TAG}`],
    ['pbkdf2', `$pbkdf2-sha256$i=1$${SALT}$${TAG}`],
    ['pbkdf2', `pbkdf2_sha256$2000000$seasalt$${TAG}=`],
    // With SHA-1, a block has 20 bytes; Keycloak takes 64 of 1,300,000 iterations.
    ['pbkdf2', `$pbkdf2$i=1375000$${SALT}$${ofBytes(64)}`],
    ['pbkdf2', `$pbkdf2-sha1$i=1833333$${SALT}$${ofBytes(60)}`],
    ['pbkdf2', `pbkdf2_sha1$2000000$salt$${ofBytes(40)}`],
    ['pbkdf2', aspNet(0, 1_375_000, 16, { tag: 64 })],
    ['pbkdf2', `$pbkdf2-sha256$i=2000000$${SALT}$${ofBytes(64)}`],
    ['pbkdf2', `$pbkdf2-sha512$i=2000000$${SALT}$${ofBytes(64)}`]
  ]
  for (const [kind, encoded] of usable) t.match(parseStoredHash(encoded), { kind }, encoded)

  const unusable: Array<[string, RegExp]> = [
    [argon2('m=262145,t=1,p=1'), /above/],
    [argon2('m=262144,t=5,p=1'), /above/],
    [argon2('m=65537,t=16,p=1'), /above/],
    [argon2('m=64,t=17,p=1'), /above/],
    [argon2('m=256,t=1,p=17'), /above/],
    [argon2('m=4194304,t=1,p=1'), /above/],
    [argon2('m=9999999999,t=9999999999,p=9999999999'), /above/],
    [argon2('m=99999999999,t=1,p=1'), /malformed/],
    [argon2('m=7,t=1,p=1'), /below/],
    [argon2('m=127,t=1,p=16'), /below/],
    [argon2('m=64,t=0,p=1'), /below/],
    [argon2('m=64,t=1,p=0'), /below/],
    [bcrypt('15'), /above/],
    [bcrypt('31'), /above/],
    [bcrypt('99'), /above/],
    [bcrypt('03'), /malformed/],
    [bcrypt('+4'), /unknown/],
    [scrypt('ln=19,r=8,p=1'), /above/],
    [scrypt('ln=18,r=9,p=1'), /above/],
    [scrypt('ln=17,r=8,p=3'), /above/],
    [scrypt('ln=18,r=8,p=2'), /above/],
    [scrypt('ln=1,r=33,p=1'), /above/],
    [scrypt('ln=1,r=524288,p=1'), /above/],
    [scrypt('ln=4,r=131072,p=1'), /above/],
    [scrypt('ln=4,r=8,p=17'), /above/],
    [scrypt('ln=9999999999,r=8,p=1'), /above/],
    [scrypt('ln=10,r=9999999999,p=1'), /above/],
    [scrypt('ln=0,r=8,p=1'), /below/],
    [scrypt('ln=16,r=1,p=1'), /below/],
    [scrypt('ln=4,r=0,p=1'), /below/],
    [`$wp${bcrypt('15')}`, /above/],
    [`bcrypt_sha256$${bcrypt('31')}`, /above/],
    [`bcrypt$${bcrypt('03')}`, /malformed/],
    [`argon2${argon2('m=4194304,t=1,p=1')}`, /above/],
    [`scrypt$524288$salt$8$1$${TAG}=`, /above/],
    [`scrypt$16384$salt$8$17$${TAG}=`, /above/],
    [`scrypt$9999999999$salt$8$5$${TAG}=`, /above/],
    [`scrypt$16383$salt$8$5$${TAG}=`, /below/],
    [`scrypt$0$salt$8$5$${TAG}=`, /below/],
    [`scrypt$65536$salt$1$1$${TAG}=`, /below/],
    [`scrypt:524288:8:1$salt$${HEX_TAG}`, /above/],
    [`scrypt:32769:8:1$salt$${HEX_TAG}`, /below/],
    [`scrypt:32768:0:1$salt$${HEX_TAG}`, /below/],
    [firebase('n=17,r=8,p=1'), /above/],
    [firebase('n=14,r=17,p=1'), /above/],
    [firebase('n=16,r=16,p=3'), /above/],
    [firebase('n=14,r=8,p=17'), /above/],
    // The rows of a test of Supabase Auth.
    [firebase('n=14,r=8,p=1', { version: 'v=2' }), /malformed/],
    [firebase('n=4294967297,r=8,p=1'), /above/],
    [firebase('n=0,r=8,p=1'), /below/],
    [firebase('n=14,r=18446744073709551617,p=1'), /malformed/],
    [firebase('n=14,r=0,p=1'), /below/],
    [firebase('n=14,r=8,p=256'), /above/],
    [firebase('n=14,r=8,p=0'), /below/],
    [firebase('n=14,r=8,p=1', { tag: '!!!' }), /malformed/],
    [firebase('n=14,r=8,p=1', { salt: '!!!' }), /malformed/],
    [firebase('n=14,r=8,p=1', { key: '!!!' }), /malformed/],
    [firebase('n=14,r=8,p=1').replace('ss=Bw==', 'ss=!!!'), /malformed/],
    [phpass('H'), /above/],
    [phpass('I'), /above/],
    [phpass('J'), /above/],
    [phpass('S'), /above/],
    [phpass('z'), /above/],
    [phpass('4'), /malformed/],
    [phpass('.'), /malformed/],
    [aspNet(1, 2_000_001, 16), /above/],
    [aspNet(2, 4_294_967_295, 16), /above/],
    [aspNet(1, 0, 16), /malformed/],
    [`pbkdf2:sha256:2000001$salt$${HEX_TAG}`, /above/],
    [`$pbkdf2-sha256$i=2000001$${SALT}$${TAG}`, /above/],
    [`$pbkdf2-sha256$2000001$${SALT}$${TAG}`, /above/],
    [`pbkdf2_sha256$2000001$seasalt$${TAG}=`, /above/],
    [`$pbkdf2$i=1375001$${SALT}$${ofBytes(64)}`, /work above/],
    [`$pbkdf2-sha1$i=1833334$${SALT}$${ofBytes(60)}`, /work above/],
    [`pbkdf2_sha1$1375001$salt$${ofBytes(61)}`, /work above/],
    [aspNet(0, 1_375_001, 16, { tag: 64 }), /work above/],
    [`pbkdf2:sha1:2000000$salt$${'ab'.repeat(41)}`, /work above/],
    [`$pbkdf2-sha256$i=0$${SALT}$${TAG}`, /malformed/],
    [`$pbkdf2-sha256$i=1$${SALT}$${ofBytes(65)}`, /malformed/],
    [`$scrypt$ln=4,r=8,p=1$${SALT}$${ofBytes(65)}`, /malformed/]
  ]
  for (const [encoded, reason] of unusable) t.match(parseStoredHash(encoded), { kind: 'unusable', reason }, encoded)
})

t.test('DOS-stored-hash-bomb limits the length of the salt, the tag and the whole hash', async (t) => {
  const bounds: Array<[salt: number, tag: number, usable: boolean]> = [
    [8, 12, true],
    [64, 128, true],
    [7, 12, false],
    [65, 32, false],
    [8, 11, false],
    [16, 129, false]
  ]
  for (const [salt, tag, usable] of bounds)
    t.equal(
      parseStoredHash(argon2('m=64,t=3,p=4', { salt: ofBytes(salt), tag: ofBytes(tag) })).kind,
      usable ? 'argon2' : 'unusable',
      `salt of ${salt} bytes, tag of ${tag}`
    )
  for (const bytes of [12, 64])
    t.equal(parseStoredHash(`$scrypt$ln=4,r=8,p=1$${SALT}$${ofBytes(bytes)}`).kind, 'scrypt', `tag of ${bytes}`)
  // The salt of these formats has no limit of its own, so only the length of the whole hash is wrong.
  const scryptOf = (bytes: number): string => `$scrypt$ln=4,r=8,p=1$${ofBytes(bytes)}$${TAG}`
  t.equal(parseStoredHash(scryptOf(700)).kind, 'scrypt')
  t.match(parseStoredHash(scryptOf(800)), { kind: 'unusable', reason: 'hash too long' })
  const pbkdf2Of = (bytes: number): string => `$pbkdf2-sha256$1000$${ofBytes(bytes)}$${TAG}`
  t.equal(parseStoredHash(pbkdf2Of(700)).kind, 'pbkdf2')
  t.match(parseStoredHash(pbkdf2Of(800)), { kind: 'unusable', reason: 'hash too long' })
})

t.test('refuses a malformed hash with a short reason in plain words', async (t) => {
  const table = [
    '',
    'plain',
    'password',
    '$',
    '$argon2id$',
    argon2('m=64,t=3'),
    argon2('t=3,m=64,p=4'),
    argon2('m=064,t=3,p=4'),
    argon2('m=-64,t=3,p=4'),
    argon2('m=6e1,t=3,p=4'),
    argon2('m=64,t=3,p=4,x=1'),
    argon2('m=64,t=3,p=4,keyid='),
    argon2('m=64,t=3,p=4', { version: '$v=20' }),
    argon2('m=64,t=3,p=4', { variant: 'argon2x' }),
    argon2('m=64,t=3,p=4', { salt: '' }),
    argon2('m=64,t=3,p=4', { tag: '' }),
    argon2('m=64,t=3,p=4', { salt: ofBytes(7) }),
    argon2('m=64,t=3,p=4', { tag: ofBytes(11) }),
    argon2('m=64,t=3,p=4', { salt: 'AAECAwQFBgcICQoLDA0ODx' }),
    argon2('m=64,t=3,p=4', { salt: 'A'.repeat(13) }),
    `${argon2('m=64,t=3,p=4')}=`,
    `${argon2('m=64,t=3,p=4')}\n`,
    ` ${argon2('m=64,t=3,p=4')}`,
    argon2('m=64,t=3,p=4', { tag: 'A'.repeat(1000) }),
    '$2b$10$short',
    ` ${bcrypt('10')}`,
    `${bcrypt('10')}A`,
    `${bcrypt('10')}\n`,
    '$2x$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW',
    '$1$abcdefgh$0123456789012345678901',
    '$scrypt$ln=4,r=8,p=1$',
    `$scrypt$ln=4,r=8,p=1$${SALT}$${ofBytes(11)}`,
    `$pbkdf2-md5$1000$${SALT}$${TAG}`,
    `$pbkdf2-sha256$1000$${SALT}$AAAA`,
    'x'.repeat(1_000_000),
    `$wp${bcrypt('10')}A`,
    `$wp$${bcrypt('10')}`,
    `wp${bcrypt('10')}`,
    `bcrypt_sha256${bcrypt('10')}`,
    `bcrypt_sha1$${bcrypt('10')}`,
    `argon2$argon2${argon2('m=64,t=3,p=4')}`,
    'argon2$',
    'argon2$argon2id$',
    `scrypt$1024$$8$1$${TAG}=`,
    `scrypt$1024$${'s'.repeat(129)}$8$1$${TAG}=`,
    `scrypt$1024$salt$8$1$${ofBytes(65)}`,
    `scrypt$01024$salt$8$1$${TAG}=`,
    `scrypt:1024:8$salt$${HEX_TAG}`,
    `scrypt:1024:8:1$salt$${HEX_TAG}0`,
    `scrypt:1024:8:1$salt$${HEX_TAG.toUpperCase()}`,
    `scrypt:1024:8:1$$${HEX_TAG}`,
    'scrypt$',
    'scrypt:',
    '$fbscrypt$',
    firebase('n=14,r=8'),
    firebase('n=14,r=8,p=1', { tag: ofBytes(31) }),
    firebase('n=14,r=8,p=1', { key: ofBytes(31) }),
    firebase('n=14,r=8,p=1', { key: ofBytes(11), tag: ofBytes(11) }),
    firebase('n=14,r=8,p=1', { key: ofBytes(65), tag: ofBytes(65) }),
    firebase('n=14,r=8,p=1', { salt: 'AAECAwQFBgcICQoLDA0ODx' }),
    `${firebase('n=14,r=8,p=1')}\n`,
    '$P$',
    '$H$',
    '$P$B',
    `${phpass('B')}1`,
    phpass('B').slice(0, -1),
    phpass('B').replace('$P', '$S'),
    phpass('B').replace('$P', '$p'),
    `${phpass('B').slice(0, -1)}z`,
    `${phpass('B')}\n`,
    aspNet(3, 1000, 16),
    aspNet(4_294_967_295, 1000, 16),
    aspNet(1, 1000, 15),
    aspNet(1, 1000, 1000),
    aspNet(1, 1000, 4_294_967_295),
    aspNet(1, 1000, 37),
    aspNet(1, 1000, 16, { tag: 65 }),
    aspNet(1, 1000, 16, { tag: 11 }),
    aspNet(1, 1000, 16, { version: 2 }),
    Buffer.alloc(48).toString('base64'),
    Buffer.alloc(50).toString('base64'),
    `${'A'.repeat(64)}B`,
    'A'.repeat(60),
    `${aspNet(1, 1000, 16)}A`,
    `pbkdf2:sha256:1000$$${HEX_TAG}`,
    `pbkdf2:sha256$salt$${HEX_TAG}`,
    `pbkdf2:md5:1000$salt$${HEX_TAG}`,
    `pbkdf2:sha256:1000$salt$${HEX_TAG}0`,
    `pbkdf2:sha256:1000$salt$${HEX_TAG.slice(0, 22)}`,
    // Formats that other systems accept: MD5 and SHA of one round, LDAP's, those of crypt(3), and Django's marks of no
    // password.
    '5f4dcc3b5aa765d61d8327deb882cf99',
    'md5$salt$5f4dcc3b5aa765d61d8327deb882cf99',
    `sha1$salt$${HEX_TAG.slice(0, 40)}`,
    `sha256$salt$${HEX_TAG}`,
    '{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=',
    '$5$rounds=5000$salt$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
    '$6$saltsalt$aaaa',
    '!8YPqrOSguZHtiJNGXuCCk8CfoTKkni2eDm9kC3O0',
    '*',
    '*0',
    '*1'
  ]
  for (const encoded of table) {
    const parsed = parseStoredHash(encoded)
    t.equal(parsed.kind, 'unusable', encoded.slice(0, 80))
    if (parsed.kind === 'unusable') t.match(parsed.reason, /^[a-zA-Z0-9 ]{5,60}$/)
  }
})

// covers ASVS-11.4.2
t.test('reports which hashes are outdated and need a new one', async (t) => {
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
    ['Django argon2 of other parameters', `argon2${argon2('m=102400,t=2,p=8')}`, undefined, true],
    ['Firebase', firebase('n=14,r=8,p=1'), undefined, true],
    ['phpass', phpass('B'), undefined, true],
    ['WordPress 6.8', `$wp${bcrypt('10')}`, undefined, true],
    ['ASP.NET Identity', aspNet(2, 100_000, 16), undefined, true],
    ['unusable', 'plain', undefined, true]
  ]
  for (const [what, encoded, keyId, expected] of table)
    t.equal(needsRehash(parseStoredHash(encoded), current, keyId), expected, what)
})

t.test('reads the digest of a PBKDF2 hash', async (t) => {
  for (const digest of ['sha1', 'sha256', 'sha512']) {
    t.match(parseStoredHash(`$pbkdf2-${digest}$i=1000$${SALT}$${TAG}`), { kind: 'pbkdf2', digest, iterations: 1000 })
    t.match(parseStoredHash(`pbkdf2_${digest}$1000$salt$${TAG}=`), { kind: 'pbkdf2', digest, iterations: 1000 })
  }
  t.match(
    parseStoredHash(`$pbkdf2$1000$${SALT}$${TAG}`),
    { kind: 'pbkdf2', digest: 'sha1', iterations: 1000 },
    'of passlib, no name is SHA-1'
  )
  t.match(
    parseStoredHash(`$pbkdf2-sha256$1000$${SALT}$${ofBytes(30).slice(0, -2)}..`),
    { kind: 'pbkdf2' },
    'passlib writes a dot for a plus'
  )
  t.match(parseStoredHash(`$pbkdf2-sha256$1000$${SALT}$${ofBytes(11)}`), {
    kind: 'unusable',
    reason: 'malformed PBKDF2 hash'
  })
})

t.test('reports the fault of a malformed hash', async (t) => {
  for (const [encoded, reason] of [
    ['$argon2id$', 'malformed argon2 hash'],
    ['$argon2x$v=19$m=64,t=1,p=1$a$b', 'malformed argon2 hash'],
    ['$scrypt$', 'malformed scrypt hash'],
    ['$scrypt$ln=x', 'malformed scrypt hash'],
    [`$scrypt$ln=4,r=0,p=1$${SALT}$${TAG}`, 'scrypt parameters below what RFC 7914 allows'],
    [`$scrypt$ln=4,r=1,p=0$${SALT}$${TAG}`, 'scrypt parameters below what RFC 7914 allows'],
    ['', 'unknown hash format'],
    ['x', 'unknown hash format']
  ] as const)
    t.strictSame(parseStoredHash(encoded), { kind: 'unusable', reason }, encoded)
  t.match(parseStoredHash(`$scrypt$ln=4,r=8,p=1$AA$${TAG}`), { kind: 'scrypt' }, 'a salt of one byte')
  t.match(
    parseStoredHash(`$scrypt$ln=4,r=8,p=1$AB$${TAG}`),
    { reason: 'malformed scrypt salt or tag' },
    'in one spelling only'
  )
  t.notOk('keyId' in parseStoredHash(argon2('m=64,t=1,p=1')))
  t.strictSame(
    needsRehash(parseStoredHash(bcrypt('10')), { memoryCost: 64, timeCost: 1, parallelism: 1 }, undefined),
    true
  )
  t.strictSame(
    needsRehash(
      { ...parseStoredHash(argon2('m=64,t=1,p=1')), kind: 'scrypt' } as never,
      { memoryCost: 64, timeCost: 1, parallelism: 1 },
      undefined
    ),
    true
  )
})

t.test('distinguishes the variants of bcrypt and ASP.NET Identity', async (t) => {
  const encoded = bcrypt('10')
  for (const [prefix, of] of [
    ['', 'password'],
    ['bcrypt$', 'password'],
    ['bcrypt_sha256$', 'sha256'],
    ['$wp', 'wordpress']
  ] as const)
    t.strictSame(parseStoredHash(`${prefix}${encoded}`), { kind: 'bcrypt', cost: 10, encoded, of })
  for (const [index, digest] of ['sha1', 'sha256', 'sha512'].entries())
    t.match(parseStoredHash(aspNet(index, 5, 20, { salt: 20 })), {
      digest,
      iterations: 5,
      salt: Buffer.alloc(20, 1),
      tag: Buffer.alloc(32, 1)
    })
  t.match(parseStoredHash(phpass('7')), { rounds: 512, salt: Buffer.from('iH/SmNO8') })
})
