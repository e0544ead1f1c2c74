/** Calls of one turn of the event loop share one write, but each has its own result. */
import type { Redis } from 'ioredis'
import t from '../support/tap.ts'
import { createAttemptLimiter } from '../../lib/adapters/rate-limit/limiter.ts'
import { redisAttemptStore } from '../../lib/adapters/redis/attempt-store.ts'
import { redisConnection } from '../../lib/adapters/redis/connection.ts'
import { defineScript } from '../../lib/adapters/redis/refusal.ts'
import { sharedConnection } from '../../lib/adapters/redis/server.ts'
import { redisState } from '../../lib/adapters/redis/record-store.ts'
import { startRedis } from '../support/redis-server.ts'

const COUNT = defineScript("return redis.call('INCR', KEYS[1])")
const REPLIES = {
  nil: defineScript('local nothing'),
  false: defineScript('return false'),
  true: defineScript('return true'),
  list: defineScript("return { 1, false, 'x', { ARGV[1] } }"),
  empty: defineScript('return {}'),
  status: defineScript("return redis.status_reply('FINE')"),
  long: defineScript("return string.rep('x', 100000)"),
  big: defineScript('local all = {} for n = 1, 5000 do all[n] = n end return all'),
  keys: defineScript('return { #KEYS, KEYS[1], KEYS[2], #ARGV, ARGV[1], ARGV[2] }'),
  global: defineScript('_G.leaked = 1 return 1')
} as const
const FAILING = {
  refused: defineScript("redis.call('SET', KEYS[1], 'text')\nreturn redis.call('LPUSH', KEYS[1], ARGV[1])"),
  thrown: defineScript('\n\nerror(ARGV[1])'),
  reply: defineScript("return redis.error_reply('WRONG ' .. ARGV[1])"),
  nothing: defineScript('return nothing.at.all')
} as const

const server = await startRedis()
t.teardown(async () => {
  await server.stop()
})
const client = server.client()
/** The number of writes to the server. */
async function writes(of: Redis, work: () => Promise<unknown>): Promise<number> {
  const { stream } = of
  const write = stream.write.bind(stream)
  let count = 0
  stream.write = ((...args: Parameters<typeof write>) => {
    count++
    return write(...args)
  }) as typeof stream.write
  await work()
  stream.write = write
  return count
}

const calls = async (name: string, of: Redis = client): Promise<number> =>
  Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(await of.info('commandstats'))?.[1] ?? 0)

// covers RB1
t.test('sends the Redis calls of one event loop turn in one write, in their order', async (t) => {
  const { run } = redisConnection(client)
  await run(COUNT, '{a}', [])
  let replies: unknown[] = []
  t.equal(
    await writes(client, async () => {
      replies = await Promise.all(Array.from({ length: 200 }, async () => await run(COUNT, '{a}', [])))
    }),
    1
  )
  t.same(
    replies,
    Array.from({ length: 200 }, (_, index) => index + 2)
  )
})

// covers RB1
t.test('sends each script that the server does not know in full once', async (t) => {
  const { run } = redisConnection(client)
  await client.script('FLUSH')
  const before = await calls('eval')
  let replies: unknown[] = []
  t.equal(
    await writes(client, async () => {
      replies = await Promise.all(
        Array.from({ length: 40 }, async (_, index) => await run(index % 2 === 0 ? COUNT : REPLIES.true, '{n}', []))
      )
    }),
    2
  )
  t.same(
    replies,
    Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? index / 2 + 1 : 1))
  )
  t.equal((await calls('eval')) - before, 2)
})

// covers RB2
t.test('returns the same script replies in a batch as alone', async (t) => {
  const { run } = redisConnection(client)
  const asked = Object.values(REPLIES)
    .filter((script) => script !== REPLIES.global)
    .map((script) => [script, ['{k}1', '{l}2'], ['arg', 7]] as const)
  const together = await Promise.all(asked.map(async (call) => await run(...call)))
  for (const [index, call] of asked.entries()) t.same(together[index], await run(...call))
  t.same(together.slice(0, 5), [null, null, 1, [1, null, 'x', ['arg']], []])
  t.same(together.at(-1), [2, '{k}1', '{l}2', 2, 'arg', '7'], "no call sees another's keys or arguments")
})

