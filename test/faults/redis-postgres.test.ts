import t from '../support/tap.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { startRedis } from '../support/redis-server.ts'
import { expectHeld } from './support/expect.ts'
import { saidYes, wasLost } from './support/log.ts'
import { runScenario } from './support/scenario.ts'
import { THREE } from './support/standard.ts'

/** Shorter than the outages. */
const GRACE_MS = 2000

t.test('undoes refresh token rotations that fail in a long outage of the user store', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const place = { kind: 'redis', url: redis.url } as const
  const result = await runScenario({
    instances: THREE,
    settingsOf: () => ({
      state: place,
      users: { kind: 'postgres', url: postgres.url },
      limits: place,
      skewMs: 0,
      options: { refreshToken: { reuseGraceSeconds: GRACE_MS / 1000 } }
    }),
    seconds: 12,
    load: { journeyEveryMs: 80 },
    faults: [
      {
        name: 'SIGKILL of PostgreSQL',
        at: 0.1,
        recoveryMs: 2000,
        async run({ hold }) {
          await postgres.kill()
          await hold(3500, 15_000)
          await postgres.restart()
        }
      },
      {
        // A user store has five seconds, so only a longer stop causes failures.
        name: 'SIGSTOP of PostgreSQL',
        at: 0.62,
        recoveryMs: 2500,
        async run({ hold }) {
          await postgres.pause()
          await hold(6000, 30_000)
          await postgres.resume()
        }
      }
    ],
    terms: { graceMs: GRACE_MS, limitsPer: 'fleet', answerWithinMs: 6000, retryWithinMs: 8000 }
  })
  expectHeld(t, result)

  const rotations = result.entries.filter(({ operation }) => operation === 'rotate')
  const spoiled = rotations.filter((entry) => wasLost(entry) && entry.outcome.kind === 'answer')
  const late = spoiled.filter(({ token, start }) =>
    rotations.some((entry) => entry.token === token && saidYes(entry) && entry.start > start + GRACE_MS)
  )
  t.ok(late.length > 0, `a spoiled refresh worked after more than the grace time, ${late.length} times`)
})
