import t from '../../support/tap.ts'
import { lazily } from '../../../lib/composition/seeded-users.ts'

t.test('loads a part once for parallel and later calls', async (t) => {
  let loads = 0
  const part = lazily(async () => ({ load: ++loads }))
  t.same(await Promise.all([part(), part(), part()]), [{ load: 1 }, { load: 1 }, { load: 1 }])
  t.equal(await part(), await part())
})

t.test('rejects all waiting callers after a failed load, and loads again on the next call', async (t) => {
  const loads: Array<(error: Error | null) => void> = []
  const part = lazily(
    async () =>
      await new Promise<{ load: number }>((resolve, reject) => {
        const load = loads.length + 1
        loads.push((error) => {
          if (error === null) resolve({ load })
          else reject(error)
        })
      })
  )
  const first = [part(), part()]
  t.equal(loads.length, 1)
  loads[0]?.(new Error('EMFILE: too many open files'))
  for (const refused of await Promise.allSettled(first))
    t.match(refused, { status: 'rejected', reason: { message: 'EMFILE: too many open files' } })
  const again = [part(), part()]
  t.equal(loads.length, 2, 'once for both')
  loads[1]?.(null)
  t.same(await Promise.all([...again, part()]), [{ load: 2 }, { load: 2 }, { load: 2 }])
  t.equal(loads.length, 2)
})
