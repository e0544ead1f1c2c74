import t from '../support/tap.ts'
import { redisState } from '../../lib/adapters/redis/record-store.ts'
import type { State } from '../../lib/ports/state.ts'
import { VERSION_LENGTH } from '../../lib/ports/record-store.ts'
import { partitionOf } from '../../lib/protocol/digest.ts'
import { oneTimeToken } from '../../lib/protocol/credential.ts'
import { startRedis } from '../support/redis-server.ts'
import {
  END,
  MINUTE,
  NOW,
  code,
  consent,
  family,
  operations,
  redemption,
  secretOf,
  session,
  sidFor,
  use,
  userOf
} from './support/state-records.ts'

const SLACK = 10 * MINUTE

const server = await startRedis()
/** Used only to compute slots. */
const clusterNode = await startRedis({ args: ['--cluster-enabled', 'yes'] })
t.teardown(() => Promise.all([server.stop(), clusterNode.stop()]))
const client = server.client()
t.beforeEach(async () => {
  await client.flushall()
})

async function fill(state: State, user: string): Promise<void> {
  await state.tokens.createFamily(family(user, 'phone'))
  await state.tokens.createCode(code(user, 'waiting'))
  await state.tokens.createCode(code(user, 'redeemed', { offline: false }))
  await state.tokens.redeemCode(redemption(user, 'redeemed'))
  await state.tokens.rotateToken(use(user, 'phone'), { digest: secretOf('next'), sealed: secretOf('sealed') })
  await state.oneTimeTokens.put({
    purpose: 'verify_email',
    digest: oneTimeToken(user, secretOf('mail')).digest,
    userId: user,
    expiresAt: END
  })
  await state.browserSessions.createSession(session(user, 'browser'), secretOf('browser'))
  await state.consents.grantConsent(consent(user))
}

t.test('redis: keeps all keys of a user in one slot, with a TTL and without user data', async (t) => {
  const state = redisState(client)
  const users = Array.from({ length: 5 }, (_, index) => userOf(String(index)))
  for (const user of users) await fill(state, user)
  await state.keys.addIfAbsent({
    kid: 'kid',
    alg: 'ES256',
    sequence: 1,
    signsFrom: NOW,
    createdAt: NOW,
    publicJwk: {},
    sealed: 's'
  })
  const names = await client.keys('*')
  t.same(
    names.filter((name) => name.includes('{service}')),
    ['authority:{service}:k']
  )
  for (const name of names) {
    const ttlMs = await client.pttl(name)
    if (name.includes('{service}')) t.equal(ttlMs, -1, `${name} stays`)
    else t.ok(ttlMs > 0 && ttlMs <= 2 * 60 * MINUTE + SLACK, `${name} lives ${ttlMs} ms`)
    t.notMatch(name, /bytes-of|Mozilla|openid/)
  }
  const node = clusterNode.client()
  for (const user of users) {
    const own = names.filter((name) => name.startsWith(`authority:{${partitionOf(user)}}:`))
    t.equal(own.length, 8, 'three families, a one-time token, a session, consents, the index and its generation')
    t.equal(new Set(await Promise.all(own.map((name) => node.cluster('KEYSLOT', name)))).size, 1)
  }
})

t.test('redis: keeps a record for ten minutes after its logical end', async (t) => {
  const state = redisState(client)
  const user = userOf('1')
  const ttlOf = async (key: string): Promise<number> =>
    Math.round((await client.pttl(`authority:{${partitionOf(user)}}:${key}`)) / MINUTE)

  await state.tokens.createFamily(family(user, 'phone', { idleExpiresAt: NOW + 20 * MINUTE }))
  t.equal(await ttlOf(`f:${sidFor(user, 'phone')}`), 30)
  t.equal(await ttlOf('i'), 70, 'the index lives as long as the last of its members may')
  await state.tokens.createCode(code(user, 'short'))
  t.equal(await ttlOf(`f:${sidFor(user, 'short')}`), 11)
  t.equal(await ttlOf('i'), 70, 'a shorter life shortens nothing')
  await state.tokens.useToken(use(user, 'phone', { now: NOW + 10 * MINUTE, idleExpiresAt: END + MINUTE }))
  t.equal(await ttlOf(`f:${sidFor(user, 'phone')}`), 60, 'a use moves it, not beyond the absolute end')
  await state.browserSessions.createSession(
    session(user, 'browser', { expiresAt: NOW + 30 * MINUTE, idleExpiresAt: NOW + 20 * MINUTE }),
    'd'
  )
  t.equal(await ttlOf(`s:${sidFor(user, 'browser')}`), 30)
  await state.consents.grantConsent(consent(user))
  await state.consents.grantConsent(consent(user, { clientId: 'another', expiresAt: NOW + MINUTE }))
  t.equal(await ttlOf('c'), 70)
})

