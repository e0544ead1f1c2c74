/**
 * Trips to Redis for what people and programs do, state and limits together, one request at a time and fifty at once.
 */
import type { FastifyInstance } from 'fastify'
import type { Redis } from 'ioredis'
import { authorizeAs, authorizePath, basic, openidApp, redeem, SECRET } from '../test/support/openid.ts'
import { bearer, PASSWORD, signIn } from '../test/support/app.ts'
import { startRedis } from '../test/support/redis-server.ts'
import type { Cell, Report } from './report.ts'

const TOGETHER = 50

interface Deed {
  goal: number | null
  /** The expected status; default 200. */
  status?: number
  prepare(): Promise<() => Promise<number>>
}

/** Counts what is written to the server: one write is one trip, however many scripts it carries. */
function counter({ stream }: Redis): (work: () => Promise<unknown>) => Promise<number> {
  const write = stream.write.bind(stream)
  let writes = 0
  stream.write = ((...args: Parameters<typeof write>) => {
    writes++
    return write(...args)
  }) as typeof stream.write
  /** Work that an answer did not wait for is sent behind it, and may need another trip to load its script. */
  const quiet = async (): Promise<void> => {
    await new Promise((resolve) => {
      setTimeout(resolve, 50)
    })
  }
  return async (work) => {
    await quiet()
    const before = writes
    await work()
    await quiet()
    return writes - before
  }
}

/** The limits as they are by default, but for how much they let pass: a test of them is not what this is. */
const rateLimit = { login: { max: 10_000 }, account: { max: 10_000 }, refresh: { max: 10_000 } }

export async function roundTrips(): Promise<Report> {
  const server = await startRedis()
  try {
    const client = server.client()
    await client.ping()
    const count = counter(client)
    const { app, browser, close } = await openidApp({ redis: client, rateLimit })
    await authorizeAs(browser, authorizePath())
    const rows: Cell[][] = []
    for (const [what, { goal, status = 200, prepare }] of Object.entries(
      deeds(app, async () => (await authorizeAs(browser, authorizePath())).code ?? '')
    )) {
      const [first, alone, ...all] = await inTurn(TOGETHER + 2, prepare)
      // The first use of a script takes a second trip.
      await (first as () => Promise<number>)()
      const one = await count(async () => {
        await expectAnswers(what, status, [alone as () => Promise<number>])
      })
      const together = await count(async () => {
        await expectAnswers(what, status, all)
      })
      rows.push([what, one, goal ?? '', (together / TOGETHER).toFixed(2)])
    }
    await close()
    return {
      title: 'round trips to Redis',
      method:
        'Writes to one server for state and limits together; default limits. A write carries all ' +
        `that is asked for in one turn of the event loop. The last column: ${TOGETHER} requests at ` +
        'once, writes for each.',
      tables: [{ columns: ['', 'trips', 'goal', `of ${TOGETHER} at once`], rows }]
    }
  } finally {
    await server.stop()
  }
}

async function inTurn<T>(times: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = []
  for (let time = 0; time < times; time++) made.push(await make())
  return made
}

async function expectAnswers(
  what: string,
  expected: number,
  calls: ReadonlyArray<() => Promise<number>>
): Promise<void> {
  const statuses = await Promise.all(calls.map(async (call) => await call()))
  const wrong = statuses.find((status) => status !== expected)
  if (wrong !== undefined) throw new Error(`${what} was answered ${wrong}`)
}

/** Each deed is prepared again for every time that it is done. */
function deeds(app: FastifyInstance, newCode: () => Promise<string>): Record<string, Deed> {
  const get = async (url: string, headers: Record<string, string>): Promise<number> =>
    (await app.inject({ url, headers })).statusCode
  const post = async (
    url: string,
    payload: Record<string, unknown>,
    headers: Record<string, string> = {}
  ): Promise<number> => (await app.inject({ method: 'POST', url, payload, headers })).statusCode
  const signedIn = (
    goal: number | null,
    deed: (tokens: Awaited<ReturnType<typeof signIn>>) => Promise<number>
  ): Deed => ({
    goal,
    async prepare() {
      const tokens = await signIn(app)
      return async () => await deed(tokens)
    }
  })
  return {
    'protected route': signedIn(0, async ({ access_token: token }) => await get('/me', bearer(token))),
    'sign-in with a password': {
      goal: 2,
      prepare: async () => async () =>
        await post('/auth/token', { grant_type: 'password', username: 'ann', password: PASSWORD })
    },
    refresh: signedIn(1, async ({ refresh_token: token }) => await post('/auth/refresh', {}, bearer(token))),
    rotation: signedIn(
      1,
      async ({ refresh_token: token }) =>
        await post('/auth/token', { grant_type: 'refresh_token', refresh_token: token })
    ),
    'code redemption': {
      goal: 1,
      async prepare() {
        const code = await newCode()
        return async () => (await redeem(app, code)).statusCode
      }
    },
    'limit check (a wrong password: address and account)': {
      goal: 1,
      status: 400,
      prepare: async () => async () =>
        await post('/auth/token', { grant_type: 'password', username: 'ann', password: 'wrong wrong' })
    },
    introspection: {
      goal: null,
      prepare: async () => async () => await post('/auth/introspect', { token: 'none' }, basic('web', SECRET))
    },
    revocation: signedIn(null, async ({ refresh_token: token }) => await post('/auth/revoke', { token }))
  }
}
