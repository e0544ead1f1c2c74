/**
 * B1 While a slot of a Cluster moves, no script runs on only some of its keys. For the same under load see
 * test/faults/redis-reshard.test.ts.
 */
import t from '../support/tap.ts'
import { redisAttemptStore } from '../../lib/adapters/redis/attempt-store.ts'
import { redisRecords, redisState } from '../../lib/adapters/redis/record-store.ts'
import { sharedConnection } from '../../lib/adapters/redis/server.ts'
import { NEVER } from '../../lib/ports/record-store.ts'
import { partitionOf } from '../../lib/protocol/digest.ts'
import { startRedisCluster } from '../support/redis-server.ts'
import { halfMoved } from './support/moving-slot.ts'
import { consent, family, NOW, secretOf, session, sidFor, use, userOf } from './support/state-records.ts'

const cluster = await startRedisCluster()
t.teardown(() => cluster.stop())

const refusalOf = async (call: Promise<unknown>): Promise<unknown> =>
  await call.then(
    () => null,
    (error: unknown) => error
  )

const PARTITION = 'partition-of-ann'
const KEYS = Array.from({ length: 8 }, (_, index) => `f:${index}`)
const versionOf = (index: number): string => `version-${index}`.padEnd(14, '_')
const recordOf = (index: number) => ({ value: `[${index}]`, version: versionOf(index) })

// covers B1
t.test('reads and writes the records of one partition together or not at all while its slot moves', async (t) => {
  const store = redisRecords(cluster.client(), { prefix: 'records:' })
  const writes = KEYS.map((key, index) => ({
    key,
    expect: null,
    change: { ...recordOf(index), kind: 'family', userId: 'ann', expiresAt: NEVER }
  }))
  t.equal(await store.commit(PARTITION, writes, 0), null)
  const slot = await halfMoved(cluster, `{${PARTITION}}`)
  const arrived = (await slot.arrived()).length
  t.ok(arrived > 0 && arrived < KEYS.length, `${arrived} of ${KEYS.length} have moved`)

  const found = await Promise.all(KEYS.map(async (key) => await store.read(PARTITION, [key])))
  t.strictSame(
    found,
    [...KEYS.entries()].map(([index]) => [recordOf(index)]),
    'reads of one turn, each of one key'
  )
  const deletions = KEYS.map((key, index) => ({ key, expect: versionOf(index), change: 'delete' as const }))
  t.match(await refusalOf(store.commit(PARTITION, deletions, 0)), { isOutage: true })
  t.match(await refusalOf(store.read(PARTITION, KEYS)), { isOutage: true })
  await slot.finish()
  t.strictSame(
    await store.read(PARTITION, KEYS),
    [...KEYS.entries()].map(([index]) => recordOf(index))
  )
})

// covers B1
t.test('answers with an outage, not a missing record, for a record on the other node while a slot moves', async (t) => {
  const client = cluster.client()
  const { tokens, browserSessions, consents } = redisState(client)
  const user = userOf('1')
  const names = ['phone', 'laptop', 'tablet']
  for (const name of names) await tokens.createFamily(family(user, name))
  await browserSessions.createSession(session(user, 'browser'), secretOf('browser'))
  await consents.grantConsent(consent(user))
  const slot = await halfMoved(cluster, `{${partitionOf(user)}}`)
  const asked: Array<[what: string, call: () => Promise<unknown>]> = [
    ...names.map((name): (typeof asked)[0] => [name, async () => (await tokens.useToken(use(user, name))).outcome]),
    ['list', async () => (await tokens.listFamiliesOfUser(user, NOW)).length],
    [
      'session',
      async () => (await browserSessions.findSession(sidFor(user, 'browser'), secretOf('browser'), NOW))?.sid
    ],
    ['consent', async () => (await consents.findConsent(user, consent(user).clientId, NOW))?.userId]
  ]
  const right = ['used', 'used', 'used', 3, sidFor(user, 'browser'), user]
  for (const [index, answer] of (await Promise.allSettled(asked.map(async ([, call]) => await call()))).entries())
    t.match(
      answer,
      answer.status === 'fulfilled' ? { value: right[index] } : { reason: { isOutage: true } },
      asked[index]?.[0] ?? ''
    )
  t.match(await refusalOf(tokens.revokeFamiliesOfUser(user)), { isOutage: true })
  await slot.finish()
  t.strictSame(await Promise.all(asked.map(async ([, call]) => await call())), right)
})

// covers B1
t.test('counts an attempt on all counters or on none while their slot moves', async (t) => {
  const attempts = redisAttemptStore(sharedConnection(cluster.client()))
  const limits = Array.from({ length: 4 }, (_, index) => ({
    rule: 'login',
    key: `key ${index}`,
    windowMs: 3_600_000,
    max: 3
  }))
  await attempts.reserve('first', limits)
  const slot = await halfMoved(cluster, '{limits}')
  const answers = await Promise.allSettled(
    Array.from({ length: 5 }, async (_, index) => await attempts.reserve(`attempt ${index}`, limits))
  )
  t.ok(answers.every(({ status }) => status === 'rejected'))
  await slot.finish()
  t.equal((await attempts.reserve('second', limits)).allowed, true)
  t.equal((await attempts.reserve('third', limits)).allowed, true)
  t.equal((await attempts.reserve('fourth', limits)).allowed, false)
})
