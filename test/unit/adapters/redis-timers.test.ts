/** The time limits of a connection to Redis without answers, by a timer and a clock that the test steps. */
import { setImmediate } from 'node:timers/promises'
import { type RedisClient, redisConnection } from '../../../lib/adapters/redis/connection.ts'
import { defineKeyScript } from '../../../lib/adapters/redis/refusal.ts'
import t, { type Test } from '../../support/tap.ts'

const SCRIPT = defineKeyScript('return 1')

/** A client whose server never answers. `sent`: how many commands it was given. */
function silentClient(): { client: RedisClient; sent: () => number } {
  let sent = 0
  const send = async (): Promise<never> => {
    sent++
    return await new Promise(() => {})
  }
  const client = {
    status: 'ready',
    isCluster: false,
    connect: send,
    evalsha: send,
    eval: send,
    pipeline: () => ({ exec: send }),
    on() {},
    off() {}
  }
  return { client, sent: () => sent }
}

/** Takes the timers of the process until the test ends. Only `expire` lets the last one expire. */
function takeTimers(t: Test): { delays: number[]; expire: () => void; setNow: (ms: number) => void } {
  const { setTimeout: usual } = globalThis
  const { now: usualNow } = performance
  const delays: number[] = []
  let now = 0
  let last = (): void => {}
  const take = (task: () => void, delayMs: number): object => {
    delays.push(delayMs)
    last = task
    return { refresh() {}, unref() {} }
  }
  globalThis.setTimeout = take as typeof setTimeout
  performance.now = () => now
  t.teardown(() => {
    globalThis.setTimeout = usual
    performance.now = usualNow
  })
  return {
    delays,
    expire: () => {
      last()
    },
    setNow(ms) {
      now = ms
    }
  }
}

t.test('fails a command after 250 ms without an answer, and tries again after a second', async (t) => {
  const { client, sent } = silentClient()
  const { delays, expire, setNow } = takeTimers(t)
  setNow(500)
  const { run } = redisConnection(client)
  const answers: string[] = []
  const ask = async (): Promise<void> => {
    run(SCRIPT, '{a}', []).catch((error: Error) => answers.push(error.message))
    await setImmediate()
    await setImmediate()
  }
  await ask()
  t.strictSame([delays, sent()], [[50], 1])
  for (let look = 1; look <= 4; look++) {
    expire()
    await setImmediate()
  }
  t.strictSame(answers, [])
  expire()
  t.strictSame(answers, [], 'what has come is read first')
  await setImmediate()
  t.strictSame(answers, ['Redis did not answer within 250 ms.'])

  for (const [now, commands] of [
    [1499, 1],
    [1500, 2],
    [2499, 2],
    [2500, 3]
  ] as const) {
    setNow(now)
    await ask()
    t.equal(answers.at(-1), 'Redis does not answer.')
    t.equal(sent(), commands, `at ${now} ms`)
  }
})
