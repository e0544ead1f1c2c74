/**
 * Hashes that other systems made, or that their tests and documentation print, with a password that matches each.
 * "Made with" means that the function of that program made the hash once, by hand.
 */
import t from '../../support/tap.ts'
import { parseStoredHash } from '../../../lib/accounts/stored-hash.ts'
import { argon2Hasher } from '../../../lib/adapters/argon2/argon2-hasher.ts'
import { importedHashVerifier } from '../../../lib/adapters/imported-hashes/imported-hash-verifier.ts'

const PASSWORD = 'correct horse \u2713'
const SIGNER_KEY = 'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=='
const FIREBASE_SALT_AND_HASH =
  '42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=='
const PROJECT = { signerKey: Buffer.from(SIGNER_KEY, 'base64'), saltSeparator: Buffer.from('Bw==', 'base64') }
const COUNTED_KEY = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw=='

const verifier = importedHashVerifier()

async function verify(
  encoded: string,
  password: string,
  { project = null as typeof PROJECT | null, by = verifier } = {}
): Promise<boolean> {
  const hash = parseStoredHash(encoded, project)
  if (hash.kind === 'unusable') throw new Error(`${encoded} is unusable: ${hash.reason}`)
  return hash.kind === 'argon2'
    ? await argon2Hasher().verify(hash.plain, password)
    : (await by.verify(hash, password)) !== 'no_match'
}

