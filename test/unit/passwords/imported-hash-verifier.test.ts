import t from '../../support/tap.ts'
import { parseStoredHash } from '../../../lib/accounts/stored-hash.ts'
import { importedHashVerifier } from '../../../lib/adapters/imported-hashes/imported-hash-verifier.ts'

const verifier = importedHashVerifier()

async function verify(encoded: string, password: string): Promise<boolean> {
  const hash = parseStoredHash(encoded)
  if (hash.kind === 'argon2' || hash.kind === 'unusable') throw new Error(`${encoded} is ${hash.kind}`)
  return (await verifier.verify(hash, password)) !== 'no_match'
}

// Made by other programs: crypt_blowfish, passlib, CPython's hashlib.
const hashes: Array<[what: string, password: string, encoded: string]> = [
  ['bcrypt 2a, of crypt_blowfish', 'U*U', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
  ['bcrypt 2b', 'U*U', '$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
  ['bcrypt 2y', 'U*U', '$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
  [
    'scrypt',
    'correct horse',
    '$scrypt$ln=10,r=8,p=2$AAECAwQFBgcICQoLDA0ODw$RBjCXYboo4yjHH0P1K75vrL4xGciLt6io+o2v0yqSlo'
  ],
  [
    'scrypt that needs 64 MiB, of passlib',
    'password',
    '$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E'
  ],
  [
    'PBKDF2 of passlib',
    'toomanysecrets',
    '$pbkdf2-sha256$29000$N2YMIWQsBWBMae09x1jrPQ$1t8iyB2A.WF/Z5JZv.lfCIhXXN33N23OSgQYThBYRfk'
  ],
  ['PBKDF2 SHA-1 of passlib', 'correct horse', '$pbkdf2$1000$..................../w$2lA2ZCRn/GNf/GY7T/L8r5aZVMU'],
  [
    'PBKDF2 SHA-512 of passlib',
    'correct horse',
    '$pbkdf2-sha512$1000$..................../w$OSatFYsuFH2sYI0/OAI0tX8OOXrlCqQJKRERisOlO2g/ENH2137kftDwn3D36aizH5GzvzRXHZmwHpq4Hg.DEA'
  ],
  ['PBKDF2 SHA-1, PHC', 'correct horse', '$pbkdf2-sha1$i=1000$++++++++++++++++++++/w$2lA2ZCRn/GNf/GY7T/L8r5aZVMU'],
  [
    'PBKDF2 SHA-256, PHC',
    'correct horse',
    '$pbkdf2-sha256$i=1000,l=32$++++++++++++++++++++/w$Fmdb1minWw0CnTpIIPJDmN8ycyYjPM0dqKkUiRur7Gk'
  ],
  [
    'PBKDF2 SHA-512, PHC',
    'correct horse',
    '$pbkdf2-sha512$i=1000$++++++++++++++++++++/w$OSatFYsuFH2sYI0/OAI0tX8OOXrlCqQJKRERisOlO2g/ENH2137kftDwn3D36aizH5GzvzRXHZmwHpq4Hg+DEA'
  ],
  [
    'PBKDF2 SHA-256 of Django',
    'correct horse',
    'pbkdf2_sha256$1000$seasalt$mQnueSakb748zqBAC1tmWVZsZbi2zPGZarEzTGdfmso='
  ],
  ['PBKDF2 SHA-1 of Django', 'correct horse', 'pbkdf2_sha1$1000$seasalt$iQvkNOF1wEL4Khh8eogJ8rUhipM=']
]

for (const [what, password, encoded] of hashes) {
  // covers ASVS-11.4.2
  t.test(`verifies an imported hash: ${what}`, async (t) => {
    t.equal(await verify(encoded, password), true)
    for (const wrong of [
      `${password} `,
      password.toUpperCase() === password ? password.toLowerCase() : password.toUpperCase(),
      `${password}\0`,
      ''
    ]) {
      t.equal(await verify(encoded, wrong), false, JSON.stringify(wrong))
    }
  })
}

// covers ASVS-6.2.8
t.test('rejects a password with a NUL byte for which bcrypt would compute the same hash', async (t) => {
  const encoded = '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'
  for (const password of ['U*U\0', 'U*U\0U*U', 'U*U\0x', '\0'])
    t.equal(await verify(encoded, password), false, JSON.stringify(password))
})

t.test('reports an unknown or malformed format as unusable', async (t) => {
  for (const encoded of [
    '',
    'x',
    '$2b$',
    '$2x$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW',
    '$scrypt$',
    '$pbkdf2-md5$1000$AAAA$AAAA',
    '$1$abc$def',
    'pbkdf2_sha256$1000$$AAAA'
  ]) {
    t.equal(parseStoredHash(encoded).kind, 'unusable', encoded)
  }
})
