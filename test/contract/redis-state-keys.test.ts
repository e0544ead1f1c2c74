import type { Redis } from 'ioredis'
import t from '../support/tap.ts'
import { ownerOf } from '../../lib/adapters/redis/names.ts'
import { redisState } from '../../lib/adapters/redis/state.ts'
import type { State } from '../../lib/ports/state.ts'
import { partitionOf } from '../../lib/protocol/partition.ts'
import { oneTimeToken } from '../../lib/protocol/one-time-token.ts'
import { startRedis } from '../support/redis-server.ts'
import { REDIS } from './support/before-methods.ts'
import { worksWithAnOlderRelease } from './support/with-an-older-release.ts'
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
} from './support/redis-state-records.ts'

const SLACK = 10 * MINUTE

const server = await startRedis()
/** Only to be asked for slots. */
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
    expiresAt: Date.now() + 30 * MINUTE
  })
  await state.browserSessions.createSession(session(user, 'browser'), secretOf('browser'))
  await state.consents.grantConsent(consent(user))
}

t.test("redis: all keys of a user are in one slot, have a TTL, and hold no user's bytes", async (t) => {
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
  t.equal(
    names.length,
    5 * 9 + 1,
    'three families, their index, token and entry of a mail, a session, its index, consents; signing keys'
  )
  for (const name of names) {
    const ttlMs = await client.pttl(name)
    t.ok(
      ttlMs > 0 && ttlMs <= (name.endsWith('{keys}') ? 400 * 24 * 60 * MINUTE : 60 * MINUTE + SLACK),
      `${name} lives ${ttlMs} ms`
    )
    t.notMatch(name, /bytes-of|Mozilla|openid/)
  }
  const node = clusterNode.client()
  for (const user of users) {
    const own = names.filter((name) => name.startsWith(`authority:{${partitionOf(user)}}:`))
    t.equal(own.length, 9)
    t.equal(new Set(await Promise.all(own.map((name) => node.cluster('KEYSLOT', name)))).size, 1)
  }
})

t.test(
  'redis: a record outlives its logical end by ten minutes, and its index the longest of its members',
  async (t) => {
    const state = redisState(client)
    const user = userOf('1')
    const index = (kind: string): Promise<string[]> => client.keys(`*:${kind}u:*`)
    const ttlOf = async (name: string | undefined): Promise<number> =>
      Math.round((await client.pttl(name ?? '')) / MINUTE)
    const recordOf = (kind: string, name: string): string =>
      `authority:{${partitionOf(user)}}:${kind}:${sidFor(user, name)}`

    await state.tokens.createFamily(family(user, 'phone', { idleExpiresAt: NOW + 20 * MINUTE }))
    t.equal(await ttlOf(recordOf('f', 'phone')), 30)
    t.equal(await ttlOf((await index('f'))[0]), 70)
    await state.tokens.createCode(code(user, 'short'))
    t.equal(await ttlOf(recordOf('f', 'short')), 11)
    t.equal(await ttlOf((await index('f'))[0]), 70, 'a shorter life shortens nothing')
    await state.tokens.useToken(use(user, 'phone', { now: NOW + 10 * MINUTE, idleExpiresAt: END + MINUTE }))
    t.equal(await ttlOf(recordOf('f', 'phone')), 60, 'a use moves it, not beyond the absolute end')
    await state.tokens.undoRotation({
      sid: sidFor(user, 'phone'),
      digest: secretOf('phone'),
      replacedDigest: secretOf('former'),
      former: null
    })
    t.equal(await ttlOf(recordOf('f', 'phone')), 60, 'an undo leaves it')
    await state.tokens.redeemCode(redemption(user, 'short', { expiresAt: END + 100 * MINUTE }))
    t.equal(await ttlOf((await index('f'))[0]), 170)

    await state.browserSessions.createSession(
      session(user, 'browser', { expiresAt: NOW + 30 * MINUTE, idleExpiresAt: NOW + 20 * MINUTE }),
      'd'
    )
    t.equal(await ttlOf(recordOf('s', 'browser')), 30)
    t.equal(await ttlOf((await index('s'))[0]), 40)
    await state.browserSessions.renewSession({
      sid: sidFor(user, 'browser'),
      userId: user,
      formerDigest: 'd',
      digest: 'e',
      now: NOW,
      methods: [{ method: 'password', at: NOW }],
      expiresAt: END,
      idleExpiresAt: END
    })
    t.equal(await ttlOf(recordOf('s', 'browser')), 70)
    t.equal(await ttlOf((await index('s'))[0]), 70)

    await state.consents.grantConsent(consent(user))
    await state.consents.grantConsent(consent(user, { clientId: 'another', expiresAt: NOW + MINUTE }))
    t.equal(await ttlOf((await client.keys('*:c:*'))[0]), 70)
    await state.oneTimeTokens.put({
      purpose: 'password_reset',
      digest: oneTimeToken(user, 'x').digest,
      userId: user,
      expiresAt: Date.now() + 30 * MINUTE
    })
    t.same(await Promise.all((await client.keys('*:t*:password_reset:*')).map(ttlOf)), [40, 40])
  }
)

