/**
 * Trips to Redis for what people and programs do, state and limits together, one request at a time and fifty at once.
 */
import type { FastifyInstance } from 'fastify'
import type { Redis } from 'ioredis'
import { authorizeAs, authorizePath, basic, openidApp, redeem, SECRET } from '../test/support/openid.ts'
import { bearer, PASSWORD, signIn } from '../test/support/app.ts'
import { startRedis } from '../test/support/redis-server.ts'
import { countWrites, journeyTable } from './journey.ts'
import type { Cell, Report } from './report.ts'

const TOGETHER = 50

interface Deed {
  /** The expected status; default 200. */
  status?: number
  prepare(): Promise<() => Promise<number>>
}

function counter(client: Redis): (work: () => Promise<unknown>) => Promise<number> {
  let writes = 0
  countWrites(client, () => {
    writes++
  })
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
    for (const [what, { status = 200, prepare }] of Object.entries(
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
      rows.push([what, one, (together / TOGETHER).toFixed(2)])
    }
    await close()
    return {
      title: 'round trips to the server of the state',
      method:
        'Writes to one Redis for state and limits together; default limits. A write carries all ' +
        `that is asked for in one turn of the event loop. The last column: ${TOGETHER} requests at ` +
        'once, writes for each. The second table: four instances without limits; on PostgreSQL a trip is a query.',
      tables: [{ columns: ['', 'trips', `of ${TOGETHER} at once`], rows }, await journeyTable()]
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
  const signedIn = (deed: (tokens: Awaited<ReturnType<typeof signIn>>) => Promise<number>): Deed => ({
    async prepare() {
      const tokens = await signIn(app)
      return async () => await deed(tokens)
    }
  })
  return {
    'protected route': signedIn(async ({ access_token: token }) => await get('/me', bearer(token))),
    'sign-in with a password': {
      prepare: async () => async () =>
        await post('/auth/token', { grant_type: 'password', username: 'ann', password: PASSWORD })
    },
    refresh: signedIn(async ({ refresh_token: token }) => await post('/auth/refresh', {}, bearer(token))),
    rotation: signedIn(
      async ({ refresh_token: token }) =>
        await post('/auth/token', { grant_type: 'refresh_token', refresh_token: token })
    ),
    'code redemption': {
      async prepare() {
        const code = await newCode()
        return async () => (await redeem(app, code)).statusCode
      }
    },
    'limit check (a wrong password: address and account)': {
      status: 400,
      prepare: async () => async () =>
        await post('/auth/token', { grant_type: 'password', username: 'ann', password: 'wrong wrong' })
    },
    introspection: {
      prepare: async () => async () => await post('/auth/introspect', { token: 'none' }, basic('web', SECRET))
    },
    revocation: signedIn(async ({ refresh_token: token }) => await post('/auth/revoke', { token }))
  }
}
