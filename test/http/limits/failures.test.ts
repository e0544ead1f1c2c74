/**
 * Secrets of 256 random bits count only when they fail, and valid ones are never refused, with any store of counters.
 */
import type { Redis } from 'ioredis'
import t, { type Test } from '../../support/tap.ts'
import { redisState } from '../../../lib/adapters/redis/record-store.ts'
import { type AuthorityOptions, memoryUserStore, type User } from '../../../lib/index.ts'
import { bearer, PASSWORD, signIn, signUp, testApp, type TestApp, type Tokens } from '../../support/app.ts'
import { authorizeAs, authorizePath, basic, openidApp, type OpenidApp, redeem, SECRET } from '../../support/openid.ts'
import { startRedis } from '../../support/redis-server.ts'

const server = await startRedis()
t.teardown(async () => {
  await server.stop()
})
const client = server.client()
const other = server.client()

type Place = 'memory' | 'redis' | 'redis, state and counters on two clients'
const PLACES: readonly Place[] = ['memory', 'redis', 'redis, state and counters on two clients']
const WINDOW = 60_000
const REFRESH = { windowMs: WINDOW, max: 3 }
const MALFORMED = 'no token'

function optionsAt(place: Place): Partial<AuthorityOptions> {
  if (place === 'memory') return {}
  return {
    redis: client,
    secret: 'of a shared state, of 32 bytes at least',
    ...(place === 'redis' ? {} : { state: redisState(other) })
  }
}

interface Stage extends OpenidApp {
  users: { disabled: boolean; down: boolean }
  post(url: string, payload: Record<string, unknown>, headers?: Record<string, string>): Promise<Answer>
  refresh(token: string): Promise<Answer>
  rotate(token: string, extra?: Record<string, unknown>, headers?: Record<string, string>): Promise<Answer>
}

/** The part of an answer without random values. */
interface Answer {
  status: number
  error?: unknown
  retryAfter: unknown
  limit: unknown
  remaining: unknown
  reset: unknown
  body: Record<string, unknown>
}

async function stage(
  t: Test,
  place: Place,
  rateLimit: AuthorityOptions['rateLimit'],
  options: Partial<AuthorityOptions> = {}
): Promise<Stage> {
  await client.flushdb()
  const users = { disabled: false, down: false }
  const store = memoryUserStore()
  const findById = async (id: string): Promise<User | null> => {
    if (users.down) throw new Error('down')
    const user = await store.findById(id)
    return user === null ? null : { ...user, ...(users.disabled ? { disabled: true } : {}) }
  }
  const subject = await openidApp({
    ...optionsAt(place),
    rateLimit: { account: false, ...(rateLimit === false ? {} : rateLimit) },
    users: { ...store, findById },
    ...options
  })
  t.teardown(subject.close)
  const post = async (
    url: string,
    payload: Record<string, unknown>,
    headers: Record<string, string> = {}
  ): Promise<Answer> => {
    const reply = await subject.app.inject({ method: 'POST', url, payload, headers })
    const body = reply.json<Record<string, unknown>>()
    const {
      'retry-after': retryAfter,
      'x-ratelimit-limit': limit,
      'x-ratelimit-remaining': remaining,
      'x-ratelimit-reset': reset
    } = reply.headers
    return { status: reply.statusCode, error: body['error'], retryAfter, limit, remaining, reset, body }
  }
  return {
    ...subject,
    users,
    post,
    refresh: async (token) => await post('/auth/refresh', {}, bearer(token)),
    rotate: async (token, extra = {}, headers = {}) =>
      await post('/auth/token', { grant_type: 'refresh_token', refresh_token: token, ...extra }, headers)
  }
}

const shown = ({ status, error, retryAfter, limit, remaining, reset }: Answer): Omit<Answer, 'body'> => ({
  status,
  error,
  retryAfter,
  limit,
  remaining,
  reset
})
const statuses = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status)
/** Well formed but unknown. */
const forged = (token: string): string => `${token.slice(0, -4)}${token.at(-4) === 'A' ? 'B' : 'A'}${token.slice(-3)}`