t.test('redis: what ends leaves nothing behind', async (t) => {
  const state = redisState(client)
  const user = userOf('1')
  await fill(state, user)
  await state.tokens.revokeFamily(sidFor(user, 'waiting'))
  await state.tokens.redeemCode(redemption(user, 'redeemed'))
  await state.tokens.useToken(use(user, 'phone', { now: NOW + 20_000 }))
  await state.oneTimeTokens.consume('verify_email', oneTimeToken(user, secretOf('mail')).digest, NOW)
  await state.tokens.revokeSession(user, sidFor(user, 'browser'))
  await state.consents.revokeConsent(user, consent(user).clientId)
  t.same(await client.keys('*'), [])
  await fill(state, user)
  await state.tokens.revokeFamiliesOfUser(user)
  await state.browserSessions.revokeSessionsOfUser(user)
  await state.oneTimeTokens.discard('verify_email', user)
  t.same(
    (await client.keys('*')).map((name) => name.split(':')[2]),
    ['c']
  )
})

t.test('redis: an index keeps few whose record has gone', async (t) => {
  const state = redisState(client)
  const user = userOf('1')
  await state.tokens.createFamily(family(user, 'phone'))
  for (let count = 0; count < 60; count++) {
    await state.tokens.createCode(code(user, `code ${count}`))
    await client.del(`authority:{${partitionOf(user)}}:f:${sidFor(user, `code ${count}`)}`)
  }
  const [index = ''] = await client.keys('*:fu:*')
  t.ok((await client.zcard(index)) <= 8, `${await client.zcard(index)} members`)
  t.same(
    (await state.tokens.listFamiliesOfUser(user, NOW)).map(({ sid }) => sid),
    [sidFor(user, 'phone')]
  )
  t.equal(await client.zcard(index), 1, 'and a list takes them out')
})

t.test('redis: what no revocation would find, since its index was evicted, is dead', async (t) => {
  const state = redisState(client)
  const user = userOf('1')
  const mail = oneTimeToken(user, secretOf('mail')).digest
  for (const isEvicted of [false, true]) {
    await client.flushall()
    await fill(state, user)
    if (isEvicted) await client.del(...(await client.keys('*:*u:*')))
    // A later sign-in makes a new one, which the older are not in.
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
    t.equal((await state.oneTimeTokens.find('verify_email', mail, NOW)) === null, isEvicted, name)
    t.ok(await state.tokens.findFamily(sidFor(user, 'later'), NOW), name)
  }
})

t.test('redis: every operation of every store is one EVALSHA', async (t) => {
  const state = redisState(client)
  const user = userOf('1')
  const stores = ['tokens', 'oneTimeTokens', 'browserSessions', 'consents', 'keys', 'assertions'] as const
  const known = stores.flatMap((store) => Object.keys(state[store] ?? {}).map((method) => `${store}.${method}`))
  t.same(
    operations(state, user)
      .map(([name]) => name)
      .toSorted(),
    [...known, 'time'].toSorted(),
    'none is left out'
  )
  for (const [, call] of operations(state, user)) await call()
  await client.flushall()

  const asked = server.client()
  const counted = redisState(asked)
  await counted.keys.list()
  const seen: string[] = []
  let marks = 0
  const monitor: Redis = await client.monitor()
  t.teardown(() => {
    monitor.disconnect()
  })
  const nextMark = (): Promise<void> =>
    new Promise((resolve) => {
      const mark = `mark-${++marks}`
      const listen = (_time: string, [, text]: string[]): void => {
        if (text !== mark) return
        monitor.off('monitor', listen)
        resolve()
      }
      monitor.on('monitor', listen)
      client.echo(mark).catch(t.threw)
    })
  monitor.on('monitor', (_time: string, [command = '']: string[], source: string) => {
    if (source !== 'lua' && command.toLowerCase() !== 'echo') seen.push(command.toLowerCase())
  })
  for (const [name, call] of operations(counted, user)) {
    await nextMark()
    seen.length = 0
    await call()
    await nextMark()
    t.same(seen, ['evalsha'], name)
  }
})