const HASHES: Array<[what: string, password: string, encoded: string]> = [
  [
    'Firebase, of the README of firebase/scrypt',
    'user1password',
    `$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=${SIGNER_KEY}$${FIREBASE_SALT_AND_HASH}`
  ],
  [
    'Firebase, of the tests of Supabase Auth',
    'mytestpassword',
    '$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=ou9tdYTGyYm8kuR6Dt0Bp0kDuAYoXrK16mbZO4yGwAn3oLspjnN0/c41v8xZnO1n14J3MjKj1b2g6AUCAlFwMw==$C0sHCg9ek77hsg==$zKVTMvnWVw5BBOZNUdnsalx4c4c7y/w7IS5p6Ut2+CfEFFlz37J9huyQfov4iizN8dbjvEJlM5tQaJP84+hfTw=='
  ],
  [
    'Firebase, made with firebase-scrypt 0.1.0 (PyPI)',
    PASSWORD,
    `$fbscrypt$v=1,n=10,r=8,p=1,ss=Bw==,sk=${COUNTED_KEY}$MDEyMzQ1Njc4OWFi$hQchjO6xu35sDt1y9hcC7qKAZohrPlkvc4wxgSWfEoe138HWsBmRWc34lnLglq+tJ43E+moOXEaRJgA1yELv1A==`
  ],
  [
    'Firebase without a separator, made with the same',
    PASSWORD,
    `$fbscrypt$v=1,n=10,r=8,p=1,sk=${COUNTED_KEY}$MDEyMzQ1Njc4OWFi$nO8+/p7XMKtrlQ4/OUYGKBxhRCGXawpzVhuXvumueMhJp6oKwmXUwKbSj7EPcWqzvlX53dEXE18YPhPHG6TfFA==`
  ],
  ['phpass, of its own test.php', 'test12345', '$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0'],
  ['phpass of the fewest rounds, made with passlib 1.7.4', PASSWORD, '$P$5ye83fY1neyxFCCzCj817EN/m7Ngtk/'],
  ['phpass as in WordPress before 6.8, made with passlib 1.7.4', PASSWORD, '$P$BiH/SmNO8YbcwyQ9MAl53JX8oA3qXo1'],
  ['phpass as in phpBB, made with passlib 1.7.4', PASSWORD, '$H$Bd1VQ6MMXKDKkyLlCOvPOH77ZIriAL0'],
  [
    'WordPress 6.8, made with the lines of its wp_hash_password in PHP 8.2',
    PASSWORD,
    '$wp$2y$04$B1yyf4k3OyT2qT5xsOg/V.No3ySJn.b9fx/ZafkVvZJnuPaSZ3oJq'
  ],
  [
    'WordPress 6.8 of a password that was typed with white space around it, made with the same',
    PASSWORD,
    '$wp$2y$04$SjsV/JyBLXlIENp2EUDh.u2hvq4CfRcum9ur0m4/hDuJJ6UUYfCcy'
  ],
  [
    'WordPress 6.8 of 80 bytes, which bcrypt alone would cut, made with the same',
    'x'.repeat(80),
    '$wp$2y$04$g0L5.dKPAOE58lben9EK7.zYHgtMZBAkjrZlvTZCac1vdQh1Alepe'
  ],
  [
    'bcrypt of PHP 8.2, as plugins of WordPress, and Laravel, have it',
    PASSWORD,
    '$2y$04$dZjOjHJ8Ibw/CxPbZcKkG.w0IVH.85niSk8Dd9JY50s1EFXibuPYe'
  ],
  [
    'Django bcrypt_sha256, made with Django 5.2.19',
    PASSWORD,
    'bcrypt_sha256$$2b$04$5DTjB7VT7el7uGaGxO2gEuVv9NVuBdJ8OkArxSyOlqSiACTXQon3i'
  ],
  [
    'Django bcrypt_sha256 of 80 bytes, made with Django 5.2.19',
    'x'.repeat(80),
    'bcrypt_sha256$$2b$04$cSY0ZFlFjJrJfToyi030nu4meoTxM9PGOSFfv4u6ufzAuR53XmLoC'
  ],
  [
    'Django bcrypt, made with Django 5.2.19',
    PASSWORD,
    'bcrypt$$2b$04$9dn9v/GxIAfwnJ/uNDFWAOQgfKUjz.9NHt0Gm1R/XLPT/OFyGnUKq'
  ],
  [
    'Django argon2, made with Django 5.2.19',
    PASSWORD,
    'argon2$argon2id$v=19$m=1024,t=2,p=8$YzJWaGMyRnNkSE5sWVhOaGJIUQ$1n+Qa9Bik+L9nep8Z3ImK5JScc05Y8eNMLL2ZubAVUk'
  ],
  [
    'Django scrypt, made with Django 5.2.19',
    PASSWORD,
    'scrypt$1024$seasaltseasalt$8$1$IGzkqf0MRRWhM2bOtbaa04Cz95fDFmZxtsh2amQmJHnwDst9CvRJ/r4JYJ2ysigpRKEUk+Xwb9RezetA1KgbPw=='
  ],
  [
    'Werkzeug scrypt, made with Werkzeug 3.1.9',
    PASSWORD,
    'scrypt:32768:8:1$YkPBIdK7MuLAY3T4$29b9c97acbfa073f326fa8409b6f9be1a413ed552e654868258809971d762c05eaf8213da50a7118d46c614f262437ab61bf5036efafdaafdb53e3bb6e0af558'
  ],
  [
    'Werkzeug PBKDF2 SHA-256, made with Werkzeug 3.1.9',
    PASSWORD,
    'pbkdf2:sha256:1000$Yc5Wm7lA67z7OhPV$8b0d8ef24fb1e232d9d476d190bcf9219cccdd4fe52949a1f49267b83fcc987d'
  ],
  [
    'Werkzeug PBKDF2 SHA-1, made with Werkzeug 3.1.9',
    PASSWORD,
    'pbkdf2:sha1:1000$qZ7y35jWij0i5zMh$a119e1ce99579712233712060ec4e6727b6ab4f9'
  ],
  [
    'Werkzeug PBKDF2 SHA-512, made with Werkzeug 3.1.9',
    PASSWORD,
    'pbkdf2:sha512:1000$JSuJD9apPIkCIbCN$c43c276c04033c8a41168c5e03eaf6097bf8833b155296b91cc0c5fe4d6f0989f852e4bb2a483ed69cb7c617fd4e46c182a77e3ba8be46ce34116a205c28c88c'
  ],
  // The rest is of PasswordHasherTest.cs of dotnet/aspnetcore.
  ['ASP.NET Identity 2', 'my password', 'AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJg=='],
  [
    'ASP.NET Identity 2, another',
    'my password',
    'ANXrDknc7fGPpigibZXXZFMX4aoqz44JveK6jQuwY3eH/UyPhvr5xTPeGYEckLxz9A=='
  ],
  [
    'ASP.NET Identity 3, as it was by default',
    'my password',
    'AQAAAAEAACcQAAAAEAABAgMEBQYHCAkKCwwNDg+yWU7rLgUwPZb1Itsmra7cbxw2EFpwpVFIEtP+JIuUEw=='
  ],
  [
    'ASP.NET Identity 3, SHA-512, tag of 16 bytes',
    'my password',
    'AQAAAAIAAAAyAAAAEOMwvh3+FZxqkdMBz2ekgGhwQ4B6pZWND6zgESBuWiHw'
  ],
  [
    'ASP.NET Identity 3, SHA-512, tag of 64 bytes',
    'my password',
    'AQAAAAIAAAD6AAAAIJbVi5wbMR+htSfFp8fTw8N8GOS/Sje+S/4YZcgBfU7EQuqv4OkVYmc4VJl9AGZzmRTxSkP7LtVi9IWyUxX8IAAfZ8v+ZfhjCcudtC1YERSqE1OEdXLW9VukPuJWBBjLuw=='
  ],
  ['ASP.NET Identity 3, SHA-1', 'my password', 'AQAAAAAAAAD6AAAAEAhftMyfTJylOlZT+eEotFXd1elee8ih5WsjXaR3PA9M'],
  [
    'ASP.NET Identity 3, SHA-256, 250,000 iterations',
    'my password',
    'AQAAAAEAA9CQAAAAIESkQuj2Du8Y+kbc5lcN/W/3NiAZFEm11P27nrSN5/tId+bR1SwV8CO1Jd72r4C08OLvplNlCDc3oQZ8efcW+jQ='
  ]
]

