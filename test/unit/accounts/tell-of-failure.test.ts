import t from '../../support/tap.ts'
import { tellOfFailure } from '../../../lib/features/second-factors/deps.ts'
import { NO_REQUEST } from '../../../lib/events.ts'

t.test('reports the error and resolves when the warning about failed codes cannot be sent', async (t) => {
  const reported: unknown[] = []
  const failure = new Error('the counters are down')
  const outbox = {
    post() {
      t.fail('nothing is sent')
    }
  } as never
  await tellOfFailure(
    { id: 'ann', username: 'ann', passwordHash: null },
    { locale: undefined, origin: NO_REQUEST },
    {
      outbox,
      messageBound: {
        send: async () => {
          throw failure
        }
      },
      onError: (error) => {
        reported.push(error)
      }
    }
  )
  t.same(reported, [failure])
})
