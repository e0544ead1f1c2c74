import t from '../../support/tap.ts'
import { digest, equalSecrets } from '../../../lib/protocol/digest.ts'

// covers ASVS-11.4.3
t.test('computes SHA-256 in base64url', async (t) => {
  // FIPS 180-4, examples "abc" and the empty message.
  t.equal(
    digest('abc'),
    Buffer.from('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', 'hex').toString('base64url')
  )
  t.equal(
    digest(''),
    Buffer.from('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 'hex').toString('base64url')
  )
  t.match(digest('ä'), /^[\w-]{43}$/)
})

t.test('compares secrets of equal and of different lengths', async (t) => {
  const cases: Array<[string, string, boolean]> = [
    ['', '', true],
    ['secret', 'secret', true],
    ['secret', 'secreT', false],
    ['secret', 'secret ', false],
    ['secret', '', false],
    ['a'.repeat(32), 'a'.repeat(33), false],
    ['é', 'e\u0301', false],
    ['\0', '', false],
    ['ключ', 'ключ', true]
  ]
  for (const [left, right, equal] of cases) {
    t.equal(equalSecrets(left, right), equal, JSON.stringify([left, right]))
    t.equal(equalSecrets(right, left), equal)
  }
})
