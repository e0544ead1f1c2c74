import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import t from '../support/tap.ts'
import { until } from '../support/redis-process.ts'
import { startRedis } from '../support/redis-server.ts'
import { HOST } from './support/connections.ts'
import { type Fleet, startFleet } from './support/fleet.ts'
import { ISSUER } from './support/settings.ts'
import { temporaryFile } from './support/standard.ts'

const IN_FLIGHT = 8
const PASSWORD = 'correct horse battery staple'
const headers = { host: new URL(ISSUER).host, 'content-type': 'application/x-www-form-urlencoded', 'x-caller': 'ann' }

interface Started {
  finish(): Promise<{ status: number; retryAfter: string | undefined }>
}

/** A request with a running response: this resolves when the process asks for the body. */
async function begin(port: number, body: string): Promise<Started> {
  const outgoing = request({
    host: HOST,
    port,
    method: 'POST',
    path: '/auth/token',
    agent: false,
    headers: { ...headers, expect: '100-continue', 'content-length': Buffer.byteLength(body) }
  })
  outgoing.flushHeaders()
  await once(outgoing, 'continue')
  return {
    async finish() {
      const answered = once(outgoing, 'response')
      outgoing.end(body)
      const [reply] = await answered
      reply.resume()
      await once(reply, 'end')
      return { status: reply.statusCode, retryAfter: reply.headers['retry-after'] }
    }
  }
}

async function post(port: number, path: string, body: Record<string, string>): Promise<Record<string, unknown>> {
  const reply = await fetch(`http://${HOST}:${port}/auth/${path}`, {
    method: 'POST',
    headers: { ...headers, connection: 'close' },
    body: new URLSearchParams(body)
  })
  return (await reply.json()) as Record<string, unknown>
}

const isRefused = async (port: number): Promise<boolean> =>
  await new Promise((resolve) => {
    const socket = connect(port, HOST)
    socket.on('connect', () => {
      socket.destroy()
      resolve(false)
    })
    socket.on('error', () => {
      resolve(true)
    })
  })

const SECONDS = { windowMs: 60_000, max: 1000 }

for (const frozen of [false, true]) {
  t.test(
    `answers open requests in app.close() while ${frozen ? 'Redis is frozen' : 'new ones are refused'}, then exits`,
    async (t) => {
      const redis = await startRedis()
      t.teardown(() => redis.stop())
      const users = temporaryFile(t)
      const place = { kind: 'redis', url: redis.url } as const
      const fleet: Fleet = await startFleet(['1'], () => ({
        issuer: ISSUER,
        state: place,
        users,
        limits: place,
        skewMs: 0,
        rateLimit: { login: SECONDS, account: SECONDS, register: SECONDS }
      }))
      t.teardown(() => fleet.close())
      const port = fleet.running.get('1') ?? 0
      const registered = await fetch(`http://${HOST}:${port}/auth/register`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify({ username: 'ann', password: PASSWORD })
      })
      t.equal(registered.status, 201)
      const requests: Started[] = []
      for (let index = 0; index < IN_FLIGHT; index++) {
        const { refresh_token: refreshToken } = await post(port, 'token', {
          grant_type: 'password',
          username: 'ann',
          password: PASSWORD
        })
        requests.push(
          await begin(
            port,
            new URLSearchParams({ grant_type: 'refresh_token', refresh_token: String(refreshToken) }).toString()
          )
        )
      }
      if (frozen) redis.pause()
      const stopping = fleet.stopGracefully('1')
      await until('the listener is closed', async () => await isRefused(port))
      const answers = await Promise.all(requests.map(async ({ finish }) => await finish()))
      t.strictSame(
        answers.map(({ status }) => status),
        answers.map(() => (frozen ? 503 : 200))
      )
      t.ok(!frozen || answers.every(({ retryAfter }) => Number(retryAfter) >= 1), 'and says when to come back')
      const { closeMs, exitMs } = await stopping
      t.ok(closeMs < 6000, `closed in ${Math.round(closeMs)} ms`)
      // The Redis client waits two seconds for a server that does not close the connection.
      t.ok(exitMs !== null && exitMs < 5000, `ended ${exitMs === null ? 'never' : `${Math.round(exitMs)} ms later`}`)
    }
  )
}
