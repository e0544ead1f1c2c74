import { VERSION_LENGTH } from '../../../lib/ports/record-store.ts'
import { versionMaker, writerOf } from '../../../lib/records/chance.ts'
import t from '../../support/tap.ts'

t.test('versions have one length, and no two writers have a name or a version in common', async (t) => {
  const versions = Array.from({ length: 50 }, () => versionMaker()).flatMap((next) => [next(), next()])
  t.strictSame(new Set(versions.map(({ length }) => length)), new Set([VERSION_LENGTH]))
  t.equal(new Set(versions).size, 100)
  t.equal(new Set(versions.map(writerOf)).size, 50)
})

t.test('of two versions of one writer the later one is the greater text', async (t) => {
  const next = versionMaker()
  const versions = Array.from({ length: 2000 }, next)
  t.strictSame(versions, versions.toSorted())
})
