/** Users with hashes of another system sign in and get an argon2id hash. An unusable hash affects nobody else. */
import { hash as bcryptHash } from '@node-rs/bcrypt'
import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { testApp } from '../support/app.ts'

const PASSWORD = 'correct horse \u2713'
/** test/unit/passwords/imported-formats.test.ts has the source of each. */
const HASHES = {
  phpass: '$P$5ye83fY1neyxFCCzCj817EN/m7Ngtk/',
  wordpress: '$wp$2y$04$B1yyf4k3OyT2qT5xsOg/V.No3ySJn.b9fx/ZafkVvZJnuPaSZ3oJq',
  'django-bcrypt': 'bcrypt_sha256$$2b$04$5DTjB7VT7el7uGaGxO2gEuVv9NVuBdJ8OkArxSyOlqSiACTXQon3i',
  'django-scrypt':
    'scrypt$1024$seasaltseasalt$8$1$IGzkqf0MRRWhM2bOtbaa04Cz95fDFmZxtsh2amQmJHnwDst9CvRJ/r4JYJ2ysigpRKEUk+Xwb9RezetA1KgbPw==',
  werkzeug: 'pbkdf2:sha256:1000$Yc5Wm7lA67z7OhPV$8b0d8ef24fb1e232d9d476d190bcf9219cccdd4fe52949a1f49267b83fcc987d',
  firebase:
    '$fbscrypt$v=1,n=10,r=8,p=1$MDEyMzQ1Njc4OWFi$hQchjO6xu35sDt1y9hcC7qKAZohrPlkvc4wxgSWfEoe138HWsBmRWc34lnLglq+tJ43E+moOXEaRJgA1yELv1A=='
}
const SIGNER_KEY = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw=='
/** bcrypt of `PASSWORD`; with a pepper, that of `correct` as well. */
const BCRYPT = '$2y$04$dZjOjHJ8Ibw/CxPbZcKkG.w0IVH.85niSk8Dd9JY50s1EFXibuPYe'

async function host(hashes: Record<string, string>, password: object = {}) {
  const lines: Array<Record<string, unknown>> = []
  const users = memoryUserStore(
    Object.entries(hashes).map(([username, passwordHash]) => ({ id: username, username, passwordHash }))
  )
  /** Called at the next written hash, which happens after the reply. */
  let written = (): void => {}
  const setPasswordHash: typeof users.setPasswordHash = async (...change) => {
    const done = await users.setPasswordHash(...change)
    written()
    return done
  }
  const { app, close } = await testApp(
    { users: { ...users, setPasswordHash }, password, rateLimit: false },
    {
      logger: {
        level: 'warn',
        stream: {
          write(line: string) {
            lines.push(JSON.parse(line) as Record<string, unknown>)
          }
        }
      }
    }
  )
  return {
    lines,
    close,
    replaced: async () => {
      await new Promise<void>((resolve) => {
        written = resolve
      })
    },
    storedOf: async (name: string) => (await users.findById(name))?.passwordHash,
    signIn: async (username: string, typed = PASSWORD) =>
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username, password: typed }
      })
  }
}

// covers ASVS-11.4.2
t.test('verifies imported hashes of six formats, and replaces each with argon2id', async (t) => {
  const { signIn, storedOf, replaced, lines, close } = await host(HASHES, {
    firebase: { signerKey: SIGNER_KEY, saltSeparator: 'Bw==' }
  })
  t.teardown(close)
  const warnings = (): number =>
    lines.filter((line) => JSON.stringify(line).includes('FST_AUTHORITY_HASHES_REPLACED')).length
  for (const [index, [name, hash]] of Object.entries(HASHES).entries()) {
    t.equal((await signIn(name, `${PASSWORD}x`)).statusCode, 400, `${name}: wrong`)
    t.equal(warnings(), Math.min(index, 1), 'the first replacement is told of, and no wrong password')
    t.equal(await storedOf(name), hash, `${name}: as it was`)
    const [reply] = await Promise.all([signIn(name), replaced()])
    t.equal(reply.statusCode, 200, name)
    t.match(await storedOf(name), /^\$argon2id\$/, name)
    t.equal((await signIn(name)).statusCode, 200, `${name}: again`)
    t.equal((await signIn(name, `${PASSWORD}x`)).statusCode, 400, `${name}: wrong again`)
  }
})

t.test('keeps a WordPress hash when the typed password had white space that WordPress trims', async (t) => {
  const { signIn, storedOf, replaced, close } = await host(HASHES)
  t.teardown(close)
  for (const typed of [`${PASSWORD} `, ` ${PASSWORD}`, `${PASSWORD}\n`]) {
    t.equal((await signIn('wordpress', typed)).statusCode, 200)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
    t.equal(await storedOf('wordpress'), HASHES.wordpress, 'as it was')
  }
  await Promise.all([signIn('wordpress'), replaced()])
  t.match(await storedOf('wordpress'), /^\$argon2id\$/)
  t.equal((await signIn('wordpress')).statusCode, 200)
})

