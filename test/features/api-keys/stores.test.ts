import Database from 'libsql'
import type { Redis } from 'ioredis'
import t, { type Test } from '../../support/tap.ts'
import {
  type ApiKeyStore,
  memoryApiKeyStore,
  postgresApiKeyStore,
  recordApiKeyStore,
  redisApiKeyStore,
  sqliteApiKeyStore
} from '../../../lib/index.ts'
import { memoryRecords } from '../../../lib/adapters/memory/record-store.ts'
import { apiKeyDigest, apiKeyOf, isApiKey } from '../../../lib/protocol/credential.ts'
import { delayed } from '../../../lib/testing/doubles.ts'
import { startRedis } from '../../support/redis-server.ts'
import { sharedPostgres } from '../../support/shared-postgres.ts'

const key = (number: number, changes: Record<string, unknown> = {}) => ({
  userId: 'u1',
  digest: apiKeyDigest(`key ${number}`),
  id: `k${number}`,
  name: `Key ${number}`,
  scopes: ['orders:read'],
  resource: null,
  createdAt: number,
  expiresAt: null,
  lastUsedAt: null,
  ...changes
})
const END = 4_102_444_800_000

t.test('makes keys in the published format, and detects one changed character', async (t) => {
  const counting = Uint8Array.from({ length: 32 }, (_, at) => at)
  t.equal(apiKeyOf('fa', counting), 'fa_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf1Yo7hP')
  t.equal(apiKeyOf('fa', new Uint8Array(32).fill(255)), 'fa_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp13sRzl1')
  const made = apiKeyOf('fa', counting)
  t.ok(isApiKey('fa', made))
  t.notOk(isApiKey('fb', made))
  t.notOk(isApiKey('fa', `${made}0`))
  for (let at = 0; at < made.length; at++) {
    const other = made[at] === 'b' ? 'c' : 'b'
    t.notOk(isApiKey('fa', made.slice(0, at) + other + made.slice(at + 1)), `another character at ${at}`)
  }
})

t.test('refuses a record store that evicts records', async (t) => {
  t.throws(() => recordApiKeyStore({ ...memoryRecords(), evicts: true }), { code: 'FST_AUTHORITY_INVALID_OPTIONS' })
})

const postgres = await sharedPostgres(t)
const redis = await startRedis()
t.teardown(() => redis.stop())
const pool = (await postgres.database()).pool({ max: 20 })
const client: Redis = redis.client()
let cases = 0

const STORES: Record<string, () => Promise<ApiKeyStore>> = {
  memory: async () => memoryApiKeyStore(),
  'delayed memory': async () => recordApiKeyStore(delayed(memoryRecords())),
  sqlite: async () => sqliteApiKeyStore(new Database(':memory:')),
  postgres: async () => postgresApiKeyStore(pool, { schema: `case_${++cases}` }),
  redis: async () => redisApiKeyStore(client, { prefix: `case-${++cases}:` })
}
for (const [name, make] of Object.entries(STORES)) {
  const test = (title: string, run: (t: Test, store: ApiKeyStore) => Promise<void>): void => {
    void t.test(`${name}: ${title}`, async (t) => {
      const store = await make()
      await store.prepare?.()
      await run(t, store)
    })
  }

  test('finds a key by its digest until the key is revoked', async (t, store) => {
    t.equal(await store.create(key(1), 20, 0), 'created')
    t.match(await store.find(apiKeyDigest('key 1')), { userId: 'u1', id: 'k1', scopes: ['orders:read'] })
    t.equal(await store.find(apiKeyDigest('key 2')), null)
    t.equal(await store.revoke('u2', 'k1'), false, 'not by another user')
    t.equal(await store.revoke('u1', 'k1'), true)
    t.equal(await store.revoke('u1', 'k1'), false)
    t.equal(await store.find(apiKeyDigest('key 1')), null)
    t.same(await store.list('u1'), [])
  })

  test('adds one of fifty parallel keys to nineteen when the limit is twenty', async (t, store) => {
    for (let at = 0; at < 19; at++) await store.create(key(at), 20, 0)
    const all = await Promise.all(Array.from({ length: 50 }, async (_, at) => await store.create(key(at + 19), 20, 0)))
    t.equal(all.filter((outcome) => outcome === 'created').length, 1)
    t.equal((await store.list('u1')).length, 20)
    const found = await Promise.all(all.map(async (_, at) => await store.find(apiKeyDigest(`key ${at + 19}`))))
    t.same(
      found.map((one) => one !== null),
      all.map((outcome) => outcome === 'created')
    )
  })

  test('does not count an expired key toward the limit', async (t, store) => {
    t.equal(await store.create(key(1, { expiresAt: END }), 1, 0), 'created')
    t.equal(await store.create(key(2), 1, END - 1), 'full')
    t.equal(await store.create(key(2), 1, END), 'created')
    t.same(
      (await store.list('u1')).map(({ id }) => id),
      ['k2']
    )
  })

  test('adds a key once when it is sent twice', async (t, store) => {
    t.equal(await store.create(key(1), 20, 0), 'created')
    t.equal(await store.create(key(1), 20, 0), 'created')
    t.equal((await store.list('u1')).length, 1)
  })

  test('writes a use once a minute, and ends all keys of one user', async (t, store) => {
    await store.create(key(1), 20, 0)
    await store.create(key(2), 20, 0)
    await store.create(key(3, { userId: 'u2' }), 20, 0)
    await Promise.all([60_000, 119_999, 60_001].map(async (at) => await store.touch('u1', 'k1', at)))
    await store.touch('u1', 'gone', 9_000_000)
    const [used, unused] = (await store.list('u1')).map(({ lastUsedAt }) => lastUsedAt)
    t.ok(used !== null && used !== undefined && used >= 60_000 && used < 120_000)
    t.equal(unused, null)
    t.same(await store.revokeAll('u1'), ['k1', 'k2'])
    t.equal(await store.find(apiKeyDigest('key 1')), null)
    t.not(await store.find(apiKeyDigest('key 3')), null)
  })
}
