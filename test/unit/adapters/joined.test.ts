import t from '../../support/tap.ts'
import { joined } from '../../../lib/adapters/sql/joined.ts'

interface Store {
  runs: Array<readonly number[]>
  call(number: number): Promise<number>
}

/** Doubles each number. */
function store(fails: (numbers: readonly number[]) => Error | null = () => null): Store {
  const runs: Array<readonly number[]> = []
  const call = joined(
    async (numbers: readonly number[]) => {
      runs.push(numbers)
      const error = fails(numbers)
      if (error !== null) throw error
      return numbers.map((number) => number * 2)
    },
    (error) => error instanceof TypeError
  )
  return { runs, call }
}
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

t.test('runs the calls of one turn of the event loop as one batch, including a call after an await', async (t) => {
  const { runs, call } = store()
  const later = Promise.resolve().then(async () => await call(3))
  t.strictSame(await Promise.all([call(1), call(2), later]), [2, 4, 6])
  t.strictSame(runs, [[1, 2, 3]])
  t.equal(await call(4), 8)
  t.strictSame(runs.slice(1), [[4]])
})

t.test('runs at most 64 calls in one batch', async (t) => {
  const { runs, call } = store()
  t.strictSame(
    await Promise.all(upTo(130).map(call)),
    upTo(130).map((number) => number * 2)
  )
  t.strictSame(
    runs.map(({ length }) => length),
    [64, 64, 2]
  )
})

t.test('repeats each call of a batch alone after an error that one call may have caused', async (t) => {
  const { runs, call } = store((numbers) => (numbers.includes(2) ? new TypeError('not 2') : null))
  const outcomes = await Promise.allSettled([1, 2, 3].map(call))
  t.match(outcomes, [{ value: 2 }, { reason: { message: 'not 2' } }, { value: 6 }])
  t.strictSame(runs, [[1, 2, 3], [1], [2], [3]])
})

t.test('rejects all calls of a batch after another error, without repeating them', async (t) => {
  const { runs, call } = store(() => new Error('the answer was lost'))
  const outcomes = await Promise.allSettled([1, 2].map(call))
  t.match(outcomes, [{ reason: { message: 'the answer was lost' } }, { reason: { message: 'the answer was lost' } }])
  t.strictSame(runs, [[1, 2]])
})
