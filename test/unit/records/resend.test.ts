import { memoryRecords } from '../../../lib/adapters/memory/record-store.ts'
import { isOutage, OutageError } from '../../../lib/ports/outage.ts'
import { MOST_WRITERS } from '../../../lib/records/encoding.ts'
import { transactor } from '../../../lib/records/transact.ts'
import type { View } from '../../../lib/records/view.ts'
import t from '../../support/tap.ts'

const add =
  (more: number) =>
  (view: View): void => {
    const value = Number(view.get('f:1') ?? 0) + more
    view.put('f:1', { kind: 'family', userId: 'ann', value, expiresAt: 1e15 })
  }

/** Commits once and loses the answer, and lets `others` write before the repeat. */
async function afterOthers(others: number, wasDone: boolean): Promise<{ said: string; sum: unknown }> {
  const store = memoryRecords()
  let commits = 0
  const { transact } = transactor({
    ...store,
    async commit(...args) {
      if (++commits > 1) return await store.commit(...args)
      if (wasDone) await store.commit(...args)
      for (let other = 0; other < others; other++) await transactor(store).transact('p', ['f:1'], add(1))
      throw new OutageError('lost')
    }
  })
  const said = await transact('p', ['f:1'], add(100)).then(
    () => 'done',
    (error: unknown) => (isOutage(error) ? 'unknown' : String(error))
  )
  return { said, sum: await transactor(store).transact('p', ['f:1'], (view) => view.get('f:1')) }
}

t.test('applies a commit with a lost answer once, also after other writes', async (t) => {
  const cases = [0, 1, MOST_WRITERS - 1, MOST_WRITERS].flatMap((others) => [
    { others, wasDone: true },
    { others, wasDone: false }
  ])
  for (const { others, wasDone } of cases)
    t.strictSame(
      await afterOthers(others, wasDone),
      { said: 'done', sum: others + 100 },
      `${others} others, ${wasDone ? 'done' : 'not done'} the first time`
    )
})

t.test('reports a lost commit as unknown if its record was removed meanwhile', async (t) => {
  for (const wasDone of [true, false]) {
    const store = memoryRecords()
    await transactor(store).transact('p', ['f:1'], add(1))
    let commits = 0
    const { transact } = transactor({
      ...store,
      async commit(...args) {
        if (++commits > 1) return await store.commit(...args)
        if (wasDone) await store.commit(...args)
        await transactor(store).transact('p', [], (view) => {
          view.remove('f:1')
        })
        throw new OutageError('lost')
      }
    })
    const said = await transact('p', ['f:1'], add(100)).catch((error: unknown) => isOutage(error))
    t.equal(said, true, wasDone ? 'done' : 'not done')
    t.equal(await transactor(store).transact('p', ['f:1'], (view) => view.get('f:1')), null)
  }
})

t.test('repeats a lost read once, and a refused read not at all', async (t) => {
  const reads = async (failure: Error, losses: number): Promise<{ said: unknown; reads: number }> => {
    const store = memoryRecords()
    await transactor(store).transact('p', ['f:1'], add(1))
    let count = 0
    const { look } = transactor({
      ...store,
      async read(...args) {
        if (++count <= losses) throw failure
        return await store.read(...args)
      }
    })
    const said = await look('p', ['f:1'], (view) => view.get('f:1')).catch(({ message }: Error) => message)
    return { said, reads: count }
  }
  t.strictSame(await reads(new OutageError('lost'), 1), { said: 1, reads: 2 })
  t.strictSame(await reads(new OutageError('lost'), 2), { said: 'lost', reads: 2 })
  t.strictSame(await reads(new TypeError('refused'), 1), { said: 'refused', reads: 1 })
})

t.test('reports a commit as unknown after too many other writes, and does not repeat it', async (t) => {
  t.strictSame(await afterOthers(MOST_WRITERS + 1, true), { said: 'unknown', sum: MOST_WRITERS + 101 })
})