/** Runs the steps in order, each through the API. */
async function story(t: Test, place: Place): Promise<unknown[]> {
  const { app, browser, clock, users, post, refresh, rotate } = await stage(t, place, {
    login: false,
    refresh: { ...REFRESH, max: 4 }
  })
  const seen: unknown[] = []
  const note = (answer: Answer): Answer => {
    seen.push(shown(answer))
    return answer
  }
  const pass = (): void => {
    clock.step(WINDOW)
  }
  let tokens: Tokens = await signIn(app)
  const next = async (): Promise<void> => {
    tokens = { ...tokens, ...note(await rotate(tokens.refresh_token)).body }
  }

  note(await refresh(tokens.refresh_token))
  await next()
  await next()
  pass()
  note(await refresh(MALFORMED))
  note(await post('/auth/refresh', {}))
  note(await refresh('AAA'.repeat(40)))
  note(await rotate(tokens.refresh_token, { scope: 'beyond' }))
  note(await refresh(tokens.refresh_token))
  note(await rotate(tokens.refresh_token, { client_id: 'web', client_secret: 'wrong' }))
  note(await rotate(tokens.refresh_token, { client_id: 'web', client_secret: SECRET }))
  note(await rotate(MALFORMED))
  await next()
  pass()
  // A request during an outage counts as no attempt.
  users.down = true
  for (let time = 0; time < 6; time++) note(await refresh(tokens.refresh_token))
  for (let time = 0; time < 6; time++) note(await rotate(tokens.refresh_token))
  users.down = false
  await next()
  pass()
  note(await refresh(forged(tokens.refresh_token)))
  note(await refresh(tokens.refresh_token))
  pass()
  for (const [params, headers] of [
    [{}, {}],
    [{ code_verifier: 'x'.repeat(50) }, {}],
    [{}, basic('web', 'wrong')],
    [{ code: MALFORMED }, {}],
    [{}, {}]
  ] as const) {
    const { code = '' } = await authorizeAs(browser, authorizePath())
    for (let time = 0; time < 2; time++) {
      const reply = await redeem(app, code, params, headers)
      seen.push([
        reply.statusCode,
        reply.json().error,
        reply.headers['x-ratelimit-remaining'],
        reply.headers['retry-after']
      ])
    }
  }
  pass()
  for (let time = 0; time < 6; time++)
    note(await post('/auth/token', { grant_type: 'client_credentials', client_id: 'web', client_secret: 'wrong' }))
  return seen
}

t.test('RL CS1 sends the same answers and headers with counters in memory and in Redis', async (t) => {
  const memory = await story(t, 'memory')
  t.ok(JSON.stringify(memory).includes('429'))
  for (const place of PLACES.slice(1)) t.same(await story(t, place), memory, place)
})

