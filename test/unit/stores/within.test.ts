import { stat } from 'node:fs/promises'
import t from 'tap'
import { systemClock } from '../../../lib/adapters/node/system-clock.ts'
import { within } from '../../../lib/stores/within.ts'
import { countingClock } from './counting-clock.ts'

t.test('an answer that is there at once costs no timer', async (t) => {
  const clock = countingClock()
  t.equal(await within(100, clock, () => { t.equal(clock.waiting(), 0); return 1 }), 1)
  t.equal(clock.waiting(), 0)
})

t.test('a call that throws or rejects does so, and leaves no timer', async (t) => {
  const clock = countingClock()
  await t.rejects(within(100, clock, () => { throw new Error('at once') }), { message: 'at once' })
  await t.rejects(within(100, clock, async () => { throw new Error('later') }), { message: 'later' })
  t.equal(clock.waiting(), 0)
})

t.test('what rejects after its time is nobody\'s, and ends no process', async (t) => {
  const clock = countingClock()
  const rejections: unknown[] = []
  const listener = (reason: unknown): void => { rejections.push(reason) }
  process.on('unhandledRejection', listener)
  t.teardown(() => { process.off('unhandledRejection', listener) })
  let fail = (): void => {}
  const call = within(100, clock, async () => await new Promise<never>((_resolve, reject) => { fail = () => { reject(new Error('late')) } }))
  clock.step(100)
  await t.rejects(call, { message: 'no answer within 100 ms' })
  fail()
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => { setImmediate(resolve) })
  t.strictSame(rejections, [])
})

t.test('an answer that came in time, while this process was busy, counts', async (t) => {
  // From here on, timers come before what there is to read.
  await new Promise((resolve) => { setImmediate(resolve) })
  const answer = within(100, systemClock, async () => await stat(import.meta.dirname))
  // Whoever blocks the event loop keeps it from reading.
  for (const end = performance.now() + 300; performance.now() < end;);
  t.ok((await answer).isDirectory())
})
