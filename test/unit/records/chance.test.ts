import { VERSION_LENGTH } from '../../../lib/ports/record-store.ts'
import { versionMaker, writerOf } from '../../../lib/records/chance.ts'
import t from '../../support/tap.ts'

t.test('makes versions of one length that are unique across writers', async (t) => {
  const versions = Array.from({ length: 50 }, () => versionMaker()).flatMap((next) => [next(), next()])
  t.strictSame(new Set(versions.map(({ length }) => length)), new Set([VERSION_LENGTH]))
  t.equal(new Set(versions).size, 100)
  t.equal(new Set(versions.map(writerOf)).size, 50)
})

t.test('makes later versions of one writer sort after earlier ones', async (t) => {
  const next = versionMaker()
  const versions = Array.from({ length: 2000 }, next)
  t.strictSame(versions, versions.toSorted())
})
