import t from 'tap'
import { redisConnection } from '../../lib/adapters/redis/connection.ts'
import { defineScript } from '../../lib/adapters/redis/script.ts'
import { startRedis } from '../support/redis-server.ts'

t.test('an answer of Redis that came in time, while this process was busy, counts', async (t) => {
  const server = await startRedis()
  t.teardown(server.stop)
  const { run } = redisConnection(server.client(), { timeoutMs: 250 })
  const script = defineScript('return 7')
  await run(script, '{key}', [])
  for (let round = 0; round < 3; round++) {
    // From here on, timers come before what there is to read.
    await new Promise((resolve) => { setImmediate(resolve) })
    const answer = run(script, '{key}', [])
    // Whoever blocks the event loop keeps it from reading.
    for (const end = performance.now() + 400; performance.now() < end;);
    t.equal(await answer, 7)
  }
})