// covers RB8
t.test('passes arguments with special characters unchanged in a batch', async (t) => {
  const { run } = redisConnection(client)
  const given = ['', 'a\0b', '"\\ud800"', '\ud800x', 'x\udfff', '👩‍👧 é \u2028', '\\', 1_763_735_743_123, 0.5, -1]
  const replies = await Promise.all(
    given.map(async (value) => await run(REPLIES.keys, ['{k}', '{l}'], [value, 'next']))
  )
  t.same(
    replies,
    given.map((value) => [2, '{k}', '{l}', 2, Buffer.from(String(value)).toString(), 'next'])
  )
})

// covers RB3
t.test('reports a failed call of a batch alone, with its line and without arguments', async (t) => {
  const { run } = redisConnection(client)
  const failing = Object.values(FAILING)
  const answers = await Promise.allSettled(
    [...failing, REPLIES.global].flatMap((script) => [run(script, '{f}', ['sw0rdfish']), run(COUNT, '{count}', [])])
  )
  t.same(
    answers.filter((_, index) => index % 2 === 1).map((answer) => answer.status === 'fulfilled' && answer.value),
    [1, 2, 3, 4, 5]
  )
  const messages = answers
    .filter((_, index) => index % 2 === 0)
    .map((answer) => (answer.status === 'rejected' ? String(answer.reason) : ''))
  t.match(messages, [
    'Error: Redis refused: WRONGTYPE.',
    'Error: Redis refused: ERR, line 3 of the script.',
    'Error: Redis refused: WRONG.',
    /^Error: Redis refused: ERR, line 1 of the script\.$/,
    /^Error: Redis refused: ERR/
  ])
  t.notMatch(messages.join(), 'sw0rdfish')
})

// covers RB4
t.test('lets ioredis see the READONLY error of a batch for reconnectOnError', async (t) => {
  const replica = await startRedis({ args: ['--replicaof', server.host, String(server.port)] })
  t.teardown(async () => {
    await replica.stop()
  })
  const seen: string[] = []
  const reader = replica.client({
    reconnectOnError: (error) => {
      seen.push(error.message)
      return false
    }
  })
  while (!(await reader.info('replication')).includes('master_link_status:up'))
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  const { run } = redisConnection(reader)
  const answers = await Promise.allSettled([run(COUNT, '{a}', []), run(COUNT, '{b}', [])])
  t.match(
    answers.map((answer) => (answer.status === 'rejected' ? String(answer.reason) : '')),
    ['Error: Redis refused: READONLY.', 'Error: Redis refused: READONLY.']
  )
  t.ok(seen.some((message) => message.includes('READONLY')))
})

// covers RB5
t.test('runs each call once on a cluster node behind a plain client', async (t) => {
  const node = await startRedis({ args: ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'] })
  t.teardown(async () => {
    await node.stop()
  })
  const plain = node.client()
  await plain.cluster('ADDSLOTS', ...Array.from({ length: 16_384 }, (_, slot) => slot))
  while (!((await plain.cluster('INFO')) as string).includes('cluster_state:ok'))
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  const { run } = redisConnection(plain)
  const names = ['{a}', '{b}', '{c}', '{a}']
  t.same(await Promise.all(names.map(async (name) => await run(COUNT, name, []))), [1, 1, 1, 2])
  const over = await run(COUNT, ['{a}', '{b}'], []).catch((error: unknown) => error)
  t.match(over, { message: 'Redis refused: CROSSSLOT.' }, 'what needs two slots itself is refused')
})

// covers RB7
t.test('sends state and limiter calls of one event loop turn in one write', async (t) => {
  const state = redisState(client)
  const attempts = createAttemptLimiter(redisAttemptStore(sharedConnection(client)))
  const work = async (): Promise<unknown> =>
    await Promise.all([
      attempts.reserve('a', [{ rule: 'ip', key: 'k', windowMs: 1000, max: 1 }]),
      state.tokens.findFamily('AAA-x', 0),
      state.keys.list()
    ])
  await work()
  t.equal(await writes(client, work), 1)
})
