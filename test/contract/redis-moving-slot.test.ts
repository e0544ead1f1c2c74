/** B1 While a slot of a Cluster moves, nothing that needs several of its keys runs on some of them. The whole under load: test/faults/redis-reshard.test.ts. */
import t from 'tap'
import { redisAttemptStore } from '../../lib/adapters/redis/attempt-store.ts'
import { sharedConnection } from '../../lib/adapters/redis/shared-connection.ts'
import { redisState } from '../../lib/adapters/redis/state.ts'
import { startRedisCluster } from '../support/redis-server.ts'
import { consent, family, NOW, operations, secretOf, session, sidFor, use, userOf } from './support/redis-state-records.ts'

const cluster = await startRedisCluster()
t.teardown(() => cluster.stop())

/** Half of the keys of a slot at either node; `finish` gives the rest to the new one. */
async function halfMoved (key: string): Promise<{ arrived(): Promise<string[]>, finish(): Promise<void> }> {
  const admins = cluster.masters.map((master) => master.client())
  const slot = Number(await admins[0]?.cluster('KEYSLOT', key))
  const counts = await Promise.all(admins.map(async (admin) => await admin.cluster('COUNTKEYSINSLOT', slot)))
  const from = counts.findIndex((count) => count > 0)
  const to = (from + 1) % 3
  const [source, target, node] = [admins[from], admins[to], cluster.masters[to]]
  if (source === undefined || target === undefined || node === undefined) throw new Error('no node has the slot')
  await target.cluster('SETSLOT', slot, 'IMPORTING', await source.cluster('MYID'))
  await source.cluster('SETSLOT', slot, 'MIGRATING', await target.cluster('MYID'))
  const move = async (count: number): Promise<void> => {
    const keys = await source.cluster('GETKEYSINSLOT', slot, count) as string[]
    if (keys.length > 0) await source.call('MIGRATE', node.host, node.port, '', 0, 5000, 'KEYS', ...keys)
  }
  await move(Math.floor((counts[from] ?? 0) / 2))
  return {
    arrived: async () => (await target.cluster('GETKEYSINSLOT', slot, 100) as string[]).toSorted(),
    async finish () {
      await move(100)
      const id = await target.cluster('MYID')
      await target.cluster('SETSLOT', slot, 'NODE', id)
      for (const admin of admins) await admin.cluster('SETSLOT', slot, 'NODE', id)
      for (const admin of admins) admin.disconnect()
    }
  }
}

// covers B1
t.test('every operation of the state on a user whose slot moves is done after the move or not at all', async (t) => {
  const client = cluster.client()
  const state = redisState(client)
  const user = userOf('1')
  await state.tokens.createFamily(family(user, 'phone'))
  await state.tokens.createFamily(family(user, 'laptop'))
  await state.browserSessions.createSession(session(user, 'browser'), secretOf('browser'))
  await state.consents.grantConsent(consent(user))
  const slot = await halfMoved(`{${sidFor(user, 'phone').slice(0, 3)}}`)
  const before = await slot.arrived()
  const asked = operations(state, user).filter(([name]) => /^(tokens|browserSessions|oneTimeTokens)\./.test(name))
  const answers = await Promise.allSettled(asked.map(async ([, call]) => await call()))
  t.strictSame(asked.filter((_, index) => answers[index]?.status === 'fulfilled').map(([name]) => name), [], 'none is answered')
  t.strictSame(await slot.arrived(), before, 'and none leaves anything at the new node')
  t.equal((await state.consents.findConsent(user, consent(user).clientId, NOW))?.userId, user, 'what is one key is found, wherever it is')
  await slot.finish()
  t.equal((await state.tokens.listFamiliesOfUser(user, NOW)).length, 2)
  t.match(await state.tokens.useToken(use(user, 'phone')), { outcome: 'used' })
  t.equal(await state.tokens.revokeFamily(sidFor(user, 'laptop'), user), true)
  t.ok(await state.browserSessions.findSession(sidFor(user, 'browser'), secretOf('browser'), NOW))
})

// covers B1
t.test('an attempt is counted on all counters or on none while their slot moves', async (t) => {
  const attempts = redisAttemptStore(sharedConnection(cluster.client()))
  const limits = Array.from({ length: 4 }, (_, index) => ({ rule: 'login', key: `key ${index}`, windowMs: 3_600_000, max: 3 }))
  await attempts.reserve('first', limits)
  const slot = await halfMoved('{limits}')
  const answers = await Promise.allSettled(Array.from({ length: 5 }, async (_, index) => await attempts.reserve(`attempt ${index}`, limits)))
  t.ok(answers.every(({ status }) => status === 'rejected'))
  await slot.finish()
  t.equal((await attempts.reserve('second', limits)).allowed, true)
  t.equal((await attempts.reserve('third', limits)).allowed, true)
  t.equal((await attempts.reserve('fourth', limits)).allowed, false)
})
