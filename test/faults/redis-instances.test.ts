import t from '../support/tap.ts'
import { startRedis } from '../support/redis-server.ts'
import { expectHeld } from './support/expect.ts'
import { runScenario } from './support/scenario.ts'
import { INSTANCES, killedInstance, SKEWED, stoppedInstance, temporaryFile } from './support/standard.ts'

t.test('keeps the checked guarantees on Redis with skewed clocks, a killed and a stopped instance', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  const users = temporaryFile(t)
  const place = { kind: 'redis', url: redis.url } as const
  expectHeld(
    t,
    await runScenario({
      instances: INSTANCES,
      settingsOf: (name) => ({ state: place, users, limits: place, skewMs: SKEWED[name] ?? 0 }),
      faults: [killedInstance('2', 0.25), stoppedInstance('3', 0.6)],
      terms: { limitsPer: 'fleet', answerWithinMs: 3000, retryWithinMs: 5000 }
    })
  )
})