t.test('redis: leaves only short-lived removal marks of ended records', async (t) => {
  /** The remaining keys. `!` stands for a mark of a removed record. */
  const left = async (): Promise<string[]> => {
    const found = new Set<string>()
    for (const name of await client.keys('*')) {
      const isMark = String(await client.get(name)).startsWith('{"lineage":', VERSION_LENGTH)
      if (isMark) t.ok((await client.pttl(name)) <= SLACK + MINUTE, 'a mark lasts for a minute and the slack')
      found.add(isMark ? '!' : (name.split(':')[2] ?? ''))
    }
    return [...found].toSorted()
  }
  const state = redisState(client)
  const user = userOf('1')
  await fill(state, user)
  await state.tokens.revokeFamily(sidFor(user, 'waiting'))
  await state.tokens.redeemCode(redemption(user, 'redeemed'))
  await state.tokens.useToken(use(user, 'phone', { now: NOW + 20_000 }))
  await state.oneTimeTokens.consume('verify_email', oneTimeToken(user, secretOf('mail')).digest, NOW)
  await state.tokens.revokeSession(user, sidFor(user, 'browser'))
  await state.consents.revokeConsent(user, consent(user).clientId)
  t.same(await left(), ['!'])
  await fill(state, user)
  await state.tokens.revokeFamiliesOfUser(user)
  await state.browserSessions.revokeSessionsOfUser(user)
  await state.oneTimeTokens.discard('verify_email', user)
  t.same(await left(), ['!', 'c'])
})

t.test('redis: rejects sessions and tokens whose index was evicted', async (t) => {
  const state = redisState(client)
  const user = userOf('1')
  const mail = oneTimeToken(user, secretOf('mail')).digest
  for (const isEvicted of [false, true]) {
    await client.flushall()
    await fill(state, user)
    if (isEvicted) await client.del(...(await client.keys('*:i')))
    // A later sign-in makes a new index without the older sign-ins.
    await state.tokens.createFamily(family(user, 'later'))
    await state.browserSessions.createSession(session(user, 'later'), 'd')
    const name = isEvicted ? 'evicted' : 'there'
    t.equal((await state.tokens.findFamily(sidFor(user, 'phone'), NOW)) === null, isEvicted, name)
    t.match(await state.tokens.useToken(use(user, 'phone')), { outcome: isEvicted ? 'unknown' : 'used' }, name)
    t.match(
      await state.tokens.redeemCode(redemption(user, 'waiting')),
      { outcome: isEvicted ? 'unknown' : 'redeemed' },
      name
    )
    t.equal(
      (await state.browserSessions.findSession(sidFor(user, 'browser'), secretOf('browser'), NOW)) === null,
      isEvicted,
      name
    )
    t.ok(await state.oneTimeTokens.find('verify_email', mail, NOW), 'a one-time token needs no index')
    t.ok(await state.tokens.findFamily(sidFor(user, 'later'), NOW), name)
  }
})

t.test('redis: runs every operation after SCRIPT FLUSH', async (t) => {
  const state = redisState(client)
  for (const [name, call] of operations(state, userOf('1'))) {
    await client.script('FLUSH')
    await t.resolves(call(), name)
  }
})

t.test('redis: refuses an id that was not made for its user', async (t) => {
  const state = redisState(client)
  const user = userOf('1')
  const wrong = `${partitionOf(user) === 'abc' ? 'abd' : 'abc'}name`
  await t.rejects(state.tokens.createFamily(family(user, 'x', { sid: wrong })), TypeError)
  await t.rejects(state.tokens.createCode(code(user, 'x', { sid: wrong })), TypeError)
  await t.rejects(state.browserSessions.createSession(session(user, 'x', { sid: wrong }), 'd'), TypeError)
  await t.rejects(
    state.oneTimeTokens.put({ purpose: 'verify_email', digest: wrong, userId: user, expiresAt: END }),
    TypeError
  )
  t.same(await client.keys('*'), [])
})

t.test('redis: keeps users and clients apart whose ids are different lone surrogates', async (t) => {
  const state = redisState(client)
  const [one, other] = ['\ud800', '\ud801']
  const ofOne = family(one, 'a', { clientId: one })
  await state.tokens.createFamily(ofOne)
  const { tokenDigest, ...created } = ofOne
  t.same(await state.tokens.listFamiliesOfUser(one, NOW), [created])
  t.same(await state.tokens.revokeFamiliesOfUser(other), [])
  t.same(await state.tokens.useToken(use(one, 'a', { clientId: other })), { outcome: 'unknown' })
  t.match(await state.tokens.useToken(use(one, 'a', { clientId: one, digest: tokenDigest })), { outcome: 'used' })
})

// covers B8
t.test('redis: ignores unreadable records, and removes them on revocation', async (t) => {
  const state = redisState(client)
  const user = userOf('1')
  await fill(state, user)
  const keyOf = (key: string): string => `authority:{${partitionOf(user)}}:${key}`
  const damaged = [`f:${sidFor(user, 'phone')}`, `s:${sidFor(user, 'browser')}`, 'c', 't:verify_email'].map(keyOf)
  for (const key of damaged) await client.set(key, `${'v'.repeat(14)}bytes-of-text`, 'KEEPTTL')
  const other = redisState(client)
  const mail = oneTimeToken(user, secretOf('mail')).digest
  const answers = await Promise.all([
    other.tokens.findFamily(sidFor(user, 'phone'), NOW),
    other.tokens.rotateToken(use(user, 'phone'), { digest: 'x', sealed: 'y' }),
    other.tokens.listFamiliesOfUser(user, NOW),
    other.browserSessions.findSession(sidFor(user, 'browser'), secretOf('browser'), NOW),
    other.consents.listConsents(user, NOW),
    other.oneTimeTokens.consume('verify_email', mail, NOW)
  ])
  t.match(answers, [null, { outcome: 'unknown' }, [{ sid: sidFor(user, 'redeemed') }], null, [], null])
  t.equal((await other.tokens.revokeFamiliesOfUser(user)).length, 3)
  t.same(await client.keys('*:f:*'), [])
})
