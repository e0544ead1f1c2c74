import t from '../support/tap.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { expectHeld } from './support/expect.ts'
import { startProxy } from './support/proxy.ts'
import { runScenario } from './support/scenario.ts'
import { THREE } from './support/standard.ts'

t.test('keeps the checked guarantees while the network to PostgreSQL is cut, silent or slow', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const proxy = await startProxy(postgres)
  t.teardown(() => proxy.stop())
  const url = new URL(postgres.url)
  url.port = String(proxy.port)
  const place = { kind: 'postgres', url: url.href } as const
  expectHeld(
    t,
    await runScenario({
      instances: THREE,
      seconds: 10,
      settingsOf: () => ({ state: place, users: place, skewMs: 0 }),
      faults: [
        {
          name: 'connections cut',
          at: 0.1,
          recoveryMs: 1000,
          async run() {
            proxy.cut()
          }
        },
        {
          name: 'everything swallowed, then cut',
          at: 0.25,
          recoveryMs: 3000,
          async run({ hold }) {
            proxy.drop(true)
            await hold(2500, 20_000)
            proxy.drop(false)
            proxy.cut()
          }
        },
        {
          name: 'answers 100 ms late',
          at: 0.85,
          recoveryMs: 1500,
          async run({ hold }) {
            proxy.delay(0, 100)
            await hold(1500, 20_000)
            proxy.delay(0)
          }
        }
      ],
      terms: { limitsPer: 'instance', answerWithinMs: 6000, retryWithinMs: 8000 }
    })
  )
})
