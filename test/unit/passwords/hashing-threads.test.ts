import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import t from '../../support/tap.ts'
import { hashingThreads, HashingThreadError } from '../../../lib/adapters/threads/hashing-threads.ts'
import { nodeRsHasher } from '../../../lib/adapters/argon2/node-rs-hasher.ts'

// Start without the loaders of the test runner, which take a second in each thread.
const begin = (file: string) => new Worker(new URL(file, import.meta.url), { execArgv: [], env: {} })
const start = () => begin('support/fragile-thread.mjs')
const REST_MS = 60_000
const call = (password: string) => ({ what: 'hash', password, options: {} }) as const

t.test('fails the call of a thread that ends, and starts another thread for the next call', async (t) => {
  const threads = hashingThreads({ start, size: 1, restMs: REST_MS })
  for (const [how, cause] of [
    ['exit', undefined],
    ['throw', { message: 'out of memory' }]
  ] as const) {
    const dying = threads.run(call(how))
    const next = threads.run(call('next'))
    const error: unknown = await dying.then(
      () => null,
      (reason: unknown) => reason
    )
    t.ok(error instanceof HashingThreadError, how)
    t.match(error, { code: 'FST_AUTHORITY_HASHING_THREAD', message: /ended/, cause })
    t.equal(await next, 'next', `${how}: what waited behind it is done`)
    t.equal(await threads.run(call('again')), 'again')
  }
})

t.test("throws the engine's error, and keeps the thread", async (t) => {
  const threads = hashingThreads({ start, size: 1, restMs: REST_MS })
  await t.rejects(threads.run(call('fail')), { name: 'TypeError', message: 'unreadable' })
  t.equal(await threads.run(call('next')), 'next')
})

t.test('fails the call when the thread cannot start', async (t) => {
  const threads = hashingThreads({ start: () => begin('support/no-such-file.mjs'), size: 1, restMs: REST_MS })
  await t.rejects(Promise.all([threads.run(call('a')), threads.run(call('b'))]), {
    code: 'FST_AUTHORITY_HASHING_THREAD',
    cause: { message: /no-such-file/ }
  })
  const forbidden = hashingThreads({
    start() {
      throw new Error('not allowed')
    },
    size: 1,
    restMs: REST_MS
  })
  await t.rejects(forbidden.run(call('a')), { message: 'not allowed' })
  await t.rejects(forbidden.run(call('a')), { message: 'not allowed' }, 'and holds no place')
})

t.test('fails all waiting calls when a thread ends and no other can start', async (t) => {
  let started = false
  const threads = hashingThreads({
    start() {
      if (started) throw new Error('not allowed')
      started = true
      return start()
    },
    size: 1,
    restMs: REST_MS
  })
  const results = await Promise.allSettled(['exit', 'a', 'b', 'c'].map(async (name) => await threads.run(call(name))))
  t.same(
    results.map((result) => (result.status === 'rejected' ? (result.reason as Error).message : result.value)),
    ['The thread that hashed ended with code 7.', 'not allowed', 'not allowed', 'not allowed']
  )
})

t.test('returns each of 200 parallel answers to its own caller', async (t) => {
  const threads = hashingThreads({ start, size: 3, restMs: REST_MS })
  const passwords = Array.from({ length: 200 }, (_none, index) => `p${index}`)
  t.same(await Promise.all(passwords.map(async (password) => await threads.run(call(password)))), passwords)
})

t.test('ends an idle thread, and starts another for a call that comes meanwhile', async (t) => {
  const threads = hashingThreads({ start, size: 1, restMs: 1 })
  for (let round = 0; round < 12; round++) {
    t.equal(await threads.run(call(`round ${round}`)), `round ${round}`)
    // Wait 0 to 3 timers, so that calls come before, during and after the end of the thread.
    for (let turn = 0; turn < round % 4; turn++)
      await new Promise((resolve) => {
        setTimeout(resolve, 1)
      })
  }
})

t.test(
  'DOS-event-loop hashes in one thread of the lowest priority per core, apart from the event loop',
  { skip: process.platform === 'linux' ? false : 'a priority is of the process there' },
  async (t) => {
    const parameters = { memoryCost: 64, timeCost: 1, parallelism: 1 }
    const before = priorities()
    const hashers = [nodeRsHasher(), nodeRsHasher()]
    // Check after each answer, because an idle thread may end before another thread answers.
    const lowest = new Set<number>()
    await Promise.all(
      Array.from({ length: 8 * availableParallelism() }, async (_none, index) => {
        await hashers[index % 2]?.hash('correct horse', parameters)
        for (const [id, priority] of priorities()) if (priority === 19 && before.get(id) !== 19) lowest.add(id)
      })
    )
    t.equal(priorities().get(process.pid), before.get(process.pid))
    t.equal(lowest.size, availableParallelism(), 'of all hashers together')
  }
)

/** The nice value of each thread of this process. */
function priorities(): Map<number, number> {
  return new Map(
    readdirSync('/proc/self/task').flatMap((id) => {
      const file = `/proc/self/task/${id}/stat`
      // Others may have ended since.
      const stat = existsSync(file) ? readFileSync(file, 'utf8') : ''
      // The name of a thread may hold spaces and brackets; what follows it is counted from the state, the third field.
      // Nice is the 19th.
      return stat === '' ? [] : [[Number(id), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])] as const]
    })
  )
}
