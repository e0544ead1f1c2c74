import t from '../support/tap.ts'
import { startRedisCluster } from '../support/redis-server.ts'
import { expectHeld } from './support/expect.ts'
import { becomesMaster, UNREPLICATED } from './support/failover.ts'
import { runScenario } from './support/scenario.ts'
import { INSTANCES, LIMITS_ARE_LOCAL, SKEWED, temporaryFile } from './support/standard.ts'

t.test('keeps the checked guarantees when a Redis Cluster loses a master and its replica takes over', async (t) => {
  const cluster = await startRedisCluster({ replicas: true })
  t.teardown(() => cluster.stop())
  const [lost] = cluster.masters
  const heir = cluster.nodes[3]
  if (lost === undefined || heir === undefined) throw new Error('The cluster has no replicas.')
  const users = temporaryFile(t)
  const place = { kind: 'cluster', nodes: cluster.nodes.map(({ host, port }) => ({ host, port })) } as const
  expectHeld(
    t,
    await runScenario({
      instances: INSTANCES,
      settingsOf: (name) => ({ state: place, users, limits: place, skewMs: SKEWED[name] ?? 0 }),
      faults: [
        {
          name: 'SIGKILL of a master',
          at: 0.3,
          recoveryMs: 4000,
          excuses: [...LIMITS_ARE_LOCAL, UNREPLICATED],
          async run() {
            await lost.kill()
            await becomesMaster(heir)
          }
        }
      ],
      terms: { limitsPer: 'fleet', answerWithinMs: 3000, retryWithinMs: 8000 }
    })
  )
})
