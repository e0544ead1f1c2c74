/**
 * B1 While a slot of a Cluster moves, nothing that needs several of its keys runs on some of them. The whole under
 * load: test/faults/redis-reshard.test.ts.
 */
import t from '../support/tap.ts'
import { redisAttemptStore } from '../../lib/adapters/redis/attempt-store.ts'
import { sharedConnection } from '../../lib/adapters/redis/shared-connection.ts'
import { redisState } from '../../lib/adapters/redis/state.ts'
import { startRedisCluster } from '../support/redis-server.ts'
import { halfMoved } from './support/moving-slot.ts'
import {
  consent,
  family,
  NOW,
  operations,
  secretOf,
  session,
  sidFor,
  use,
  userOf
} from './support/redis-state-records.ts'

const cluster = await startRedisCluster()
t.teardown(() => cluster.stop())

// covers B1
t.test('every operation of the state on a user whose slot moves is done after the move or not at all', async (t) => {
  const client = cluster.client()
  const state = redisState(client)
  const user = userOf('1')
  await state.tokens.createFamily(family(user, 'phone'))
  await state.tokens.createFamily(family(user, 'laptop'))
  await state.browserSessions.createSession(session(user, 'browser'), secretOf('browser'))
  await state.consents.grantConsent(consent(user))
  const slot = await halfMoved(cluster, `{${sidFor(user, 'phone').slice(0, 3)}}`)
  const before = await slot.arrived()
  const asked = operations(state, user).filter(([name]) => /^(tokens|browserSessions|oneTimeTokens)\./.test(name))
  const answers = await Promise.allSettled(asked.map(async ([, call]) => await call()))
  t.strictSame(
    asked.filter((_, index) => answers[index]?.status === 'fulfilled').map(([name]) => name),
    [],
    'none is answered'
  )
  t.strictSame(await slot.arrived(), before, 'and none leaves anything at the new node')
  t.equal(
    (await state.consents.findConsent(user, consent(user).clientId, NOW))?.userId,
    user,
    'what is one key is found, wherever it is'
  )
  await slot.finish()
  t.equal((await state.tokens.listFamiliesOfUser(user, NOW)).length, 2)
  t.match(await state.tokens.useToken(use(user, 'phone')), { outcome: 'used' })
  t.equal(await state.tokens.revokeFamily(sidFor(user, 'laptop'), user), true)
  t.ok(await state.browserSessions.findSession(sidFor(user, 'browser'), secretOf('browser'), NOW))
})

// covers B1
t.test('an attempt is counted on all counters or on none while their slot moves', async (t) => {
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
