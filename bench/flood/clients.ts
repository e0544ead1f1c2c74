/**
 * The clients, in a process of their own: each asks over and over, and tries again the moment it has its answer,
 * whatever it is.
 */
import { quantile } from '../report.ts'
import { answerEach } from '../child.ts'
import { CLIENTS, type ClientTask, PASSWORD, type Spoils, USERS } from './scene.ts'
import { connection } from './wire.ts'

async function attack({ port, durationMs, what }: ClientTask): Promise<Spoils> {
  const connections = Array.from({ length: CLIENTS }, () => connection(port))
  const times: number[] = []
  let refused = 0
  let over = false
  async function client(index: number): Promise<void> {
    const body = JSON.stringify({ grant_type: 'password', username: `user-${index % USERS}`, password: PASSWORD })
    const text =
      what === 'page'
        ? `GET /host HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`
        : `POST /auth/token HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: ` +
          `application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    while (!over) {
      const sent = performance.now()
      const status = await connections[index]?.send(text)
      if (over) return
      if (status === 200) times.push(performance.now() - sent)
      else if (status === 503) refused += 1
      else throw new Error(`${what}: answered ${status}`)
    }
  }
  const all = Promise.all(
    connections.map(async (_connection, index) => {
      await client(index)
    })
  )
  await Promise.race([
    all,
    new Promise((resolve) => {
      setTimeout(resolve, durationMs)
    })
  ])
  over = true
  for (const { close } of connections) close()
  await all
  return { succeeded: times.length, refused, p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
}

answerEach(true, attack)
