import t from '../../support/tap.ts'
import type { Clock } from '../../../lib/ports/clock.ts'
import { sharedClock } from '../../../lib/boundary/shared-clock.ts'
import { steppedClock } from '../../../lib/testing/doubles.ts'

/** A machine whose clock is `skewMs` ahead of the server's, with a network that takes `tripMs` each way. */
function machine(skewMs: number, tripMs = 0) {
  const truth = steppedClock()
  const skew = { ms: skewMs }
  const local: Clock = {
    ...truth,
    now: () => truth.now() + skew.ms,
    monotonic: () => truth.monotonic(),
    after: (delayMs, task) => truth.after(delayMs, task)
  }
  const told: number[] = []
  const server = { isDown: false }
  const clock = sharedClock({
    clock: local,
    time: async () => {
      truth.step(tripMs)
      if (server.isDown) throw new Error('down')
      const answer = truth.now()
      truth.step(tripMs)
      return answer
    },
    onSkew: (ms) => {
      told.push(ms)
    }
  })
  return { truth, skew, server, clock, told, errorMs: () => clock.now() - truth.now() }
}

for (const skewMs of [300_000, -300_000, 1500, -86_400_000]) {
  t.test(`uses the time of the server if the clock is ${skewMs} ms off, and reports the difference once`, async (t) => {
    const { clock, truth, told, errorMs } = machine(skewMs, 20)
    t.equal(errorMs(), skewMs, 'before anybody has looked')
    await clock.compare()
    t.ok(Math.abs(errorMs()) <= 20, `${errorMs()} ms`)
    const [first] = told
    t.ok(first !== undefined && Math.abs(first - skewMs) <= 20, String(first))
    truth.step(60_000)
    await clock.compare()
    t.ok(Math.abs(errorMs()) <= 20)
    t.equal(told.length, 1)
  })
}

t.test('keeps the local clock when it differs from the server by at most 400 ms', async (t) => {
  for (const skewMs of [0, 400, -400]) {
    const { clock, told, errorMs } = machine(skewMs, 5)
    await clock.compare()
    t.equal(errorMs(), skewMs)
    t.strictSame(told, [])
  }
})

t.test('uses the local clock again after its correction, and reports a new difference', async (t) => {
  const { clock, skew, told, errorMs } = machine(300_000)
  await clock.compare()
  skew.ms = 0
  t.equal(errorMs(), -300_000, 'until the next look')
  await clock.compare()
  t.equal(errorMs(), 0)
  skew.ms = 10_000
  await clock.compare()
  t.equal(errorMs(), 0)
  t.strictSame(told, [300_000, 10_000])
})

t.test('keeps the known difference when the server does not answer', async (t) => {
  const { clock, server, errorMs } = machine(300_000)
  await clock.compare()
  server.isDown = true
  await t.rejects(clock.compare())
  t.equal(errorMs(), 0)
})

for (const slow of ['on the way there', 'on the way back'] as const) {
  t.test(
    `reports a difference of 5 minutes, but none of a correct clock, if the server takes 30 s (${slow})`,
    async (t) => {
      const truth = steppedClock()
      const skew = { ms: 0 }
      const told: number[] = []
      const clock = sharedClock({
        clock: { ...truth, now: () => truth.now() + skew.ms },
        time: async () => {
          if (slow === 'on the way there') truth.step(30_000)
          const answer = truth.now()
          if (slow === 'on the way back') truth.step(30_000)
          return answer
        },
        onSkew: (ms) => {
          told.push(ms)
        }
      })
      await clock.compare()
      t.equal(clock.now(), truth.now())
      t.strictSame(told, [])
      skew.ms = 300_000
      await clock.compare()
      t.equal(told.length, 1)
      t.ok(Math.abs(clock.now() - truth.now()) <= 15_000, 'as near as such an answer tells')
    }
  )
}

t.test('reports no difference when the machine sleeps while it waits for the answer', async (t) => {
  const truth = steppedClock()
  let asleepMs = 0
  const told: number[] = []
  const clock = sharedClock({
    clock: { ...truth, now: () => truth.now() + asleepMs },
    time: async () => {
      const answer = truth.now()
      // Only the wall clock goes on.
      asleepMs = 600_000
      return answer
    },
    onSkew: (ms) => {
      told.push(ms)
    }
  })
  await clock.compare()
  t.strictSame(told, [])
  t.equal(clock.now(), truth.now() + asleepMs)
})

t.test('uses the local clock for durations and timers', async (t) => {
  const { clock, truth } = machine(300_000)
  await clock.compare()
  t.equal(clock.monotonic(), truth.monotonic())
  let rang = 0
  clock.after(1000, () => {
    rang++
  })
  truth.step(999)
  t.equal(rang, 0)
  truth.step(1)
  t.equal(rang, 1)
})

// covers B11
t.test('checks an unchecked clock before the next call, and rejects the call if the clock was wrong', async (t) => {
  const { clock, server, truth, errorMs } = machine(3_600_000)
  server.isDown = true
  await t.resolves(clock.settled() ?? Promise.resolve(), 'an outage: the call goes on and finds that out by itself')
  t.equal(clock.settled(), undefined, 'not at every call')
  server.isDown = false
  truth.step(1000)
  const [first, second] = [clock.settled(), clock.settled()]
  t.equal(first, second, 'one look for all')
  await t.rejects(first ?? Promise.resolve(), { isOutage: true, message: /clock/ })
  t.equal(errorMs(), 0)
  t.equal(clock.settled(), undefined)
})

// covers B11
t.test('delays no call after the clock was found right', async (t) => {
  const { clock } = machine(200)
  await t.resolves(clock.settled() ?? Promise.reject(new Error('nothing was looked at')))
  t.equal(clock.settled(), undefined)
})

// covers B11
t.test('checks the clock again after an outage', async (t) => {
  const { clock, skew, errorMs } = machine(0)
  await clock.compare()
  t.equal(clock.settled(), undefined)
  skew.ms = -7_200_000
  clock.doubt()
  await t.rejects(clock.settled() ?? Promise.resolve(), { isOutage: true, message: /clock/ })
  t.equal(errorMs(), 0)
})

// covers B11
t.test('asks 6 to 12 times in 300 seconds when the server does not tell its time', async (t) => {
  const { clock, server, truth } = machine(0)
  server.isDown = true
  let looks = 0
  for (let second = 0; second < 300; second++) {
    const settled = clock.settled()
    if (settled !== undefined) looks++
    await settled
    truth.step(1000)
  }
  t.ok(looks >= 6 && looks <= 12, `${looks} looks in 300 s`)
})
