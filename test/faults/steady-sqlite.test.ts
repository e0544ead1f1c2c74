import t from '../support/tap.ts'
import { expectHeld } from './support/expect.ts'
import { runScenario } from './support/scenario.ts'
import { INSTANCES, killedInstance, stoppedInstance, temporaryFile } from './support/standard.ts'

// No clock is skewed: the processes that share a file share a machine and its clock.
t.test('keeps the checked guarantees with 4 processes on one SQLite file, one killed and one stopped', async (t) => {
  const place = temporaryFile(t)
  expectHeld(
    t,
    await runScenario({
      instances: INSTANCES,
      settingsOf: () => ({ state: place, users: place, skewMs: 0 }),
      faults: [killedInstance('2', 0.25), stoppedInstance('3', 0.6)],
      // Writers wait for each other up to `busy_timeout`, which is 5 s.
      terms: { limitsPer: 'instance', answerWithinMs: 6000, pingWithinMs: 6000, retryWithinMs: 5000 }
    })
  )
})
