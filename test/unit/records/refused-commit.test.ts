import { memoryRecords } from '../../../lib/adapters/memory/record-store.ts'
import { OutageError } from '../../../lib/ports/outage.ts'
import { transactor } from '../../../lib/records/transact.ts'
import t from '../../support/tap.ts'

async function commitsAfter(error: Error): Promise<{ commits: number; rejection: unknown }> {
  const store = memoryRecords()
  let commits = 0
  const { transact } = transactor({
    ...store,
    async commit(...args) {
      if (++commits === 1) throw error
      return await store.commit(...args)
    }
  })
  const draft = { kind: 'family', userId: 'ann', value: 1, expiresAt: 10 }
  try {
    await transact('p', ['f:1'], (view) => {
      view.put('f:1', draft)
    })
  } catch (rejection) {
    return { commits, rejection }
  }
  return { commits, rejection: null }
}

t.test('repeats a commit when the store was unreachable', async (t) => {
  t.strictSame(await commitsAfter(new OutageError('lost')), { commits: 2, rejection: null })
})

t.test('does not repeat a commit that the store refused', async (t) => {
  const busy = Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })
  t.strictSame(await commitsAfter(busy), { commits: 1, rejection: busy })
})
