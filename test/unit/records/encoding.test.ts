import t from '../../support/tap.ts'
import { decode, encode } from '../../../lib/records/encoding.ts'

const version = 'writer00000001'

t.test('reads back what it wrote, and a removed record as none', async (t) => {
  for (const value of [[1, 'a', ['b']], { a: 1 }, 'text', 0, null])
    t.strictSame(decode({ version, value: encode(value, ['other000000001']) }), {
      version,
      decoded: value,
      lineage: ['other000000001']
    })
})

t.test('takes a damaged record for none in no case', async (t) => {
  for (const value of ['null', '', '{', 'secret'])
    t.throws(() => decode({ version, value }), { name: 'TypeError', message: /^The store holds a record/ }, value)
})
