import { fileURLToPath } from 'node:url'
import t from '../support/tap.ts'
import { unexportedTypes } from './support/public-types.ts'

const LIB = fileURLToPath(new URL('../../lib/', import.meta.url))

/** Exempt types: hosts never name them, because our functions return them and our options accept them. */
const OPAQUE = ['State', 'FactorStore', 'RedisState', 'RedisFactorStore', 'Given']

// covers H14
t.test('exports every type that a public declaration names', async (t) => {
  t.strictSame(unexportedTypes(`${LIB}index.ts`, LIB, { opaque: OPAQUE }), [])
  t.strictSame(
    unexportedTypes(`${LIB}testing/index.ts`, LIB, { others: [`${LIB}index.ts`], opaque: OPAQUE }),
    [],
    'those of the testing entry there or with the plugin'
  )
})