t.test('redis: after SCRIPT FLUSH every operation works as before', async (t) => {
  const state = redisState(client)
  for (const [name, call] of operations(state, userOf('1'))) {
    await client.script('FLUSH')
    await t.resolves(call(), name)
  }
})

t.test('redis: a name that was not made for its user is refused', async (t) => {
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

t.test('redis: no two users and no two clients look alike, ill-formed names too', async (t) => {
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

t.test('redis: records are not trusted', async (t) => {
  const state = redisState(client)
  const user = userOf('1')
  await fill(state, user)
  const root = `authority:{${partitionOf(user)}}`
  for (const [packed, what] of [
    ['text', 'no record'],
    ['\x93\xa1a\xa1b\xa1c', 'a short one'],
    [`\x9c${'\xa1a'.repeat(12)}`, 'one of texts']
  ] as const) {
    for (const name of [
      `${root}:f:${sidFor(user, 'phone')}`,
      `${root}:s:${sidFor(user, 'browser')}`,
      ...(await client.keys('*:c:*')),
      ...(await client.keys('*:t:*'))
    ]) {
      await client.set(name, Buffer.from(packed, 'latin1'), 'KEEPTTL')
    }
    await t.rejects(state.tokens.findFamily(sidFor(user, 'phone'), NOW), what)
    await t.rejects(state.tokens.rotateToken(use(user, 'phone'), { digest: 'x', sealed: 'y' }), what)
    await t.rejects(state.tokens.listFamiliesOfUser(user, NOW), what)
    await t.rejects(state.browserSessions.findSession(sidFor(user, 'browser'), secretOf('browser'), NOW), what)
    await t.rejects(state.consents.listConsents(user, NOW), what)
    await t.rejects(state.oneTimeTokens.consume('verify_email', oneTimeToken(user, secretOf('mail')).digest, NOW), what)
  }
})

/** Written by a later release, by 0.1.0, or by something else. */
const ANOTHER_VERSION =
  "local record = cmsgpack.unpack(redis.call('GET', KEYS[1])) record[KEYS[1]:find(':s:') and " +
  "10 or 17] = 2 redis.call('SET', KEYS[1], cmsgpack.pack(record), 'KEEPTTL')"
const NO_RECORD = "redis.call('SET', KEYS[1], 'text', 'KEEPTTL')"
const withoutVersion = (fields: number): string =>
  `local record = cmsgpack.unpack(redis.call('GET', KEYS[1])) while #record > ${fields} do ` +
  `table.remove(record) end redis.call('SET', KEYS[1], cmsgpack.pack(record), 'KEEPTTL')`

for (const [what, lua] of [
  ['of another version', ANOTHER_VERSION],
  ['that is none', NO_RECORD]
] as const) {
  // covers B8
  t.test(
    `redis: a record ${what} keeps nobody from signing out, and is never taken for one that isn't there`,
    async (t) => {
      const state = redisState(client)
      const user = userOf('1')
      const root = `authority:{${partitionOf(user)}}`
      const begin = async (): Promise<void> => {
        await client.flushall()
        await state.tokens.createFamily(family(user, 'phone'))
        await state.tokens.createFamily(family(user, 'odd'))
        await state.browserSessions.createSession(session(user, 'browser'), secretOf('browser'))
        await state.browserSessions.createSession(session(user, 'odd'), secretOf('odd'))
        await client.eval(lua, 1, `${root}:f:${sidFor(user, 'odd')}`)
        await client.eval(lua, 1, `${root}:s:${sidFor(user, 'odd')}`)
      }
      const left = async (kind: string): Promise<string[]> =>
        (await client.keys(`*:${kind}:*`)).map((name) => name.split(':')[3] ?? '')

      await begin()
      await t.rejects(state.tokens.useToken(use(user, 'odd')))
      await t.rejects(state.browserSessions.findSession(sidFor(user, 'odd'), secretOf('odd'), NOW))
      t.match(await state.tokens.useToken(use(user, 'phone')), { outcome: 'used' })

      t.equal((await state.tokens.revokeFamiliesOfUser(user)).length, 2)
      t.same(await left('f'), [])
      t.same(
        (await state.browserSessions.revokeSessionsOfUser(user)).map(({ sid }) => sid),
        [sidFor(user, 'browser')]
      )
      t.same(await left('s'), [])

      await begin()
      t.same(await state.tokens.revokeFamiliesOfUser(user, sidFor(user, 'phone')), [sidFor(user, 'odd')])
      t.same(await left('f'), [sidFor(user, 'phone')])
      t.equal((await state.tokens.listFamiliesOfUser(user, NOW)).length, 1)

      await begin()
      t.same(
        await state.tokens.revokeFamiliesOfClient(user, 'another client'),
        [sidFor(user, 'odd')],
        'whose it was nobody knows, so it ends'
      )
      t.same((await state.tokens.revokeSession(user, 'another session')).sids, [])

      await begin()
      t.equal(await state.tokens.revokeFamily(sidFor(user, 'odd'), userOf('2')), false, 'another user ends nothing')
      t.equal(await state.tokens.revokeFamily(sidFor(user, 'odd'), user), true)
      t.equal((await state.tokens.revokeSession(user, sidFor(user, 'odd'))).session, null)
      t.same([await left('f'), await left('s')], [[sidFor(user, 'phone')], [sidFor(user, 'browser')]])

      await begin()
      const small = redisState(client, { maxFamiliesPerUser: 2 })
      await small.tokens.createFamily(family(user, 'new'))
      t.same(
        (await small.tokens.listFamiliesOfUser(user, NOW)).map(({ sid }) => sid).toSorted(),
        [sidFor(user, 'new'), sidFor(user, 'phone')].toSorted(),
        'it gives way first'
      )
    }
  )

  // covers B8
  t.test(`redis: consents ${what} can be taken back`, async (t) => {
    const state = redisState(client)
    const user = userOf('1')
    await state.consents.grantConsent(consent(user))
    const [key = ''] = await client.keys('*:c:*')
    await client.eval(
      lua === NO_RECORD
        ? lua
        : "local all = cmsgpack.unpack(redis.call('GET', KEYS[1])) all[1][#all[1]] = 2 " +
            "redis.call('SET', KEYS[1], cmsgpack.pack(all), 'KEEPTTL')",
      1,
      key
    )
    await t.rejects(state.consents.findConsent(user, consent(user).clientId, NOW))
    t.equal(await state.consents.revokeConsent(user, consent(user).clientId), true)
    t.same(await client.keys('*:c:*'), [])
  })
}

// covers B9
t.test(
  "redis: records of the release before sign-ins had methods, and that release on this one's records",
  async (t) => {
    const root = `authority:{${partitionOf('user-19367')}}`
    const owner = ownerOf('user-19367')
    await worksWithAnOlderRelease(
      t,
      async (act, sid) => {
        const kind = act === 'session' || act === 'renewal' ? 's' : 'f'
        await client.eval(REDIS[act], 2, `${root}:${kind}:${sid}`, `${root}:${kind}u:${owner}`, owner, sid)
      },
      () => redisState(client)
    )
  }
)

// covers B8
t.test('redis: what 0.1.0 wrote goes on, and has a version from its next write', async (t) => {
  const state = redisState(client)
  const user = userOf('1')
  const root = `authority:{${partitionOf(user)}}`
  await state.tokens.createFamily(family(user, 'phone'))
  await state.browserSessions.createSession(session(user, 'browser'), secretOf('browser'))
  await client.eval(withoutVersion(12), 1, `${root}:f:${sidFor(user, 'phone')}`)
  await client.eval(withoutVersion(9), 1, `${root}:s:${sidFor(user, 'browser')}`)
  t.ok(await state.browserSessions.findSession(sidFor(user, 'browser'), secretOf('browser'), NOW))
  t.match(await state.tokens.rotateToken(use(user, 'phone'), { digest: 'next', sealed: 's' }), { outcome: 'rotated' })
  t.equal(
    await client.eval(
      "return cmsgpack.unpack(redis.call('GET', KEYS[1]))[17]",
      1,
      `${root}:f:${sidFor(user, 'phone')}`
    ),
    1
  )
  t.match(await state.tokens.rotateToken(use(user, 'phone'), { digest: 'other', sealed: 's' }), {
    outcome: 'repeated',
    sealed: 's'
  })
  t.equal(await state.tokens.revokeFamily(sidFor(user, 'phone'), user), true)
})
