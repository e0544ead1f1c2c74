import t from '../support/tap.ts'
import { startRedis } from '../support/redis-server.ts'
import { expectHeld } from './support/expect.ts'
import { runScenario } from './support/scenario.ts'
import { LIMITS_ARE_LOCAL, temporaryFile, THREE } from './support/standard.ts'

t.test('keeps the checked guarantees when Redis with an append-only file is killed and restarted', async (t) => {
  const redis = await startRedis({ appendOnly: true })
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
          name: 'SIGKILL of Redis',
          at: 0.3,
          // Clients reconnect after a growing delay, up to about 2 s in the short form.
          recoveryMs: 3000,
          excuses: LIMITS_ARE_LOCAL,
          async run({ hold }) {
            await redis.kill()
            await hold(1500, 15_000)
            await redis.restart()
          }
        }
      ],
      terms: { limitsPer: 'fleet', answerWithinMs: 3000, retryWithinMs: 8000 }
    })
  )
})
