/** B10 The rights in docs/guides/state.md are sufficient, on one server and in a Cluster. */
import { readFileSync } from 'node:fs'
import type { Cluster, Redis } from 'ioredis'
import t from '../support/tap.ts'
import { redisAttemptStore } from '../../lib/adapters/redis/attempt-store.ts'
import { COUNTER_COMMANDS, STATE_COMMANDS, sharedConnection } from '../../lib/adapters/redis/server.ts'
import { redisState } from '../../lib/adapters/redis/record-store.ts'
import { startRedis, startRedisCluster } from '../support/redis-server.ts'
import { operations, userOf } from './support/state-records.ts'

const guide = readFileSync(new URL('../../docs/guides/state.md', import.meta.url), 'utf8')
const RIGHTS = (/ACL SETUSER authority on >password ([^\n]+)/.exec(guide)?.[1] ?? '').split(' ')
const LIMIT = { rule: 'login', key: 'k', windowMs: 1000, max: 1 }

async function everything(client: Redis | Cluster): Promise<unknown[]> {
  // Tests rights and not speed, so calls have no time limit.
  const attempts = redisAttemptStore(sharedConnection(client, { timeoutMs: 30_000 }))
  const state = redisState(client)
  await state.prepare()
  await attempts.prepare()
  const failed: unknown[] = []
  for (const [name, call] of [
    ...operations(state, userOf('1')),
    ['reserve', async () => await attempts.reserve('a', [LIMIT])],
    [
      'refund',
      async () => {
        await attempts.refund('a', [LIMIT])
      }
    ]
  ] as const) {
    await call().catch((error: unknown) => {
      failed.push([name, error])
    })
  }
  return failed
}

// covers B10
t.test('runs every operation of state and counters with the documented Redis rights', async (t) => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  await server.client().call('ACL', 'SETUSER', 'authority', 'on', '>password', ...RIGHTS)
  t.strictSame(await everything(server.client({ username: 'authority', password: 'password' })), [])
})

// covers B10
t.test('runs every operation of state and counters with the documented rights in a Cluster', async (t) => {
  const cluster = await startRedisCluster()
  t.teardown(() => cluster.stop())
  for (const node of cluster.nodes)
    await node.client().call('ACL', 'SETUSER', 'authority', 'on', '>password', ...RIGHTS)
  const client = cluster.client({ redisOptions: { username: 'authority', password: 'password' } })
  t.strictSame(await everything(client), [])
  const before = Date.now()
  const now = await redisState(client).time()
  t.ok(now >= before && now <= Date.now(), `${now} since ${before}`)
})

// covers B10
t.test('documents exactly the commands of the scripts', async (t) => {
  const lua = ['record-store', 'connection', 'attempt-store', 'server']
    .map((name) => readFileSync(new URL(`../../lib/adapters/redis/${name}.ts`, import.meta.url), 'utf8'))
    .join('\n')
  const called = [...lua.matchAll(/redis\.p?call\('([A-Z]+)'/g)].map(([, name]) => `+${name?.toLowerCase()}`)
  const tried = [...STATE_COMMANDS, ...COUNTER_COMMANDS].map((command) => `+${command.toLowerCase()}`)
  t.strictSame(
    [...new Set(tried)].toSorted(),
    [...new Set(called)].filter((right) => right !== '+info').toSorted(),
    'B12 and those that prepare tries'
  )
  const ofTheClient = ['+eval', '+evalsha', '+info', '+cluster|slots', '+cluster|info', '+asking']
  t.strictSame(
    RIGHTS.filter((right) => right.startsWith('+')).toSorted(),
    [...new Set([...called, ...ofTheClient])].toSorted()
  )
})
