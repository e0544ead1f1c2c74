import t from '../../support/tap.ts'
import { type HashingQueue, hashingQueue } from '../../../lib/accounts/password-hashing.ts'
import { OAuthError } from '../../../lib/errors.ts'
import { steppedClock } from '../../../lib/testing/doubles.ts'

const turn = async (): Promise<void> => {
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
}

function queue(concurrency: number, maxQueue: number) {
  const clock = steppedClock()
  const scheduled = new Set<number>()
  let next = 0
  const events: string[] = []
  const made = hashingQueue(
    { concurrency, maxQueue },
    {
      events: {
        emit(name) {
          events.push(name)
        }
      },
      clock: {
        after(delayMs, task) {
          const id = next++
          scheduled.add(id)
          const undo = clock.after(delayMs, () => {
            scheduled.delete(id)
            task()
          })
          return () => {
            scheduled.delete(id)
            undo()
          }
        }
      }
    }
  )
  return { queue: made, clock, events, scheduled }
}

/** Runs works that end when the test calls `end`, and records the outcome of each call. */
function works(queue: HashingQueue) {
  const begun: number[] = []
  const ends: Array<() => void> = []
  const outcomes: string[] = []
  return {
    begun,
    outcomes,
    end(work: number) {
      ends[work]?.()
    },
    call(count: number) {
      for (let n = 0; n < count; n++) {
        const id = outcomes.push('open') - 1
        queue
          .run(async () => {
            begun.push(id)
            await new Promise<void>((resolve) => {
              ends[id] = resolve
            })
          })
          .then(
            () => {
              outcomes[id] = 'done'
            },
            (error: unknown) => {
              outcomes[id] =
                error instanceof OAuthError
                  ? `${error.error} ${error.statusCode} ${error.headers['retry-after']}`
                  : 'another error'
            }
          )
      }
    }
  }
}

const REFUSED = 'temporarily_unavailable 503 1'

t.test('DOS-argon2-memory delays a refusal, and reports the full queue at once', async (t) => {
  const { queue: made, clock, events } = queue(1, 1)
  const { call, outcomes, begun, end } = works(made)
  call(3)
  await turn()
  t.same(events, ['hash_queue_full'])
  t.same(begun, [0])
  clock.step(249)
  await turn()
  t.same(outcomes, ['open', 'open', 'open'])
  clock.step(751)
  await turn()
  t.same(outcomes, ['open', 'open', REFUSED])
  end(0)
  await turn()
  end(1)
  await turn()
  t.same(outcomes, ['done', 'done', REFUSED])
  t.same(begun, [0, 1], 'what was refused never runs')
})

t.test('DOS-argon2-memory serves a later caller while an earlier refusal is delayed', async (t) => {
  const { queue: made, clock } = queue(1, 0)
  const { call, outcomes, end } = works(made)
  call(2)
  await turn()
  end(0)
  await turn()
  call(1)
  await turn()
  end(2)
  await turn()
  t.same(outcomes, ['done', 'open', 'done'])
  clock.step(1250)
  await turn()
  t.same(outcomes, ['done', REFUSED, 'done'])
})

t.test('reports an overload once when no call may wait, and the next overload again', async (t) => {
  const { queue: made, clock, events } = queue(1, 0)
  const { call, outcomes, end } = works(made)
  call(2)
  end(0)
  await turn()
  call(2)
  await turn()
  t.same(events, ['hash_queue_full'])
  end(2)
  clock.step(1250)
  await turn()
  t.same(outcomes, ['done', REFUSED, 'done', REFUSED])
  call(2)
  await turn()
  t.same(events, ['hash_queue_full', 'hash_queue_full'])
})

t.test('DOS-argon2-memory spreads the answers to callers that were refused together', async (t) => {
  const { queue: made, clock } = queue(1, 0)
  const { call, outcomes } = works(made)
  call(501)
  await turn()
  let most = 0
  for (let ms = 0, before = 0; ms < 1250; ms++) {
    clock.step(1)
    await turn()
    const answered = outcomes.filter((outcome) => outcome === REFUSED).length
    most = Math.max(most, answered - before)
    before = answered
  }
  t.equal(outcomes.filter((outcome) => outcome === REFUSED).length, 500)
  t.equal(most, 2)
})

t.test('DOS-argon2-memory delays at most a thousand refusals, and answers further ones at once', async (t) => {
  const { queue: made, clock, scheduled } = queue(1, 0)
  const { call, outcomes } = works(made)
  call(1001)
  await turn()
  t.equal(scheduled.size, 1000)
  t.equal(outcomes.filter((outcome) => outcome === REFUSED).length, 0)
  call(5)
  await turn()
  t.same(outcomes.slice(1001), Array(5).fill(REFUSED))
  t.equal(scheduled.size, 1000)
  clock.step(1250)
  await turn()
  t.equal(outcomes.filter((outcome) => outcome === REFUSED).length, 1005)
  t.equal(scheduled.size, 0)
  call(1)
  await turn()
  t.equal(scheduled.size, 1)
  t.equal(outcomes.at(-1), 'open')
})

t.test('leaves no timer after close, answers delayed and new refusals, and finishes accepted work', async (t) => {
  const { queue: made, scheduled } = queue(1, 1)
  const { call, outcomes, end } = works(made)
  call(4)
  await turn()
  t.equal(scheduled.size, 2)
  made.close()
  await turn()
  t.equal(scheduled.size, 0)
  t.same(outcomes, ['open', 'open', REFUSED, REFUSED])
  call(1)
  await turn()
  t.equal(outcomes[4], REFUSED)
  t.equal(scheduled.size, 0)
  end(0)
  await turn()
  end(1)
  await turn()
  t.same(outcomes.slice(0, 2), ['done', 'done'])
  made.close()
})

t.test('DOS-argon2-memory serves callers in order, also one that comes while a permit changes hands', async (t) => {
  const { queue: made } = queue(2, 100)
  const { call, begun, end } = works(made)
  call(6)
  await turn()
  end(0)
  // Call synchronously after the end, when the permit already belongs to the third caller.
  call(1)
  await turn()
  for (let id = 1; id < 7; id++) {
    end(id)
    await turn()
  }
  t.same(begun, [0, 1, 2, 3, 4, 5, 6])
})
