import { randomBytes } from 'node:crypto'
import t from '../../support/tap.ts'
import { digest } from '../../../lib/protocol/digest.ts'
import {
  formatCredential,
  newCredentialId,
  openSuccessor,
  parseCredential,
  sealSuccessor,
  sidOf
} from '../../../lib/protocol/credential.ts'

const id = (): string => newCredentialId('user', randomBytes(16).toString('base64url'))
const secret = (): string => randomBytes(32).toString('base64url')
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

t.test('reads back a formatted credential with its sid and digest', async (t) => {
  for (let round = 0; round < 200; round++) {
    const familyId = id()
    const key = secret()
    const parsed = parseCredential(formatCredential(familyId, key))
    t.same(parsed, { id: familyId, secret: key, sid: sidOf(familyId), digest: digest(key) })
  }
})

t.test('does not reveal the id of a family in its sid', async (t) => {
  const familyId = id()
  t.match(sidOf(familyId), /^[\w-]{38}$/)
  t.not(sidOf(familyId), familyId)
  t.equal(sidOf(familyId), sidOf(familyId))
  t.not(sidOf(familyId), sidOf(id()))
  t.not(sidOf(familyId).slice(16), digest(familyId).slice(0, 22), 'nor is it the plain digest')
})

t.test('refuses text that is not a credential', async (t) => {
  const familyId = 'A'.repeat(38)
  const key = 'A'.repeat(43)
  t.ok(parseCredential(`${familyId}.${key}`))
  const cases: Array<[string, string]> = [
    ['empty', ''],
    ['dot alone', '.'],
    ['id alone', familyId],
    ['no secret', `${familyId}.`],
    ['no id', `.${key}`],
    ['short id', `${familyId.slice(1)}.${key}`],
    ['long id', `A${familyId}.${key}`],
    ['short secret', `${familyId}.${key.slice(1)}`],
    ['long secret', `${familyId}.A${key}`],
    ['padded', `${familyId}.${key}=`],
    ['space before', ` ${familyId}.${key}`],
    ['newline after', `${familyId}.${key}\n`],
    ['two dots', `${familyId}..${key}`],
    ['third part', `${familyId}.${key}.x`],
    ['base64 alphabet', `${familyId}.${key.slice(0, 41)}+A`],
    ['other letters', `${familyId}.${key.slice(0, 41)}äA`],
    ['NUL', `${familyId}.${key.slice(0, 41)}\0A`],
    ['a JWT', 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln'],
    ['very long', 'A'.repeat(1_000_000)]
  ]
  for (const [what, token] of cases) t.equal(parseCredential(token), null, what)
})

// covers ADV-CVE-2026-27840
t.test('accepts only the canonical base64url encoding of a credential', async (t) => {
  const accepted = (make: (last: string) => string): string =>
    ALPHABET.split('')
      .filter((last) => parseCredential(make(last)) !== null)
      .join('')
  // 128 bits leave 4 spare bits in the last character, 256 bits leave 2: with a spare bit set it is a second spelling.
  t.equal(
    accepted((last) => `${'A'.repeat(37)}${last}.${'A'.repeat(43)}`),
    'AQgw'
  )
  t.equal(
    accepted((last) => `${'A'.repeat(38)}.${'A'.repeat(42)}${last}`),
    'AEIMQUYcgkosw048'
  )
})

t.test('opens a sealed successor only with the secret of the token before it', async (t) => {
  for (let round = 0; round < 50; round++) {
    const presented = secret()
    const next = secret()
    const sealed = sealSuccessor(presented, next)
    t.equal(openSuccessor(presented, sealed), next, 'round trip')
    t.not(openSuccessor(secret(), sealed), next, 'another secret opens something else')
    t.not(openSuccessor(next, sealed), next, 'nor does the successor itself')
    t.not(sealed, next)
    t.not(sealed, digest(presented), 'what the store keeps beside it is not the pad')
    t.not(openSuccessor(digest(presented), sealed), next, 'the digest that the store keeps does not open it')
    t.match(sealed, /^[\w-]{43}$/)
  }
})
