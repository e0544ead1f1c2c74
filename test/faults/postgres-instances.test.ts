import t from '../support/tap.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { expectHeld } from './support/expect.ts'
import { runScenario } from './support/scenario.ts'
import { INSTANCES, killedInstance, SKEWED, stoppedInstance } from './support/standard.ts'

t.test('keeps the checked guarantees on PostgreSQL with skewed clocks, a killed and a stopped instance', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const place = { kind: 'postgres', url: postgres.url } as const
  expectHeld(
    t,
    await runScenario({
      instances: INSTANCES,
      settingsOf: (name) => ({ state: place, users: place, skewMs: SKEWED[name] ?? 0 }),
      faults: [killedInstance('2', 0.25), stoppedInstance('3', 0.6)],
      terms: { limitsPer: 'instance', answerWithinMs: 4000, retryWithinMs: 5000 }
    })
  )
})
