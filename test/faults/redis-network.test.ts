import t from '../support/tap.ts'
import { startRedis } from '../support/redis-server.ts'
import { expectHeld } from './support/expect.ts'
import { startProxy } from './support/proxy.ts'
import { runScenario } from './support/scenario.ts'
import { LIMITS_ARE_LOCAL, temporaryFile, THREE } from './support/standard.ts'

t.test('keeps the checked guarantees while the network to Redis is cut, silent or slow', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  const proxy = await startProxy(redis)
  t.teardown(() => proxy.stop())
  const users = temporaryFile(t)
  const place = { kind: 'redis', url: `redis://127.0.0.1:${proxy.port}` } as const
  expectHeld(
    t,
    await runScenario({
      instances: THREE,
      seconds: 9.5,
      settingsOf: () => ({ state: place, users, limits: place, skewMs: 0 }),
      faults: [
        {
          name: 'connections cut',
          at: 0.1,
          recoveryMs: 1500,
          excuses: LIMITS_ARE_LOCAL,
          async run() {
            proxy.cut()
          }
        },
        {
          name: 'everything swallowed, then cut',
          at: 0.3,
          recoveryMs: 2500,
          excuses: LIMITS_ARE_LOCAL,
          async run({ hold }) {
            proxy.drop(true)
            await hold(1500, 20_000)
            proxy.drop(false)
            proxy.cut()
          }
        },
        {
          name: 'answers 100 ms late',
          at: 0.8,
          recoveryMs: 1500,
          excuses: LIMITS_ARE_LOCAL,
          async run({ hold }) {
            proxy.delay(0, 100)
            await hold(1500, 20_000)
            proxy.delay(0)
          }
        }
      ],
      terms: { limitsPer: 'fleet', answerWithinMs: 4000, retryWithinMs: 8000 }
    })
  )
})
