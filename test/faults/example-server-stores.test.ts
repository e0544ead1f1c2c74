/**
 * Two processes of the example server over one PostgreSQL and one Redis: shared data, and the effects of each fault.
 */
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from '../support/tap.ts'
import { freePort } from '../support/free-port.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { startRedis } from '../support/redis-server.ts'
import { example, type Server } from '../flow/support/example-server.ts'

const ANN = { username: 'ann@example.com', password: 'nine tall ferns by noon' }
const BOB = { username: 'bob@example.com', password: 'nine tall ferns by noon' }
/** Limits per address are off, because all requests come from one. Limits per account are on. */
const ENV = { RATE_LIMIT_BYPASS: '127.0.0.0/8', AUTH_SECRET: 'of both instances, of 32 bytes at least' }
const ATTEMPTS_PER_ACCOUNT = 10
const { start } = example(t)

interface Answer {
  status: number
  headers: Headers
  body: Record<string, string>
  tookMs: number
}

async function ask({ origin }: Server, path: string, init: RequestInit = {}): Promise<Answer> {
  const beganAt = performance.now()
  const response = await fetch(origin + path, { ...init, signal: AbortSignal.timeout(20_000) })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') === true
  return {
    status: response.status,
    headers: response.headers,
    body: isJson ? (JSON.parse(text) as Record<string, string>) : {},
    tookMs: performance.now() - beganAt
  }
}

const form = (fields: Record<string, string>): RequestInit => ({ method: 'POST', body: new URLSearchParams(fields) })
const bearer = (token: string | undefined): { headers: { authorization: string } } => ({
  headers: { authorization: `Bearer ${token ?? ''}` }
})
const register = async (server: Server, user: typeof ANN): Promise<Answer> =>
  await ask(server, '/auth/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(user)
  })
const signIn = async (server: Server, { username, password }: typeof ANN): Promise<Answer> =>
  await ask(server, '/auth/token', form({ grant_type: 'password', username, password }))
const rotate = async (server: Server, token: string | undefined): Promise<Answer> =>
  await ask(server, '/auth/token', form({ grant_type: 'refresh_token', refresh_token: token ?? '' }))
const refresh = async (server: Server, token: string | undefined): Promise<Answer> =>
  await ask(server, '/auth/refresh', { method: 'POST', ...bearer(token) })
const me = async (server: Server, token: string | undefined): Promise<Answer> => await ask(server, '/me', bearer(token))

async function signOut(server: Server, token: string | undefined): Promise<number> {
  const listed = await fetch(`${server.origin}/auth/sessions`, bearer(token))
  const { sessions } = (await listed.json()) as { sessions: Array<{ id: string; current: boolean }> }
  return (
    await ask(server, `/auth/sessions/${sessions.find(({ current }) => current)?.id ?? ''}`, {
      method: 'DELETE',
      ...bearer(token)
    })
  ).status
}

/** The same issuer for both, as behind a balancer. */
async function startPair(
  env: Record<string, string>
): Promise<{ one: Server; two: Server; again(port: number): Promise<Server>; ports: [number, number] }> {
  const ports: [number, number] = [await freePort(), await freePort()]
  const all = { ...ENV, ISSUER: `http://127.0.0.1:${ports[0]}`, ...env }
  const [one, two] = await Promise.all([start(ports[0], all), start(ports[1], all)])
  return { one, two, again: async (port) => await start(port, all), ports }
}

/** A change by one instance is visible at the other. */
async function oneTruth(t: Test, one: Server, two: Server): Promise<void> {
  t.equal((await register(one, ANN)).status, 201)
  t.equal((await register(two, ANN)).status, 409, 'the name is taken on either')
  const { body: tokens } = await signIn(two, ANN)
  t.equal((await me(one, tokens['access_token'])).body['username'], ANN.username)
  t.equal((await refresh(one, tokens['refresh_token'])).status, 200)
  let token = tokens['refresh_token']
  for (const server of [one, two, one]) {
    const { status, body } = await rotate(server, token)
    t.equal(status, 200)
    token = body['refresh_token']
  }
  t.equal((await refresh(two, token)).status, 200)
  t.equal(await signOut(one, (await refresh(one, token)).body['access_token']), 204)
  t.equal((await refresh(two, token)).status, 401, 'a sign-out on one is one on the other')

  t.equal((await register(two, BOB)).status, 201)
  const statuses: number[] = []
  for (let attempt = 0; attempt <= ATTEMPTS_PER_ACCOUNT; attempt++)
    statuses.push((await signIn(attempt % 2 === 0 ? one : two, { ...BOB, password: 'wrong wrong wrong' })).status)
  t.strictSame(
    statuses,
    [...Array<number>(ATTEMPTS_PER_ACCOUNT).fill(400), 429],
    'wrong passwords are counted together'
  )
  t.equal((await signIn(two, BOB)).status, 429)
}

async function stopBoth(t: Test, servers: readonly Server[]): Promise<void> {
  const beganAt = performance.now()
  t.strictSame(
    await Promise.all(servers.map(async ({ kill }) => await kill('SIGTERM'))),
    servers.map(() => 0),
    'SIGTERM stops them gracefully'
  )
  const tookMs = performance.now() - beganAt
  t.ok(tookMs < 8000, `and in time: ${tookMs}`)
}

