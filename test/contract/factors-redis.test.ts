import { readFileSync } from 'node:fs'
import type { Cluster, Redis } from 'ioredis'
import t from '../support/tap.ts'
import { redisFactorStore } from '../../lib/adapters/redis/record-store.ts'
import { RECORD_COMMANDS } from '../../lib/adapters/redis/server.ts'
import type { FactorStore } from '../../lib/ports/factor-store.ts'
import { partitionOf } from '../../lib/protocol/digest.ts'
import { runContract } from '../../lib/testing/contract.ts'
import {
  ALICE,
  BOB,
  codesOf,
  handleOf,
  NOTHING,
  passkeyAddition,
  passkeyUse,
  totp,
  totpAddition,
  totpUse
} from './suites/factor-fixtures.ts'
import { factorStoreContract } from './suites/factor-store-contract.ts'
import { startRedis, startRedisCluster } from '../support/redis-server.ts'
import { factorOperations, leftOut } from './support/factor-operations.ts'
import { halfMoved } from './support/moving-slot.ts'

const server = await startRedis()
const cluster = await startRedisCluster()
t.teardown(() => Promise.all([server.stop(), cluster.stop()]))
const clusterClient = cluster.client()

/** Each case has its own keys. All of them stay until the suites have run, for a check of the keys. */
let cases = 0
const fresh = (client: Redis | Cluster) => async (): Promise<{ store: FactorStore }> => ({
  store: redisFactorStore(client, { prefix: `case-${++cases}:` })
})

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)

runContract(factorStoreContract(fresh(server.client())), test('redis'))
runContract(factorStoreContract(fresh(server.client({ keyPrefix: 'host:' }))), test('redis with a keyPrefix'))
t.test('redis: keeps the factors of a user in one slot without TTL, and no user id in a key', async (t) => {
  const client = server.client()
  const names: string[] = []
  for await (const batch of client.scanStream({ count: 1000 })) names.push(...(batch as string[]))
  t.ok(names.length > 100)
  for (const name of names) {
    const isClaim = /:q:[\w-]{43}$/.test(name)
    t.match(name, /^(host:)?case-\d+:factors:\{[\w-]{16}\}:(a|q:[\w-]{43})$/)
    if (isClaim !== (await client.pttl(name)) > 0) t.fail(`${name} has a TTL of ${await client.pttl(name)} ms`)
  }
})

t.test('redis: makes one or two round trips per operation, of documented commands', async (t) => {
  const client = server.client()
  const store = redisFactorStore(client, { prefix: 'one:' })
  t.strictSame(leftOut(store), [])
  for (const [, call] of factorOperations(store)) await call()
  const seen = new Map<string, number>()
  const commands = async (): Promise<Map<string, number>> =>
    new Map(
      [...(await client.info('commandstats')).matchAll(/cmdstat_(\S+):calls=(\d+)/g)].map(([, name = '', calls]) => [
        name,
        Number(calls)
      ])
    )
  const other = redisFactorStore(client, { prefix: 'other:' })
  for (const [name, call] of factorOperations(other)) {
    const before = await commands()
    await call()
    const after = await commands()
    // A remembered record needs one trip for a change. A refusal is read again, and a first record is read before it is
    // written.
    const trips = /^claimHandle|, (full|duplicate|replayed|last)$/.test(name) ? [1, 2] : [1]
    t.ok(trips.includes((after.get('evalsha') ?? 0) - (before.get('evalsha') ?? 0)), name)
    t.equal(after.get('eval') ?? 0, before.get('eval') ?? 0, name)
    for (const [command, calls] of after)
      seen.set(command, (seen.get(command) ?? 0) + calls - (before.get(command) ?? 0))
  }
  const used = [...seen].flatMap(([command, calls]) => (calls > 0 ? [command.toUpperCase()] : []))
  t.strictSame(
    used.filter((command) => !['EVALSHA', 'INFO', ...RECORD_COMMANDS].includes(command)),
    []
  )
  await client.script('FLUSH')
  for (const [name, call] of factorOperations(redisFactorStore(client, { prefix: 'third:' })))
    await t.resolves(call(), name)
})

const GUIDE = readFileSync(new URL('../../docs/guides/factor-stores.md', import.meta.url), 'utf8')

t.test('redis: works with the documented rights, and names each missing one', async (t) => {
  const admin = server.client()
  const rights = (/ACL SETUSER factors on >password ([^\n]+)/.exec(GUIDE)?.[1] ?? '').split(' ')
  const prepared = async (...changes: string[]): Promise<void> => {
    await admin.acl('SETUSER', 'factors', 'reset', 'on', '>password', ...rights, ...changes)
    const client = server.client({ username: 'factors', password: 'password' })
    const store = redisFactorStore(client)
    await store.prepare()
    for (const [name, call] of factorOperations(store)) await t.resolves(call(), name)
    t.equal(await store.isAppendOnly(), false)
    client.disconnect()
  }
  await prepared()
  for (const command of RECORD_COMMANDS)
    await t.rejects(prepared(`-${command.toLowerCase()}`), {
      name: 'StartError',
      message: new RegExp(
        `may not run ${command} on keys that begin with "authority:factors:", and redisFactorStore does`
      )
    })
  await t.rejects(prepared('-info'), { name: 'StartError', message: /INFO/ })
  await t.rejects(prepared('-evalsha'), { name: 'StartError', message: /EVALSHA/ })
  t.strictSame(
    rights
      .filter((right) => right.startsWith('+'))
      .map((right) => right.slice(1).toUpperCase())
      .toSorted(),
    [...RECORD_COMMANDS, 'EVAL', 'EVALSHA', 'INFO', 'CLUSTER|SLOTS', 'CLUSTER|INFO', 'ASKING'].toSorted()
  )
})

