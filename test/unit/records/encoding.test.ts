import t from '../../support/tap.ts'
import { DAMAGED, decode, encode } from '../../../lib/records/encoding.ts'

const version = 'writer00000001'

t.test('reads back a written value with its version and lineage', async (t) => {
  for (const value of [[1, 'a', ['b']], { a: 1 }, 'text', 0, null])
    t.strictSame(decode({ version, value: encode(value, ['other000000001']) }), {
      version,
      decoded: value,
      lineage: ['other000000001']
    })
})

t.test('reads a damaged record as damaged, and not as missing', async (t) => {
  for (const value of ['null', '', '{', 'secret', '5', '[]', '[1]', '[1,[2]]', '{}', '{"lineage":1}'])
    t.strictSame(decode({ version, value }), { version, decoded: DAMAGED, lineage: [] }, value)
})
