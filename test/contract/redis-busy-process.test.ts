import { MessageChannel } from 'node:worker_threads'
import t from 'tap'
import { type RedisClient, redisConnection } from '../../lib/adapters/redis/connection.ts'
import { defineScript } from '../../lib/adapters/redis/script.ts'

t.test('an answer of Redis that came in time, while this process was busy, counts', async (t) => {
  const { port1: server, port2: socket } = new MessageChannel()
  t.teardown(() => { server.close() })
  /** Its answers are there at once, and read when the event loop comes to it, as those on a socket. */
  const client: RedisClient = {
    status: 'ready',
    isCluster: false,
    connect: async () => undefined,
    async evalsha () {
      const answer = new Promise((resolve) => { socket.once('message', resolve) })
      server.postMessage(7, [])
      return await answer
    },
    eval: async () => { throw new Error('not asked') },
    pipeline: () => ({ exec: async () => null }),
    on: () => undefined,
    off: () => undefined
  }
  const { run } = redisConnection(client, { timeoutMs: 250 })
  for (let round = 0; round < 3; round++) {
    const answer = run(defineScript('return 7'), '{key}', [])
    // What this turn has asked for goes at its end. From here on, timers come before what there is to read.
    await new Promise((resolve) => { setImmediate(resolve) })
    // Whoever blocks the event loop keeps it from reading.
    for (const end = performance.now() + 400; performance.now() < end;);
    t.equal(await answer, 7)
  }
})
