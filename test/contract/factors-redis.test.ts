import type { Cluster, Redis } from 'ioredis'
import t from 'tap'
import { redisFactorStore } from '../../lib/adapters/redis/factor-store.ts'
import type { FactorStore } from '../../lib/ports/factor-store.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/delayed.ts'
import { factorStoreContract } from '../../lib/testing/factor-store-contract.ts'
import { startRedis, startRedisCluster } from '../support/redis-server.ts'

const server = await startRedis()
const cluster = await startRedisCluster()
t.teardown(() => Promise.all([server.stop(), cluster.stop()]))
const clusterClient = cluster.client()

/** Each case has keys of its own; all of them stay, to be looked at when the suites have run. */
let cases = 0
const fresh = (client: Redis | Cluster) => async (): Promise<{ store: FactorStore }> => ({ store: redisFactorStore(client, { prefix: `case-${++cases}:` }) })

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)

runContract(factorStoreContract(fresh(server.client())), test('redis'))
runContract(factorStoreContract(fresh(server.client({ keyPrefix: 'host:' }))), test('redis with a keyPrefix'))
runContract(factorStoreContract(async () => ({ store: delayed((await fresh(clusterClient)()).store) })), test('delayed redis cluster'))
