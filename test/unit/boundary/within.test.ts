import { MessageChannel } from 'node:worker_threads'
import t from '../../support/tap.ts'
import { systemClock } from '../../../lib/adapters/node/system.ts'
import { within } from '../../../lib/boundary/answers.ts'
import { countingClock } from './counting-clock.ts'

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
}

t.test('starts no timer for a call that returns a value instead of a promise', async (t) => {
  const clock = countingClock()
  t.equal(
    await within(100, clock, () => {
      t.equal(clock.waiting(), 0)
      return 1
    }),
    1
  )
  t.equal(clock.waiting(), 0)
})

t.test('passes a thrown error or a rejection on, and leaves no timer', async (t) => {
  const clock = countingClock()
  await t.rejects(
    within(100, clock, () => {
      throw new Error('at once')
    }),
    { message: 'at once' }
  )
  await t.rejects(
    within(100, clock, async () => {
      throw new Error('later')
    }),
    { message: 'later' }
  )
  t.equal(clock.waiting(), 0)
})

t.test('limits the time of query builders, which are thenable but not promises', async (t) => {
  const awaitable = (then: PromiseLike<string>['then']): Promise<string> =>
    new Proxy(
      {},
      { get: (_target, name) => (name === 'then' ? then : undefined), has: (_target, name) => name === 'then' }
    ) as Promise<string>
  const clock = countingClock()
  t.equal(await within(100, clock, () => awaitable((resolve) => Promise.resolve('rows').then(resolve))), 'rows')
  await t.rejects(
    within(100, clock, () =>
      awaitable(() => {
        throw new Error('no connection')
      })
    ),
    { message: 'no connection' }
  )
  t.equal(clock.waiting(), 0)
  let outcome = 'waits'
  within(100, clock, () =>
    awaitable((resolve) => Promise.resolve(resolve?.(new Promise<never>(() => {}) as unknown as string)) as never)
  ).catch((error: Error) => {
    outcome = error.message
  })
  await turns()
  clock.step(100)
  await turns()
  t.equal(outcome, 'no answer within 100 ms')
})

t.test('ignores a rejection after the time limit, and keeps the process alive', async (t) => {
  const clock = countingClock()
  const rejections: unknown[] = []
  const listener = (reason: unknown): void => {
    rejections.push(reason)
  }
  process.on('unhandledRejection', listener)
  t.teardown(() => {
    process.off('unhandledRejection', listener)
  })
  let fail = (): void => {}
  const call = within(
    100,
    clock,
    async () =>
      await new Promise<never>((_resolve, reject) => {
        fail = () => {
          reject(new Error('late'))
        }
      })
  )
  clock.step(100)
  await t.rejects(call, { message: 'no answer within 100 ms' })
  fail()
  await turns()
  t.strictSame(rejections, [])
})

t.test('accepts an answer that came in time while the event loop was blocked', async (t) => {
  // Timers run before reads after this.
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => {
    port1.close()
  })
  const answer = within(
    100,
    systemClock,
    async () =>
      await new Promise((resolve) => {
        port1.once('message', resolve)
      })
  )
  port2.postMessage('there', [])
  // Blocks the event loop, so that nothing is read.
  for (const end = performance.now() + 300; performance.now() < end;);
  t.equal(await answer, 'there')
})

t.test('accepts an answer that takes several turns of the event loop after a block', async (t) => {
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => {
    port1.close()
  })
  const message = async (): Promise<unknown> =>
    await new Promise((resolve) => {
      port1.once('message', resolve)
    })
  const answer = within(100, systemClock, async () => {
    for (let packet = 0; packet < 4; packet++) {
      await message()
      setImmediate(() => {
        port2.postMessage('more', [])
      })
    }
    return 'there'
  })
  port2.postMessage('connected', [])
  for (const end = performance.now() + 300; performance.now() < end;);
  t.equal(await answer, 'there')
})
