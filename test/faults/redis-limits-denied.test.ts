import t from '../support/tap.ts'
import { startRedis } from '../support/redis-server.ts'
import { expectHeld } from './support/expect.ts'
import { runScenario } from './support/scenario.ts'
import { temporaryFile, THREE } from './support/standard.ts'

t.test('exceeds no limit with onStoreError deny while Redis is frozen, killed and restarted', async (t) => {
  const redis = await startRedis({ appendOnly: true })
  t.teardown(() => redis.stop())
  const users = temporaryFile(t)
  const place = { kind: 'redis', url: redis.url } as const
  const result = await runScenario({
    instances: THREE,
    settingsOf: () => ({ state: place, users, limits: place, skewMs: 0 }),
    onStoreError: 'deny',
    seconds: 9,
    faults: [
      {
        name: 'SIGSTOP of Redis',
        at: 0.15,
        recoveryMs: 2000,
        async run({ hold }) {
          redis.pause()
          await hold(1500, 20_000)
          redis.resume()
        }
      },
      {
        name: 'SIGKILL of Redis',
        at: 0.6,
        recoveryMs: 3000,
        async run({ hold }) {
          await redis.kill()
          await hold(1000, 15_000)
          await redis.restart()
        }
      }
    ],
    terms: { limitsPer: 'fleet', answerWithinMs: 3000, retryWithinMs: 8000 }
  })
  expectHeld(t, result)
  t.strictSame(
    result.excused.filter(({ violation }) => violation.rule === 'limit'),
    [],
    'nothing is excused'
  )
})
