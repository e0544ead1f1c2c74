import t from '../support/tap.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { expectHeld } from './support/expect.ts'
import { runScenario } from './support/scenario.ts'
import { THREE } from './support/standard.ts'

t.test('keeps the checked guarantees when PostgreSQL is killed, refuses connections or is frozen', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const place = { kind: 'postgres', url: postgres.url } as const
  expectHeld(
    t,
    await runScenario({
      instances: THREE,
      settingsOf: () => ({ state: place, users: place, skewMs: 0 }),
      seconds: 13,
      faults: [
        {
          name: 'SIGKILL of PostgreSQL',
          at: 0.15,
          recoveryMs: 2000,
          async run({ hold }) {
            await postgres.kill()
            await hold(500, 10_000)
            await postgres.restart()
          }
        },
        {
          name: 'connections cut and refused',
          at: 0.45,
          recoveryMs: 1500,
          async run({ hold }) {
            await postgres.refuseConnections(true)
            await hold(1000, 20_000)
            await postgres.refuseConnections(false)
          }
        },
        {
          name: 'SIGSTOP of PostgreSQL',
          at: 0.7,
          recoveryMs: 3000,
          async run({ hold }) {
            await postgres.pause()
            await hold(3000, 30_000)
            await postgres.resume()
          }
        }
      ],
      terms: { limitsPer: 'instance', answerWithinMs: 6000, retryWithinMs: 8000 }
    })
  )
})
