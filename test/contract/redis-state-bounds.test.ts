import t from '../support/tap.ts'
import { redisState, type RedisStateOptions } from '../../lib/adapters/redis/record-store.ts'
import type { State } from '../../lib/ports/state.ts'
import { startRedis } from '../support/redis-server.ts'
import { END, MINUTE, NOW, code, family, redemption, session, sidFor, userOf } from './support/state-records.ts'

const server = await startRedis()
t.teardown(() => server.stop())
const client = server.client()
const user = userOf('1')
const LATER = NOW + MINUTE

async function fresh(options: RedisStateOptions = {}): Promise<State> {
  await client.flushall()
  return redisState(client, options)
}

/** The names of the families that exist, in the order of the list. */
async function listed({ tokens }: State, names: readonly string[], of = user): Promise<string[]> {
  const byName = new Map(names.map((name) => [sidFor(of, name), name]))
  return (await tokens.listFamiliesOfUser(of, LATER)).map(({ sid }) => byName.get(sid) ?? sid)
}
const numbered = (what: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${what} ${index}`)

t.test('DOS redisState keeps at most maxFamiliesPerUser families of a user, and ends the oldest', async (t) => {
  for (const [max, options] of [
    [100, {}],
    [100, { maxFamiliesPerUser: undefined, prefix: undefined }],
    [3, { maxFamiliesPerUser: 3 }],
    [1, { maxFamiliesPerUser: 1 }]
  ] as const) {
    const state = await fresh(options)
    const names = numbered('family', max + 2)
    await state.tokens.createFamily(family(userOf('2'), 'other'))
    for (const [index, name] of names.entries())
      await state.tokens.createFamily(family(user, name, { createdAt: NOW + index }))
    t.same(await listed(state, names), names.slice(2).toReversed())
    t.same(await listed(state, ['other'], userOf('2')), ['other'])
  }
})

t.test('DOS redisState ends expired families and sessions before live ones', async (t) => {
  const state = await fresh({ maxFamiliesPerUser: 3, maxSessionsPerUser: 2 })
  const names = ['phone', 'short 1', 'short 2', 'laptop']
  await state.tokens.createFamily(family(user, 'phone'))
  for (const index of [1, 2])
    await state.tokens.createFamily(family(user, `short ${index}`, { createdAt: NOW + index, idleExpiresAt: NOW + 10 }))
  await state.tokens.createFamily(family(user, 'laptop', { createdAt: NOW + 10 }))
  t.same(await listed(state, names), ['laptop', 'phone'])
  for (const [name, createdAt, expiresAt] of [
    ['a', NOW, END],
    ['b', NOW + 1, NOW + 10],
    ['c', NOW + 10, END]
  ] as const) {
    await state.browserSessions.createSession(session(user, name, { createdAt, expiresAt }), 'd')
  }
  t.same(
    (await state.browserSessions.listSessionsOfUser(user, NOW)).map(({ sid }) => sid),
    [sidFor(user, 'c'), sidFor(user, 'a')]
  )
})

t.test('DOS redisState: lists and keeps the last added of families with the same creation time', async (t) => {
  const state = await fresh({ maxFamiliesPerUser: 3 })
  const names = numbered('family', 5)
  for (const name of names.slice(0, 3)) await state.tokens.createFamily(family(user, name))
  t.same(await listed(state, names), ['family 2', 'family 1', 'family 0'])
  for (const name of names.slice(3)) await state.tokens.createFamily(family(user, name))
  t.same(await listed(state, names), ['family 4', 'family 3', 'family 2'])
  await state.tokens.createFamily(family(user, 'early', { createdAt: NOW - 1 }))
  t.same(
    await listed(state, [...names, 'early']),
    ['family 4', 'family 3', 'early'],
    'and the one just added, whenever it was created'
  )
})

t.test('DOS redisState: keeps the position of a redeemed code among families of the same time', async (t) => {
  const state = await fresh()
  await state.tokens.createCode(code(user, 'code'))
  await state.tokens.createFamily(family(user, 'family'))
  await state.tokens.redeemCode(redemption(user, 'code'))
  t.same(await listed(state, ['code', 'family']), ['family', 'code'])
})

t.test(
  'DOS redisState keeps at most maxFamiliesPerUser codes of a user without ending a family for them',
  async (t) => {
    const state = await fresh({ maxFamiliesPerUser: 3 })
    const codes = numbered('code', 50)
    const names = [...numbered('family', 4), ...codes]
    for (const index of [0, 1, 2])
      await state.tokens.createFamily(family(user, `family ${index}`, { createdAt: NOW + index }))
    await state.tokens.createCode(code(userOf('2'), 'other'))
    for (const [index, name] of codes.entries())
      await state.tokens.createCode(code(user, name, { createdAt: NOW + 100 + index }))
    t.same(await listed(state, names), ['family 2', 'family 1', 'family 0'])
    await state.tokens.createFamily(family(user, 'family 3', { createdAt: NOW + 3 }))
    t.same(await listed(state, names), ['family 3', 'family 2', 'family 1'], 'and families push out no code')
    const outcomes = ['code 46', 'code 47', 'code 49'].map(
      async (name) => (await state.tokens.redeemCode(redemption(user, name))).outcome
    )
    t.same(await Promise.all(outcomes), ['unknown', 'redeemed', 'redeemed'])
    t.match(await state.tokens.redeemCode(redemption(userOf('2'), 'other')), { outcome: 'redeemed' })
    t.same(await listed(state, names), ['code 49', 'code 47', 'family 3'], 'what comes of a code counts')
  }
)

t.test('DOS redisState: keeps a family with offline access when families without it exceed the bound', async (t) => {
  const state = await fresh({ maxFamiliesPerUser: 2 })
  const codes = numbered('code', 5)
  await state.tokens.createFamily(family(user, 'phone'))
  for (const [index, name] of codes.entries()) {
    await state.tokens.createCode(code(user, name, { createdAt: NOW + 100 + index, offline: false }))
    t.match(await state.tokens.redeemCode(redemption(user, name)), { outcome: 'redeemed' })
  }
  t.same(await listed(state, [...codes, 'phone']), ['code 4', 'code 3', 'phone'])
})

// covers ASVS-7.1.2
t.test('DOS redisState keeps at most maxSessionsPerUser sessions of a user, and ends the oldest', async (t) => {
  for (const [max, options] of [
    [100, {}],
    [100, { maxFamiliesPerUser: undefined, prefix: undefined }],
    [3, { maxSessionsPerUser: 3 }],
    [1, { maxSessionsPerUser: 1 }]
  ] as const) {
    const { browserSessions } = await fresh(options)
    await browserSessions.createSession(session(userOf('2'), 'other'), 'd')
    const names = numbered('browser', max + 2)
    for (const [index, name] of names.entries())
      await browserSessions.createSession(session(user, name, { createdAt: NOW + index }), 'd')
    t.same(
      (await browserSessions.listSessionsOfUser(user, LATER)).map(({ sid }) => sid),
      names
        .slice(2)
        .toReversed()
        .map((name) => sidFor(user, name))
    )
    t.equal(await browserSessions.findSession(sidFor(user, 'browser 1'), 'd', LATER), null)
    t.ok(await browserSessions.findSession(sidFor(userOf('2'), 'other'), 'd', LATER))
  }
})

t.test('redisState B15 accepts only whole numbers from 1 to 1,000 as bounds, and no prefix with braces', async (t) => {
  for (const max of [0, -1, 1.5, NaN, 1001]) {
    t.throws(() => redisState(client, { maxFamiliesPerUser: max }), RangeError)
    t.throws(() => redisState(client, { maxSessionsPerUser: max }), /maxSessionsPerUser/)
  }
  for (const prefix of ['{a}', 'a{', 'a}']) t.throws(() => redisState(client, { prefix }), TypeError)
})