t.test('keeps a bcrypt hash that did not cover the whole password', async (t) => {
  const long = 'รหัสผ่านที่ยาวมากกว่ายี่สิบสี่ตัวอักษร'
  for (const [password, importPepper] of [
    [long, ''],
    ['x'.repeat(70), 'pep']
  ] as const) {
    const stored = await bcryptHash(password + importPepper, 4)
    const { signIn, storedOf, close } = await host({ ann: stored }, { importPepper })
    t.teardown(close)
    const seen = Buffer.from(password + importPepper)
      .subarray(0, 72)
      .toString()
    t.equal((await signIn('ann', `${seen} and more`)).statusCode, 200)
    t.equal((await signIn('ann', password)).statusCode, 200)
    t.equal((await signIn('ann', password.slice(0, 20))).statusCode, 400)
    t.equal(await storedOf('ann'), stored, 'as it was')
  }
  const short = 'x'.repeat(72)
  const { signIn, storedOf, replaced, close } = await host({ ann: await bcryptHash(short, 4) })
  t.teardown(close)
  const [reply] = await Promise.all([signIn('ann', short), replaced()])
  t.equal(reply.statusCode, 200)
  t.match(await storedOf('ann'), /^\$argon2id\$/, '72 bytes are seen')
})

// covers ASVS-11.4.2
t.test('signs the same user in twice at once while the hash is replaced', async (t) => {
  const { signIn, storedOf, replaced, close } = await host(HASHES)
  t.teardown(close)
  const [one, another] = await Promise.all([signIn('phpass'), signIn('phpass'), replaced()])
  t.strictSame([one.statusCode, another.statusCode], [200, 200])
  t.match(await storedOf('phpass'), /^\$argon2id\$/)
})

t.test('verifies a bcrypt hash of Devise with its pepper', async (t) => {
  const { signIn, replaced, close } = await host({ ann: BCRYPT }, { importPepper: ' horse \u2713' })
  t.teardown(close)
  t.equal((await signIn('ann')).statusCode, 400)
  const [reply] = await Promise.all([signIn('ann', 'correct'), replaced()])
  t.equal(reply.statusCode, 200)
  t.equal((await signIn('ann', 'correct')).statusCode, 200, 'argon2id has no such pepper')
  t.equal((await signIn('ann')).statusCode, 400)
})

t.test('DOS-stored-hash-bomb treats an unusable hash as a wrong password, and logs it for the operator', async (t) => {
  const { signIn, storedOf, lines, close } = await host({
    ...HASHES,
    'phpass-bomb': '$P$NiH/SmNO8YbcwyQ9MAl53JX8oA3qXo1',
    'django-bomb': `scrypt$1073741824$salt$8$5$${'A'.repeat(86)}`,
    'firebase-bomb': HASHES.firebase.replace('n=10', 'n=30'),
    'aspnet-bomb': Buffer.concat([
      Buffer.from([1, 0, 0, 0, 1, 255, 255, 255, 255, 0, 0, 0, 16]),
      Buffer.alloc(48)
    ]).toString('base64'),
    md5: '5f4dcc3b5aa765d61d8327deb882cf99'
  })
  t.teardown(close)
  const reasons = {
    firebase: 'Firebase hash without a signer key',
    'phpass-bomb': 'phpass rounds above the limit',
    'django-bomb': 'scrypt parameters above the limit',
    'firebase-bomb': 'scrypt parameters above the limit',
    'aspnet-bomb': 'PBKDF2 iterations above the limit',
    md5: 'unknown hash format'
  }
  for (const [name, reason] of Object.entries(reasons)) {
    lines.length = 0
    const before = await storedOf(name)
    const reply = await signIn(name)
    t.strictSame([reply.statusCode, reply.json().error], [400, 'invalid_grant'], name)
    // The same line was logged for django-bomb.
    t.match(lines, name === 'firebase-bomb' ? [] : [{ code: 'FST_AUTHORITY_HASH_UNUSABLE', level: 50, reason }], name)
    t.equal(lines.length, name === 'firebase-bomb' ? 0 : 1)
    t.notOk(JSON.stringify(lines).includes(before ?? ''), `${name}: nothing of the hash`)
    t.equal(await storedOf(name), before)
    lines.length = 0
    await signIn(name)
    t.same(lines, [], `${name}: said once`)
  }
  t.equal((await signIn('phpass')).statusCode, 200)
})

t.test('keeps the event loop free while it checks a phpass hash of the most rounds', async (t) => {
  const { signIn, close } = await host({ ann: '$P$GsaltsaltdWK117h.saWixgJRrFbxo1' })
  t.teardown(close)
  let [turns, isChecked] = [0, false]
  const count = (): void => {
    turns++
    if (!isChecked) setTimeout(count, 1)
  }
  count()
  t.equal((await signIn('ann')).statusCode, 400)
  isChecked = true
  // The check takes most of a second. A loop that it blocks would have two or three turns.
  t.ok(turns > 50, `${turns} turns`)
})

t.test('omits the Firebase signer key and salt separator from errors about invalid options', async (t) => {
  for (const password of [
    { firebase: { signerKey: 'not base64, but secret' } },
    { firebase: { signerKey: '' } },
    { firebase: {} },
    { firebase: { signerKey: SIGNER_KEY, saltSeparator: 'a secret!' } },
    { importPepper: 7 },
    { firebase: null }
  ]) {
    const message = await host({}, password).then(
      () => 'it started',
      (error: unknown) => (error as Error).message
    )
    t.match(message, /^Invalid option "password\.(?:firebase|importPepper)/)
    t.notMatch(message, /secret|jxspr/)
  }
})
