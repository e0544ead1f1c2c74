import { EventEmitter } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import t, { type Test } from '../support/tap.ts'
import { type RedisClient, type RedisConnection, redisConnection } from '../../lib/adapters/redis/connection.ts'
import { defineScript } from '../../lib/adapters/redis/refusal.ts'

/** A server that answers at once. Its answers are read when the event loop reaches the socket. */
function connectionTo(t: Test, isKnown: boolean): RedisConnection {
  const { port1: server, port2: socket } = new MessageChannel()
  t.teardown(() => {
    server.close()
  })
  const answered = async (reply: unknown): Promise<unknown> => {
    const answer = new Promise((resolve) => {
      socket.once('message', resolve)
    })
    server.postMessage(reply, [])
    return await answer
  }
  const client: RedisClient = {
    status: 'ready',
    isCluster: false,
    connect: async () => undefined,
    async evalsha() {
      const reply = await answered(isKnown ? 7 : null)
      if (reply === null)
        throw Object.assign(new Error('NOSCRIPT No matching script. Please use EVAL.'), { name: 'ReplyError' })
      return reply
    },
    // A separate trip, which takes a few turns of the event loop.
    async eval() {
      for (let turn = 0; turn < 5; turn++) await setImmediate()
      return await answered(7)
    },
    pipeline: () => ({ exec: async () => null }),
    on: () => undefined,
    off: () => undefined
  }
  return redisConnection(client, { timeoutMs: 250 })
}

for (const [what, isKnown] of [
  ['an answer of Redis', true],
  ['the answer that it does not know the script yet', false]
] as const) {
  t.test(`accepts ${what} that came in time while the process was busy`, async (t) => {
    const { run } = connectionTo(t, isKnown)
    for (let round = 0; round < 3; round++) {
      const answer = run(defineScript('return 7'), '{key}', [])
      // Calls of this turn are sent at its end. Timers run before reads after that.
      await setImmediate()
      // Blocks the event loop, so that nothing is read.
      for (const end = performance.now() + 400; performance.now() < end;);
      t.equal(await answer, 7)
    }
  })
}

t.test('waits several event loop turns for a connection after the process was busy', async (t) => {
  const { port1: server, port2: socket } = new MessageChannel()
  t.teardown(() => {
    server.close()
  })
  const events = new EventEmitter()
  const client: RedisClient = {
    status: 'connecting',
    isCluster: false,
    connect: async () => undefined,
    evalsha: async () => 7,
    eval: async () => 7,
    pipeline: () => ({ exec: async () => null }),
    on: (event, listener) => events.on(event, listener),
    off: (event, listener) => events.off(event, listener)
  }
  // Imitates ioredis, where each answer leads to the next question.
  let answers = 0
  socket.on('message', () => {
    if (++answers < 4) {
      setImmediate().then(() => {
        server.postMessage('the next', [])
      }, t.threw)
      return
    }
    Object.assign(client, { status: 'ready' })
    events.emit('ready')
  })
  const answer = redisConnection(client, { timeoutMs: 250 }).run(defineScript('return 7'), '{key}', [])
  await setImmediate()
  server.postMessage('connected', [])
  for (const end = performance.now() + 400; performance.now() < end;);
  t.equal(await answer, 7)
})