t.test('runs two example servers on PostgreSQL and Redis through outages', async (t) => {
  const postgres = await startPostgres()
  t.teardown(postgres.stop)
  const redis = await startRedis()
  t.teardown(redis.stop)
  const database = await postgres.database()
  const pair = await startPair({ DATABASE_URL: database.url, REDIS_URL: redis.url })
  const { one, again, ports } = pair
  let { two } = pair
  await oneTruth(t, one, two)

  const { body: tokens } = await signIn(one, ANN)
  const refreshes = async (t: Test, server: Server): Promise<void> => {
    t.equal((await refresh(server, tokens['refresh_token'])).status, 200)
    t.equal((await me(server, tokens['access_token'])).status, 200)
  }

  await t.test('keeps tokens and limits when one server is killed and restarted', async (t) => {
    await two.kill('SIGKILL')
    two = await again(ports[1])
    await refreshes(t, two)
    t.equal((await signIn(two, BOB)).status, 429, 'the counters are not its own')
  })

  await t.test('limits sign-ins per instance, and keeps refresh and access working when Redis is killed', async (t) => {
    await redis.kill()
    for (const server of [one, two, one, two]) {
      t.equal((await refresh(server, tokens['refresh_token'])).status, 200)
      t.equal((await signIn(server, ANN)).status, 200)
      t.equal((await me(server, tokens['access_token'])).status, 200)
    }
    const statuses: number[] = []
    for (let attempt = 0; attempt <= ATTEMPTS_PER_ACCOUNT; attempt++)
      statuses.push((await signIn(one, { ...BOB, password: 'wrong wrong wrong' })).status)
    t.strictSame(statuses, [...Array<number>(ATTEMPTS_PER_ACCOUNT).fill(400), 429], 'each instance still limits')
    await redis.restart()
  })

  await t.test('answers 503 in time and keeps host pages working when PostgreSQL is frozen', async (t) => {
    await postgres.pause()
    const [refreshed, signedIn, page, protectedRoute] = await Promise.all([
      refresh(one, tokens['refresh_token']),
      signIn(two, ANN),
      ask(one, '/'),
      ask(two, '/style.css')
    ])
    t.equal(refreshed.status, 503)
    t.ok(refreshed.headers.has('retry-after'))
    t.ok(refreshed.tookMs < 2000 + 1500, `a call of the state takes 2 s at most: ${refreshed.tookMs}`)
    t.equal(signedIn.status, 503)
    t.ok(signedIn.tookMs < 5000 + 1500, `a call of the user store takes 5 s at most: ${signedIn.tookMs}`)
    t.equal(page.status, 200)
    t.equal(protectedRoute.status, 200)
    t.ok(page.tookMs < 1500, `a page needs no store: ${page.tookMs}`)
    await postgres.resume()
    await recovered(
      async () =>
        (await refresh(one, tokens['refresh_token'])).status === 200 && (await signIn(two, ANN)).status === 200
    )
    await refreshes(t, two)
  })

  await t.test('answers 503 and recovers when PostgreSQL is killed and restarted', async (t) => {
    await postgres.kill()
    for (const server of [one, two]) {
      t.equal((await refresh(server, tokens['refresh_token'])).status, 503)
      t.equal((await signIn(server, ANN)).status, 503)
      t.equal((await ask(server, '/')).status, 200)
    }
    await postgres.restart()
    await recovered(
      async () =>
        (await refresh(one, tokens['refresh_token'])).status === 200 && (await signIn(two, ANN)).status === 200
    )
    await refreshes(t, two)
  })

  t.notMatch(one.output() + two.output(), /"statusCode":500/)
  await stopBoth(t, [one, two])
})

t.test('answers open requests and stops on SIGTERM while PostgreSQL is frozen', async (t) => {
  const postgres = await startPostgres()
  t.teardown(postgres.stop)
  const { url } = await postgres.database()
  const { one, two } = await startPair({ DATABASE_URL: url })
  t.equal((await register(one, ANN)).status, 201)
  const { body: tokens } = await signIn(two, ANN)
  t.equal((await refresh(one, tokens['refresh_token'])).status, 200)
  await postgres.pause()
  const printed = one.output().length
  const underWay = refresh(one, tokens['refresh_token'])
  await one.printed(/incoming request/, printed)
  const stopped = stopBoth(t, [one, two])
  t.equal((await underWay).status, 503, 'what was under way is answered')
  await stopped
})

t.test('runs two example servers with state and limits in Redis and users in a file', async (t) => {
  const redis = await startRedis({ appendOnly: true })
  t.teardown(redis.stop)
  const { one, two, again, ports } = await startPair({ REDIS_URL: redis.url })
  await oneTruth(t, one, two)
  const { body: tokens } = await signIn(one, ANN)
  await two.kill('SIGKILL')
  const second = await again(ports[1])
  t.equal((await refresh(second, tokens['refresh_token'])).status, 200)

  await redis.kill()
  t.equal((await me(second, tokens['access_token'])).status, 200, 'an access token needs no store')
  const refused = await refresh(second, tokens['refresh_token'])
  t.equal(refused.status, 503)
  t.ok(refused.headers.has('retry-after'))
  t.equal((await ask(second, '/')).status, 200)
  await redis.restart()
  await recovered(async () => (await refresh(second, tokens['refresh_token'])).status === 200)
  await stopBoth(t, [one, second])
})

/** Waits for recovery without a restart, for at most 20 seconds. */
async function recovered(holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 20_000; !(await holds());) {
    if (performance.now() > deadline) throw new Error('it did not recover')
    await delay(200)
  }
}