t.test('redis: refuses a server that may evict factors, and reports a missing append-only file', async (t) => {
  const admin = server.client()
  t.teardown(() => admin.config('SET', 'maxmemory-policy', 'noeviction', 'maxmemory', '0', 'appendonly', 'no'))
  const store = redisFactorStore(admin)
  for (const policy of ['allkeys-lru', 'volatile-ttl', 'allkeys-random']) {
    await admin.config('SET', 'maxmemory-policy', policy)
    await t.rejects(store.prepare(), {
      name: 'StartError',
      code: 'FST_AUTHORITY_INVALID_OPTIONS',
      message: new RegExp(`${policy}.*noeviction`)
    })
  }
  await admin.config('SET', 'maxmemory-policy', 'noeviction', 'maxmemory', '100mb')
  await t.resolves(store.prepare())
  t.equal(await store.isAppendOnly(), false)
  await admin.config('SET', 'appendonly', 'yes')
  t.equal(await store.isAppendOnly(), true)
})

t.test('redis: rejects without StartError in an outage, and reports no factor as missing', async (t) => {
  const own = await startRedis()
  t.teardown(() => own.stop())
  const client = own.client()
  const store = redisFactorStore(client)
  await store.addTotp(totpAddition())
  await client.replicaof('127.0.0.1', 1)
  await t.rejects(store.prepare(), { name: 'Error', message: /READONLY/ })
  await client.replicaof('NO', 'ONE')
  own.pause()
  for (const [name, call] of factorOperations(store))
    t.match(await call().catch((error: unknown) => error), { isOutage: true }, name)
  own.resume()
})

t.test('redis: keeps ids with different lone surrogates apart', async (t) => {
  const client = server.client()
  const store = redisFactorStore(client, { prefix: 'names:' })
  await store.addTotp(totpAddition({ userId: '\ud800' }))
  // Both become the same bytes in UTF-8.
  t.strictSame(await store.findFactors('\ud801'), NOTHING)
  await store.addTotp(totpAddition({ userId: '\ud800', factor: totp({ id: '\udc00' }) }))
  t.equal(await store.useTotp(totpUse({ userId: '\ud800', factorId: '\udc01' })), 'unknown')
  t.equal((await store.findFactors('\ud800')).totp.length, 2)
})

t.test('redis: rejects a handle of another user, and a prefix with braces', async (t) => {
  const client = server.client()
  const store = redisFactorStore(client, { prefix: 'handles:' })
  await t.rejects(store.claimHandle('somebody', handleOf('a')), TypeError)
  await store.claimHandle(ALICE, handleOf('a'))
  await t.rejects(store.claimHandle(BOB, handleOf('a')), TypeError)
  t.throws(() => redisFactorStore(client, { prefix: 'a{b}' }), /a\{b\}factors:/)
})

t.test('redis cluster: completes an operation before or after the move of its slot', async (t) => {
  const store = redisFactorStore(clusterClient, { prefix: 'move:' })
  await store.claimHandle(ALICE, handleOf('a'))
  await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
  await store.addPasskey(passkeyAddition())
  const slot = await halfMoved(cluster, `{${partitionOf(ALICE)}}`)
  // A single record is found on either node.
  t.match(await store.findFactors(ALICE), { totp: [{}], passkeys: [{}], recoveryCodesLeft: 10 })
  t.match(await store.findByHandle(handleOf('a'), 'credential-1'), { userId: ALICE })
  t.equal(await store.useTotp(totpUse()), 'used')
  t.strictSame(await store.addPasskey(passkeyAddition()), { outcome: 'duplicate' })
  // A use writes its claim together with the factors. While the two are on different nodes, the use waits for the end
  // of the move.
  const [early] = await Promise.allSettled([store.usePasskey(passkeyUse())])
  t.match(early, early?.status === 'fulfilled' ? { value: { outcome: 'used' } } : { reason: { isOutage: true } })
  await slot.finish()
  t.match(await store.findByHandle(handleOf('a'), 'credential-1'), {
    userId: ALICE,
    factors: { totp: [{ lastStep: 101 }], passkeys: [{}] }
  })
  t.strictSame(
    await store.usePasskey(passkeyUse()),
    early?.status === 'fulfilled' ? { outcome: 'replayed' } : { outcome: 'used', regressed: false }
  )
})