for (const place of PLACES) {
  // covers RL-18 CS2
  t.test(`rejects five of 50 parallel wrong tokens with 401, and the others with 429 (${place})`, async (t) => {
    const { app, refresh, events } = await stage(t, place, { login: false, refresh: { windowMs: WINDOW, max: 5 } })
    const families = await Promise.all(Array.from({ length: 50 }, async () => await signIn(app)))
    const answers = await Promise.all(families.map(async ({ refresh_token: token }) => await refresh(forged(token))))
    t.equal(statuses(answers).filter((status) => status === 401).length, 5)
    t.equal(statuses(answers).filter((status) => status === 429).length, 45)
    t.equal(events.filter(({ name }) => name === 'rate_limited').length, 45)
    t.equal(
      events.filter(({ name }) => name === 'refresh_token_reused').length,
      50,
      'what only a holder of the family can send ends it, over the limit too'
    )
  })

  t.test(`RL CS3 does not count a request that fails for a reason other than its token (${place})`, async (t) => {
    const { app, post, rotate } = await stage(t, place, { login: false, refresh: { windowMs: WINDOW, max: 2 } })
    const { refresh_token: token } = await signIn(app)
    for (let time = 0; time < 4; time++) {
      t.equal((await rotate(token, { scope: 'beyond' })).error, 'invalid_scope')
      t.equal((await post('/auth/token', { grant_type: 'refresh_token' })).error, 'invalid_request')
    }
    t.equal((await rotate(MALFORMED)).status, 400)
  })

  // covers A3 CS4
  t.test(`accepts valid secrets regardless of other attempts from the same address (${place})`, async (t) => {
    const { app, browser, post, refresh, rotate, events } = await stage(t, place, { login: false, refresh: REFRESH })
    let tokens = await signIn(app)
    const { code = '' } = await authorizeAs(browser, authorizePath())
    for (let time = 0; time < REFRESH.max; time++) t.equal((await refresh(MALFORMED)).status, 401)
    const wrong = async (when: string): Promise<void> => {
      t.same(
        statuses([await refresh(MALFORMED), await rotate(MALFORMED)]),
        [429, 429],
        `${when}: what is wrong is over the limit`
      )
      t.equal((await redeem(app, 'wrong')).statusCode, 429)
      t.same(
        statuses([
          await post('/auth/revoke', { token: MALFORMED }),
          await post('/auth/introspect', { token: MALFORMED }, basic('web', 'wrong'))
        ]),
        [429, 429]
      )
    }
    await wrong('before')
    for (let time = 0; time < 2 * REFRESH.max; time++) {
      const answer = await refresh(tokens.refresh_token)
      t.equal(answer.status, 200)
      t.equal(answer.limit, undefined, 'what is not counted shows no count')
      tokens = { ...tokens, ...(await rotate(tokens.refresh_token)).body }
    }
    t.equal((await redeem(app, code)).statusCode, 200)
    t.equal((await post('/auth/introspect', { token: tokens.access_token }, basic('web', SECRET))).status, 200)
    t.equal((await post('/auth/revoke', { token: tokens.refresh_token })).status, 200)
    await wrong('after')
    t.match(events.filter(({ name }) => name === 'rate_limited').at(-1), { payload: { rule: 'refresh', ...REFRESH } })
  })
}

// covers A3 CS9
t.test('counts a wrong client secret under refresh and a wrong password under login', async (t) => {
  const clients = [{ clientId: 'front', clientSecret: SECRET, grantTypes: ['password' as const] }]
  const { clock, post, events } = await stage(
    t,
    'memory',
    { login: { windowMs: WINDOW, max: 2 }, refresh: { windowMs: WINDOW, max: 3 } },
    { clients }
  )
  const grant = async (password: string, secret: string): Promise<number> =>
    (await post('/auth/token', { grant_type: 'password', username: 'ann', password }, basic('front', secret))).status
  const limitedBy = (): unknown[] =>
    events.filter(({ name }) => name === 'rate_limited').map(({ payload }) => (payload as { rule: string }).rule)

  for (let time = 0; time < 3; time++) t.equal(await grant(PASSWORD, 'wrong'), 401)
  t.equal(await grant(PASSWORD, 'wrong'), 429)
  t.same(limitedBy(), ['refresh'])
  t.equal(await grant(PASSWORD, SECRET), 200, 'none of them has used up a password attempt')
  t.equal(await grant('wrong wrong', SECRET), 400)
  t.equal(await grant(PASSWORD, SECRET), 429, 'passwords are reserved before the work')
  t.same(limitedBy(), ['refresh', 'login'])
  clock.step(WINDOW)
  for (let time = 0; time < 2; time++) t.equal(await grant('wrong wrong', SECRET), 400)
  for (let time = 0; time < 3; time++)
    t.equal(await grant(PASSWORD, 'wrong'), 401, 'and no wrong password a failed secret')
})

t.test('RL CS5 refunds a successful sign-in, and counts one of a user disabled after the password check', async (t) => {
  for (const place of PLACES) {
    await client.flushdb()
    const store = memoryUserStore()
    let disabled = false
    let looks = 0
    const subject: TestApp = await testApp({
      ...optionsAt(place),
      rateLimit: { login: false, account: { windowMs: WINDOW, max: 3 } },
      users: {
        ...store,
        async findById(id) {
          looks++
          const user = await store.findById(id)
          return user === null ? null : { ...user, disabled }
        }
      }
    })
    t.teardown(subject.close)
    await signUp(subject.app)
    const attempt = async (password: string): Promise<number> =>
      (
        await subject.app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'password', username: 'ann', password }
        })
      ).statusCode
    for (let time = 0; time < 5; time++) t.equal(await attempt(PASSWORD), 200, place)
    t.same(
      [await attempt('wrong wrong'), await attempt(PASSWORD), await attempt('wrong wrong')],
      [400, 200, 400],
      place
    )
    looks = 0
    disabled = true
    t.equal(await attempt(PASSWORD), 400, `${place}: disabled between the password and the last look`)
    t.ok(looks > 0)
    disabled = false
    t.equal(await attempt(PASSWORD), 429, `${place}: and that was the third`)
    subject.clock.step(WINDOW)
    t.equal(await attempt(PASSWORD), 200)
  }
})

