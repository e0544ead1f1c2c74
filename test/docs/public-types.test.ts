import { fileURLToPath } from 'node:url'
import t from '../support/tap.ts'
import { unexportedTypes } from './support/public-types.ts'

const LIB = fileURLToPath(new URL('../../lib/', import.meta.url))

// covers H14
t.test('every type that a public declaration names can be imported', async (t) => {
  t.strictSame(unexportedTypes(`${LIB}index.ts`, LIB), [])
  t.strictSame(
    unexportedTypes(`${LIB}testing/index.ts`, LIB, [`${LIB}index.ts`]),
    [],
    'those of the testing entry there or with the plugin'
  )
})