for (const [what, password, encoded] of HASHES) {
  // covers ASVS-11.4.2
  t.test(`verifies an imported hash: ${what}`, async (t) => {
    t.equal(await verify(encoded, password), true)
    for (const wrong of [`${password}x`, `${password}\0`, password.toUpperCase(), ''])
      t.equal(await verify(encoded, wrong), false, JSON.stringify(wrong))
  })
}

t.test('trims white space around a password for WordPress hashes only', async (t) => {
  const [wordpress, phpass] = [
    HASHES.find(([what]) => what.startsWith('WordPress'))?.[2] ?? '',
    '$P$5saltsaltdWK117h.saWixgJRrFbxo1'
  ]
  for (const typed of [` ${PASSWORD}`, `\t\n${PASSWORD}\r\v `])
    t.equal(await verify(wordpress, typed), true, JSON.stringify(typed))
  for (const typed of [`\u00a0${PASSWORD}`, `${PASSWORD}\u3000`, PASSWORD.replace(' ', '')])
    t.equal(await verify(wordpress, typed), false, JSON.stringify(typed))
  t.equal(await verify(phpass, ' padded '), true)
  t.equal(await verify(phpass, 'padded'), false)
})

t.test('reads the Firebase project key from the hash or the options, and accepts base64url', async (t) => {
  const bare = `$fbscrypt$v=1,n=14,r=8,p=1$${FIREBASE_SALT_AND_HASH}`
  t.match(parseStoredHash(bare), { kind: 'unusable', reason: 'Firebase hash without a signer key' })
  t.equal(await verify(bare, 'user1password', { project: PROJECT }), true)
  t.equal(await verify(bare, 'user1passworD', { project: PROJECT }), false)
  const inUrls = FIREBASE_SALT_AND_HASH.replaceAll('+', '-').replaceAll('/', '_')
  for (const text of [inUrls, inUrls.replaceAll('=', '')])
    t.equal(
      await verify(`$fbscrypt$v=1,n=14,r=8,p=1$${text}`, 'user1password', { project: PROJECT }),
      true,
      'as the Admin SDK lists it'
    )
  t.equal(await verify(bare, 'user1password', { project: { ...PROJECT, saltSeparator: Buffer.alloc(0) } }), false)
  t.equal(await verify(bare, 'user1password', { project: { ...PROJECT, signerKey: Buffer.alloc(64) } }), false)
  t.equal(
    await verify(bare.replace(',p=1', ',p=1,ss=Bw=='), 'user1password', {
      project: { ...PROJECT, saltSeparator: Buffer.alloc(0) }
    }),
    true,
    'what the hash says comes first'
  )
  t.match(
    parseStoredHash(bare, { ...PROJECT, signerKey: Buffer.alloc(32) }),
    { reason: 'malformed Firebase salt key or tag' },
    "a key of another length can't be this one"
  )
})

t.test('appends the pepper of the former system for bcrypt only', async (t) => {
  // `PASSWORD` is a password `correct` and a pepper ` horse \u2713`.
  const by = importedHashVerifier({ bcryptPepper: ' horse \u2713' })
  const of = (text: string): string => HASHES.find(([what]) => what.startsWith(text))?.[2] ?? ''
  t.equal(await verify(of('bcrypt of PHP'), 'correct', { by }), true)
  t.equal(await verify(of('bcrypt of PHP'), PASSWORD, { by }), false)
  for (const other of ['WordPress 6.8', 'Django bcrypt_sha256', 'phpass of the fewest', 'Werkzeug scrypt']) {
    t.equal(await verify(of(other), 'correct', { by }), false, other)
    t.equal(await verify(of(other), PASSWORD, { by }), true, other)
  }
  t.equal(await verify(of('Django bcrypt, '), 'correct', { by }), true)
})

t.test('DOS-event-loop keeps the event loop free during phpass', async (t) => {
  let turns = 0
  const another = (): void => {
    turns++
    pending = setImmediate(another)
  }
  let pending = setImmediate(another)
  t.equal(await verify('$P$FiH/SmNO8YbcwyQ9MAl53JX8oA3qXo1', PASSWORD), false, '131,072 rounds')
  clearImmediate(pending)
  t.ok(turns > 100, `${turns} turns`)
})