/** Uses refresh tokens and a code with success, and then expects a limit on wrong tokens. */
async function worksAsEver(t: Test, redis: Redis, begun: () => Promise<unknown> = async () => {}): Promise<TestApp> {
  const subject = await openidApp({
    redis,
    secret: 'of a shared state, of 32 bytes at least',
    rateLimit: { login: false, refresh: REFRESH }
  })
  t.teardown(subject.close)
  await begun()
  const { app, browser } = subject
  const post = async (
    url: string,
    payload: Record<string, unknown>,
    headers: Record<string, string> = {}
  ): Promise<number> => (await app.inject({ method: 'POST', url, payload, headers })).statusCode
  const tokens = await signIn(app)
  for (let time = 0; time < 5; time++) t.equal(await post('/auth/refresh', {}, bearer(tokens.refresh_token)), 200)
  t.equal(await post('/auth/token', { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }), 200)
  t.equal((await redeem(app, (await authorizeAs(browser, authorizePath())).code ?? '')).statusCode, 200)
  const wrong = await Promise.all(
    Array.from({ length: 20 }, async () => await post('/auth/refresh', {}, bearer(forged(tokens.refresh_token))))
  )
  t.equal(wrong.filter((status) => status === 401).length, REFRESH.max)
  t.equal(wrong.filter((status) => status === 429).length, 20 - REFRESH.max)
  return subject
}

t.test('RL CS6 counts on a node of a Redis cluster through a client without cluster support', async (t) => {
  const node = await startRedis({ args: ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'] })
  t.teardown(async () => {
    await node.stop()
  })
  const plain = node.client()
  await plain.cluster('ADDSLOTS', ...Array.from({ length: 16_384 }, (_, slot) => slot))
  while (!((await plain.cluster('INFO')) as string).includes('cluster_state:ok'))
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  await worksAsEver(t, plain)
})

// covers RL-22 CS7
t.test('counts in this process, without a 503, when Redis rejects only the counters', async (t) => {
  const guarded = await startRedis()
  t.teardown(async () => {
    await guarded.stop()
  })
  const admin = guarded.client()
  await admin.acl('SETUSER', 'half', 'on', '>word', '~authority:*', '~rl:*', '+@all')
  // Removes the right after the start, because the start checks it.
  const subject = await worksAsEver(
    t,
    guarded.client({ username: 'half', password: 'word' }),
    async () => await admin.acl('SETUSER', 'half', 'resetkeys', '~authority:*')
  )
  t.equal(subject.events.filter(({ name }) => name === 'store_degraded').length, 1)
})

// covers RL-22 CS8
t.test('counts in this process, without a 503, when the counters are unreadable', async (t) => {
  await client.flushdb()
  const subject = await testApp({ redis: client, rateLimit: { login: false, account: false, refresh: REFRESH } })
  t.teardown(subject.close)
  await signUp(subject.app)
  const { refresh_token: token } = await signIn(subject.app)
  const refresh = async (presented: string): Promise<number> =>
    (await subject.app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(presented) })).statusCode
  t.equal(await refresh(MALFORMED), 401)
  for (const name of await client.keys('rl:*')) {
    await client.del(name)
    await client.hset(name, 'no', 'counter')
  }
  t.same(
    [
      await refresh(token),
      await refresh(MALFORMED),
      await refresh(MALFORMED),
      await refresh(MALFORMED),
      await refresh(MALFORMED),
      await refresh(token)
    ],
    [200, 401, 401, 401, 429, 200]
  )
  t.match(
    subject.events.find(({ name }) => name === 'store_degraded'),
    { payload: { store: /limits/ } }
  )
})
