/** Calls of one turn on records of one partition go to a Cluster in one write, also while their slot moves. */
import t from '../support/tap.ts'
import { redisRecords } from '../../lib/adapters/redis/record-store.ts'
import { NEVER } from '../../lib/ports/record-store.ts'
import { startRedisCluster } from '../support/redis-server.ts'
import { halfMoved } from './support/moving-slot.ts'

const PARTITION = 'partition-of-ann'
const KEYS = Array.from({ length: 8 }, (_, index) => `f:${index}`)
const versionOf = (index: number): string => `version-${index}`.padEnd(14, '_')

t.test('reads of one turn find each record on the node that has it', async (t) => {
  const cluster = await startRedisCluster()
  t.teardown(() => cluster.stop())
  const store = redisRecords(cluster.client(), { prefix: 'authority:' })
  const written = KEYS.map((key, index) => ({
    key,
    expect: null,
    change: { value: `[${index}]`, version: versionOf(index), kind: 'family', userId: 'ann', expiresAt: NEVER }
  }))
  t.equal(await store.commit(PARTITION, written, 0), null)
  const slot = await halfMoved(cluster, `{${PARTITION}}`)
  const arrived = (await slot.arrived()).length
  t.ok(arrived > 0 && arrived < KEYS.length, `${arrived} of ${KEYS.length} have moved`)
  const found = await Promise.all(KEYS.map(async (key) => await store.read(PARTITION, [key])))
  t.strictSame(
    found,
    KEYS.map((_, index) => [{ value: `[${index}]`, version: versionOf(index) }])
  )
  await slot.finish()
  t.equal((await store.read(PARTITION, KEYS)).filter((record) => record === null).length, 0)
})
