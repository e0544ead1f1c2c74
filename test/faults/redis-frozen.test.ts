import t from '../support/tap.ts'
import { startRedis } from '../support/redis-server.ts'
import { expectHeld } from './support/expect.ts'
import { runScenario } from './support/scenario.ts'
import { LIMITS_ARE_LOCAL, temporaryFile, THREE } from './support/standard.ts'

t.test('keeps the checked guarantees while Redis is frozen', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  const users = temporaryFile(t)
  const place = { kind: 'redis', url: redis.url } as const
  expectHeld(
    t,
    await runScenario({
      instances: THREE,
      settingsOf: () => ({ state: place, users, limits: place, skewMs: 0 }),
      faults: [
        {
          name: 'SIGSTOP of Redis',
          at: 0.3,
          recoveryMs: 2500,
          excuses: LIMITS_ARE_LOCAL,
          async run({ hold }) {
            redis.pause()
            // Longer than the grace period of a replaced token, in the long form.
            await hold(3000, 30_000)
            redis.resume()
          }
        }
      ],
      terms: { limitsPer: 'fleet', answerWithinMs: 3000, retryWithinMs: 8000 }
    })
  )
})
