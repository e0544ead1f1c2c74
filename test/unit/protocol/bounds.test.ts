import t from '../../support/tap.ts'
import { checkPerUser } from '../../../lib/protocol/bounds.ts'

t.test('limits maxSessionsPerUser to whole numbers from 1 to 1000', async (t) => {
  for (const max of [1, 2, 999, 1000])
    t.doesNotThrow(() => {
      checkPerUser({ maxSessionsPerUser: max })
    }, String(max))
  for (const max of [0, -1, 1001, 1.5, NaN, Infinity])
    t.throws(
      () => {
        checkPerUser({ good: 1, maxSessionsPerUser: max })
      },
      new RangeError(
        'maxSessionsPerUser must be a whole number from 1 to 1000: a sign-in looks at all that its ' +
          'user has, and everybody waits for it.'
      ),
      String(max)
    )
  t.doesNotThrow(() => {
    checkPerUser({})
  })
})
