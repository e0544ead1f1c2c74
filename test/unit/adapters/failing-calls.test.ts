import t from '../../support/tap.ts'
import { joined } from '../../../lib/adapters/sql/joined.ts'
import { failedCallOf, namingFailures } from '../../../lib/ports/outage.ts'

t.test('names both calls in the errors of one failed statement that served two calls', async (t) => {
  const call = joined<string, string>(
    async () => {
      throw new Error('lost')
    },
    () => false
  )
  const store = namingFailures('factors', { find: () => call('a'), list: () => call('b') })
  const [found, listed] = await Promise.allSettled([store.find(), store.list()])
  const names = [found, listed].map((one) => failedCallOf(one.status === 'rejected' ? one.reason : null))
  t.strictSame(names, ['factors.find or factors.list', 'factors.find or factors.list'])
  t.equal(failedCallOf(await store.list().catch((error: unknown) => error)), 'factors.list')
})
