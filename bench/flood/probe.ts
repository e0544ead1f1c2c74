/**
 * Asks for the host's own page a hundred times a second, answered or not: a slow answer must not make for fewer
 * questions.
 */
import { answerEach } from '../child.ts'
import type { Seen, Task } from './scene.ts'
import { type Connection, connection } from './wire.ts'

const EVERY_MS = 10

async function watch({ port, durationMs }: Task): Promise<Seen> {
  const text = `GET /host HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`
  const free: Connection[] = [connection(port), connection(port)]
  const all = [...free]
  const seen: Seen = []
  const asked: Array<Promise<void>> = []
  const started = performance.now()

  async function ask(): Promise<void> {
    let one = free.pop()
    if (one === undefined) all.push((one = connection(port)))
    const sent = performance.now()
    const status = await one.send(text)
    if (status !== 200) throw new Error(`the host's page was answered ${status}`)
    seen.push([sent - started, performance.now() - sent])
    free.push(one)
  }

  for (let turn = 0; turn * EVERY_MS < durationMs; turn++) {
    // By the clock from the start, so that late timers make no gap in the sum.
    const wait = started + turn * EVERY_MS - performance.now()
    if (wait > 0)
      await new Promise((resolve) => {
        setTimeout(resolve, wait)
      })
    asked.push(ask())
  }
  await Promise.all(asked)
  for (const { close } of all) close()
  return seen
}

answerEach(true, watch)
