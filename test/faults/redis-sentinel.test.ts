import t from '../support/tap.ts'
import { startRedisSentinel } from '../support/redis-server.ts'
import { expectHeld } from './support/expect.ts'
import { runScenario } from './support/scenario.ts'
import { LIMITS_ARE_LOCAL, temporaryFile, THREE } from './support/standard.ts'
import { becomesMaster, UNREPLICATED } from './support/failover.ts'

t.test('loses only unreplicated writes when the master of a Sentinel group dies', async (t) => {
  const group = await startRedisSentinel()
  t.teardown(() => group.stop())
  const users = temporaryFile(t)
  const place = {
    kind: 'sentinel',
    name: 'authority',
    sentinels: group.sentinels.map(({ host, port }) => ({ host, port }))
  } as const
  expectHeld(
    t,
    await runScenario({
      instances: THREE,
      settingsOf: () => ({ state: place, users, limits: place, skewMs: 0 }),
      faults: [
        {
          name: 'SIGKILL of the master',
          at: 0.3,
          recoveryMs: 4000,
          excuses: [...LIMITS_ARE_LOCAL, UNREPLICATED],
          async run() {
            await group.master.kill()
            await becomesMaster(group.replica)
          }
        }
      ],
      terms: { limitsPer: 'fleet', answerWithinMs: 3000, retryWithinMs: 8000 }
    })
  )
})
