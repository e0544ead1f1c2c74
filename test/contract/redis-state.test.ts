import type { Cluster, Redis } from 'ioredis'
import t, { type Test } from '../support/tap.ts'
import { redisState } from '../../lib/adapters/redis/record-store.ts'
import type { State } from '../../lib/ports/state.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/doubles.ts'
import { stateContract } from './suites/state-contract.ts'
import { startRedis, startRedisCluster } from '../support/redis-server.ts'

/** Each case has its own keys. All of them stay until the suites have run, for a check of the keys. */
let cases = 0
const fresh = (client: Redis | Cluster) => async (): Promise<{ state: State; expiresByItself: true }> => ({
  state: redisState(client, { prefix: `case-${++cases}:` }),
  expiresByItself: true
})

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)

async function namesOn(node: Redis): Promise<string[]> {
  const names: string[] = []
  for await (const batch of node.scanStream({ count: 1000 })) names.push(...(batch as string[]))
  return names
}

/** Every key expires, except those of the service. */
async function checkKeys(t: Test, node: Redis): Promise<string[]> {
  const names = await namesOn(node)
  for (const name of names) {
    const ttlMs = await node.pttl(name)
    if (/\{service\}:[ko]$/.test(name)) t.equal(ttlMs, -1, `${name} stays`)
    else if (!(ttlMs > 0)) t.fail(`${name} has a TTL of ${ttlMs} ms`)
  }
  return names
}

const server = await startRedis()
const cluster = await startRedisCluster()
t.teardown(() => Promise.all([server.stop(), cluster.stop()]))
const clusterClient = cluster.client()

runContract(stateContract(fresh(server.client())), test('redis state'))
runContract(stateContract(fresh(server.client({ keyPrefix: 'host:' }))), test('redis state with a keyPrefix'))
runContract(stateContract(fresh(clusterClient)), test('redis cluster state'))
runContract(
  stateContract(async () => ({ state: delayed((await fresh(clusterClient)()).state), expiresByItself: true })),
  test('delayed redis cluster state')
)

t.test('redis cluster: finds nothing for malformed ids', async (t) => {
  const { state } = await fresh(clusterClient)()
  for (const name of ['', '}', '{}', '}}}{', 'ab', 'é👩', '\ud800']) {
    t.equal(await state.tokens.findFamily(name, 0), null)
    t.equal(await state.tokens.revokeFamily(name), false)
    t.same(await state.tokens.revokeSession(name, name), { session: null, sids: [] })
    t.equal(await state.oneTimeTokens.consume('verify_email', name, 0), null)
  }
})

t.test('redis: sets a TTL and one hash tag on every key of a user', async (t) => {
  const names = await checkKeys(t, server.client())
  t.ok(names.length > 100)
  t.ok(
    names.every((name) => /^(host:)?case-\d+:\{([\w-]{16}|service)\}:/.test(name)),
    'one hash tag, behind the prefixes'
  )
  t.ok(names.some((name) => name.startsWith('host:')))
  const perMaster = await Promise.all(
    cluster.masters.map(async (master) => (await checkKeys(t, master.client())).length)
  )
  t.ok(perMaster.reduce((sum, count) => sum + count) > 100)
})
