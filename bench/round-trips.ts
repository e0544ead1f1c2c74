/** Commands that Redis gets for what people and programs do, state and limits together, one request at a time and fifty at once. */
import type { FastifyInstance } from 'fastify'
import type { Redis } from 'ioredis'
import { authorizeAs, authorizePath, basic, openidApp, redeem, SECRET } from '../test/support/openid.ts'
import { bearer, PASSWORD, signIn } from '../test/support/app.ts'
import { startRedis } from '../test/support/redis-server.ts'
import type { Cell, Report } from './report.ts'

const TOGETHER = 50

interface Deed {
  goal: number | null
  /** What it is answered; default 200. */
  status?: number
  prepare(): Promise<() => Promise<number>>
}

/** How many commands the server gets for some work; what a script calls inside it is none. */
async function counter (client: Redis): Promise<{ count(work: () => Promise<unknown>): Promise<number>, stop(): void }> {
  const monitor = await client.monitor()
  let commands = 0
  const marks = new Map<string, () => void>()
  monitor.on('monitor', (_time: string, args: string[], source: string) => {
    if (source === 'lua') return
    commands++
    if (args[0] === 'echo') marks.get(args[1] ?? '')?.()
  })
  const settled = async (): Promise<number> => {
    const mark = `mark-${marks.size}`
    const shown = new Promise<void>((resolve) => { marks.set(mark, resolve) })
    await client.echo(mark)
    await shown
    return commands
  }
  return {
    async count (work) {
      const before = await settled()
      await work()
      return await settled() - before - 1
    },
    stop () { monitor.disconnect() }
  }
}

/** The limits as they are by default, but for how much they let pass: a test of them is not what this is. */
const rateLimit = { login: { max: 10_000 }, account: { max: 10_000 }, refresh: { max: 10_000 } }

export async function roundTrips (): Promise<Report> {
  const server = await startRedis()
  try {
    const client = server.client()
    const { count, stop } = await counter(client)
    const { app, browser, close } = await openidApp({ redis: client, rateLimit })
    await authorizeAs(browser, authorizePath())
    const rows: Cell[][] = []
    for (const [what, { goal, status = 200, prepare }] of Object.entries(deeds(app, async () => (await authorizeAs(browser, authorizePath())).code ?? ''))) {
      const [first, alone, ...all] = await inTurn(TOGETHER + 2, prepare)
      // The first use of the programme takes a second trip.
      await (first as () => Promise<number>)()
      const one = await count(async () => { await expectAnswers(what, status, [alone as () => Promise<number>]) })
      const together = await count(async () => { await expectAnswers(what, status, all) })
      rows.push([what, one, goal ?? '', (together / TOGETHER).toFixed(2)])
    }
    await close()
    stop()
    return {
      title: 'round trips to Redis',
      method: `Commands that one server gets for state and limits together, seen by MONITOR; default limits. The last column: ${TOGETHER} requests at once, commands for each.`,
      tables: [{ columns: ['', 'commands', 'goal', `of ${TOGETHER} at once`], rows }]
    }
  } finally {
    await server.stop()
  }
}

async function inTurn<T> (times: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = []
  for (let time = 0; time < times; time++) made.push(await make())
  return made
}

async function expectAnswers (what: string, expected: number, calls: ReadonlyArray<() => Promise<number>>): Promise<void> {
  const statuses = await Promise.all(calls.map(async (call) => await call()))
  const wrong = statuses.find((status) => status !== expected)
  if (wrong !== undefined) throw new Error(`${what} was answered ${wrong}`)
}

/** Each is prepared anew for every time that it is done. */
function deeds (app: FastifyInstance, newCode: () => Promise<string>): Record<string, Deed> {
  const get = async (url: string, headers: Record<string, string>): Promise<number> => (await app.inject({ url, headers })).statusCode
  const post = async (url: string, payload: Record<string, unknown>, headers: Record<string, string> = {}): Promise<number> => (await app.inject({ method: 'POST', url, payload, headers })).statusCode
  const signedIn = (goal: number | null, deed: (tokens: Awaited<ReturnType<typeof signIn>>) => Promise<number>): Deed => ({
    goal,
    async prepare () {
      const tokens = await signIn(app)
      return async () => await deed(tokens)
    }
  })
  return {
    'protected route': signedIn(0, async ({ access_token: token }) => await get('/me', bearer(token))),
    'sign-in with a password': { goal: 2, prepare: async () => async () => await post('/auth/token', { grant_type: 'password', username: 'ann', password: PASSWORD }) },
    refresh: signedIn(1, async ({ refresh_token: token }) => await post('/auth/refresh', {}, bearer(token))),
    rotation: signedIn(1, async ({ refresh_token: token }) => await post('/auth/token', { grant_type: 'refresh_token', refresh_token: token })),
    'code redemption': {
      goal: 1,
      async prepare () {
        const code = await newCode()
        return async () => (await redeem(app, code)).statusCode
      }
    },
    'limit check (a wrong password: address and account)': {
      goal: 1, status: 400, prepare: async () => async () => await post('/auth/token', { grant_type: 'password', username: 'ann', password: 'wrong wrong' })
    },
    introspection: { goal: null, prepare: async () => async () => await post('/auth/introspect', { token: 'none' }, basic('web', SECRET)) },
    revocation: signedIn(null, async ({ refresh_token: token }) => await post('/auth/revoke', { token }))
  }
}
