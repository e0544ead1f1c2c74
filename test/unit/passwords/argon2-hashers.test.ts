import t from '../../support/tap.ts'
import { argon2Hasher, loadEngine } from '../../../lib/adapters/argon2/argon2-hasher.ts'
import { nodeRsHasher } from '../../../lib/adapters/argon2/node-rs-hasher.ts'

const hashers = { argon2: argon2Hasher(), '@node-rs/argon2': nodeRsHasher() }
const parameters = { memoryCost: 64, timeCost: 2, parallelism: 2 }
const pepper = new Uint8Array(32).fill(7)

for (const [maker, hasher] of Object.entries(hashers)) {
  // covers ASVS-11.4.2
  t.test(`${maker} makes salted argon2id v19 hashes with the given parameters in PHC order`, async (t) => {
    const encoded = await hasher.hash('correct horse', parameters)
    t.match(encoded, /^\$argon2id\$v=19\$m=64,t=2,p=2\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    t.not(await hasher.hash('correct horse', parameters), encoded)
  })

  for (const [verifier, other] of Object.entries(hashers)) {
    // covers ASVS-6.2.8
    t.test(`${verifier} compares every byte of the password with a hash of ${maker}`, async (t) => {
      const base = 'p'.repeat(72)
      const table: Array<[what: string, right: string, wrong: string[]]> = [
        ['case', 'correct horse', ['Correct horse', 'correct hors', '']],
        ['byte 73', `${base}a`, [`${base}b`, base]],
        ['byte 1000', `${'p'.repeat(999)}a`, [`${'p'.repeat(999)}b`]],
        ['trailing space', 'secret ', ['secret', 'secret  ']],
        ['leading space', ' secret', ['secret']],
        ['NUL', 'abc\0def', ['abc', 'abc\0', 'abc\0dex']],
        ['normalisation form', 'jos\u00e9', ['jose\u0301', 'jose']],
        ['emoji', '\u{1f980}'.repeat(8), ['\u{1f980}'.repeat(7)]]
      ]
      for (const [what, right, wrong] of table) {
        const encoded = await hasher.hash(right, parameters)
        t.equal(await other.verify(encoded, right), true, what)
        for (const password of wrong) t.equal(await other.verify(encoded, password), false, what)
      }
    })

    t.test(`${verifier} verifies a peppered hash of ${maker} with that pepper only`, async (t) => {
      const encoded = await hasher.hash('correct horse', parameters, pepper)
      t.equal(await other.verify(encoded, 'correct horse', pepper), true)
      t.equal(await other.verify(encoded, 'correct horse'), false)
      t.equal(await other.verify(encoded, 'correct horse', new Uint8Array(32).fill(8)), false)
      t.equal(await other.verify(await hasher.hash('correct horse', parameters), 'correct horse', pepper), false)
    })
  }

  t.test(`${maker} accepts a pepper that is a view into a larger buffer`, async (t) => {
    const view = new Uint8Array(64).fill(7, 16, 48).subarray(16, 48)
    t.equal(await hasher.verify(await hasher.hash('correct horse', parameters, view), 'correct horse', pepper), true)
  })

  t.test(`${maker} rejects a string that it cannot read`, async (t) => {
    await t.rejects(hasher.verify('nonsense', 'x'))
    await t.rejects(hasher.verify('', 'x'))
  })
}

t.test('names a missing package in the error', async (t) => {
  const cause = new Error('Cannot find package')
  await t.rejects(
    loadEngine('@node-rs/argon2', async () => {
      throw cause
    }),
    { message: /npm install @node-rs\/argon2/, cause }
  )
  t.equal(await loadEngine('x', async () => 'engine'), 'engine')
})
