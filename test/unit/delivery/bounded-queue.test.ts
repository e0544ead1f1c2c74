import { setImmediate } from 'node:timers/promises'
import t from '../../support/tap.ts'
import { boundedQueue, type BoundedQueueOptions } from '../../../lib/delivery/bounded-queue.ts'
import { steppedClock } from '../../../lib/testing/doubles.ts'

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate()
}

/** A queue whose tasks end when the test calls `end`. */
function setUp(options: Partial<BoundedQueueOptions<string>> = {}) {
  const clock = steppedClock()
  const begun: string[] = []
  const pending: Array<{ resolve(): void; reject(error: Error): void }> = []
  const givenUp: string[] = []
  const told: string[] = []
  const queue = boundedQueue<string>({
    tasks: 'letters',
    capacity: 4,
    maxInFlight: 2,
    clock,
    async attempt(task) {
      begun.push(task)
      await new Promise<void>((resolve, reject) => {
        pending.push({ resolve, reject })
      })
    },
    onGivenUp(task, error, attempts) {
      givenUp.push(`${task} ${attempts}: ${(error as Error).message}`)
    },
    onError(error, what) {
      told.push(`${what}: ${(error as Error).message}`)
    },
    ...options
  })
  const end = async (error?: Error): Promise<void> => {
    const next = pending.shift()
    if (error === undefined) next?.resolve()
    else next?.reject(error)
    await turns()
  }
  return { clock, begun, givenUp, told, queue, end }
}

t.test('starts tasks in order in a later turn, up to the limit in parallel', async (t) => {
  const { queue, begun, end } = setUp()
  t.same(
    ['a', 'b', 'c'].map((task) => queue.add(task)),
    [true, true, true]
  )
  await Promise.resolve()
  t.same(begun, [])
  await turns()
  t.same(begun, ['a', 'b'])
  await end()
  t.same(begun, ['a', 'b', 'c'])
})

t.test('starts each following task in its own turn of the event loop', async (t) => {
  const begun: string[] = []
  const { queue } = setUp({
    maxInFlight: 1,
    attempt: (task) => {
      begun.push(task)
    }
  })
  for (const task of ['a', 'b', 'c']) queue.add(task)
  await setImmediate()
  t.same(begun, ['a'])
  await setImmediate()
  t.same(begun, ['a', 'b'])
  await queue.idle()
  t.same(begun, ['a', 'b', 'c'])
})

t.test('drops excess tasks with one report, and ends the overload at half the capacity', async (t) => {
  const { queue, givenUp, told, end } = setUp()
  for (const task of ['a', 'b', 'c', 'd']) queue.add(task)
  t.same([queue.add('e'), queue.add('f')], [false, false])
  t.same(givenUp, ['e 0: More than 4 letters wait; new ones are dropped until some are done.'])
  await turns()
  await end()
  t.equal(queue.add('g'), true, 'a place is free')
  t.equal(queue.add('h'), false)
  t.equal(givenUp.length, 1, 'the same overload')
  await end()
  t.same(told, [], 'three of four places are taken')
  await end()
  t.same(told, ['the overload of letters is over: 3 letters were dropped in all.'])
  for (const task of ['i', 'j', 'k']) queue.add(task)
  t.equal(givenUp.length, 2, 'the next overload is told again')
})

t.test('retries a failed task after each delay, then gives it up', async (t) => {
  const { queue, clock, begun, givenUp, end } = setUp({ retryDelaysMs: [10, 100] })
  queue.add('a')
  await turns()
  for (const delay of [10, 100]) {
    await end(new Error('no'))
    clock.step(delay - 1)
    await turns()
    const before = begun.length
    clock.step(1)
    await turns()
    t.equal(begun.length, before + 1, `after ${delay} ms and not before`)
  }
  t.same(givenUp, [])
  await end(new Error('still not'))
  t.same(givenUp, ['a 3: still not'])
  await queue.idle()
})

t.test('treats a synchronous throw like a rejection', async (t) => {
  const { queue, givenUp } = setUp({
    attempt: () => {
      throw new Error('at once')
    }
  })
  t.equal(queue.add('a'), true)
  await queue.idle()
  t.same(givenUp, ['a 1: at once'])
})

t.test('counts a task that waits for a retry toward the capacity, but not as in flight', async (t) => {
  const { queue, begun, end } = setUp({ capacity: 2, maxInFlight: 1, retryDelaysMs: [10] })
  queue.add('a')
  await turns()
  await end(new Error('no'))
  t.same([queue.add('b'), queue.add('c')], [true, false])
  await turns()
  t.same(begun, ['a', 'b'])
})

t.test('frees the slot of a timed-out task once, and retries the task only with retriesTimeouts', async (t) => {
  for (const retriesTimeouts of [false, true]) {
    const { queue, clock, begun, givenUp, end } = setUp({
      maxInFlight: 1,
      retryDelaysMs: [10],
      timeoutMs: 1000,
      retriesTimeouts
    })
    for (const task of ['a', 'b', 'c']) queue.add(task)
    await turns()
    clock.step(999)
    await turns()
    t.same(begun, ['a'])
    clock.step(1)
    await turns()
    t.same(begun, ['a', 'b'])
    await end()
    t.same(begun, ['a', 'b'], 'the late end of the first frees no second place')
    t.same(givenUp, retriesTimeouts ? [] : ['a 1: It took more than 1 seconds.'])
    await end()
    clock.step(10)
    await turns()
    await end()
    t.same(begun, retriesTimeouts ? ['a', 'b', 'c', 'a'] : ['a', 'b', 'c'])
  }
})

t.test('resolves idle when no task waits, runs or waits for a retry', async (t) => {
  const { queue, clock, end } = setUp({ retryDelaysMs: [10] })
  await queue.idle()
  queue.add('a')
  let idle = false
  const waiting = queue.idle().then(() => {
    idle = true
  })
  await turns()
  await end(new Error('no'))
  t.equal(idle, false)
  clock.step(10)
  await turns()
  await end()
  await waiting
})

t.test('close runs what is queued, and waits 5 seconds at most', async (t) => {
  t.test('resolves without a wait when the queue is empty', async () => {
    await setUp().queue.close()
  })

  t.test('finishes queued tasks, runs waiting retries at once, and accepts no more', async (t) => {
    const { queue, begun, givenUp, told, end } = setUp({ maxInFlight: 1, retryDelaysMs: [10, 10] })
    queue.add('a')
    await turns()
    await end(new Error('no'))
    queue.add('b')
    await turns()
    let closed = false
    const closing = queue.close().then(() => {
      closed = true
    })
    t.same([queue.add('late'), queue.add('later')], [false, false])
    t.same(givenUp.splice(0), ['late 0: The server stops.', 'later 0: The server stops.'])
    await end()
    t.same(begun, ['a', 'b', 'a'])
    t.equal(closed, false)
    await end(new Error('still not'))
    await closing
    t.same(givenUp, ['a 2: still not'], 'no third attempt')
    t.same(told, [], 'a task that comes too late is no overload')
  })

  t.test('stops waiting after 5 seconds, and gives up tasks that have not started', async (t) => {
    const { queue, clock, begun, givenUp, end } = setUp({ maxInFlight: 1 })
    for (const task of ['a', 'b', 'c']) queue.add(task)
    await turns()
    let closed = false
    const closing = queue.close().then(() => {
      closed = true
    })
    clock.step(4999)
    await turns()
    t.equal(closed, false)
    clock.step(1)
    await closing
    t.same(givenUp, ['b 0: The server stops.', 'c 0: The server stops.'])
    await end()
    t.same(begun, ['a'])
  })
})
