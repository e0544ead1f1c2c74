import type { FastifyRequest } from 'fastify'
import t from '../../support/tap.ts'
import { limitedApp } from './support/limited-app.ts'

const MINUTE = 60_000
const LOGIN = { windowMs: MINUTE, max: 3 }

t.test('RL rejects an attempt over the limit with 429, Retry-After and an event, before any work', async (t) => {
  const { login, statuses, clock, limited, work } = await limitedApp(t, { login: LOGIN })
  t.same(await statuses(3), [400, 400, 400])
  clock.step(500)
  const reply = await login({}, { headers: { 'user-agent': 'probe' } })
  t.equal(reply.statusCode, 429)
  t.equal(reply.headers['retry-after'], '60', 'whole seconds, rounded up')
  t.same(reply.json(), {
    error: 'too_many_requests',
    error_description: 'Too many attempts. Try again later.',
    retryAfter: 60
  })
  t.same(limited, [
    {
      time: '2026-01-01T00:00:00.500Z',
      requestId: 'req-4',
      ip: '127.0.0.1',
      userAgent: 'probe',
      rule: 'login',
      max: 3,
      windowMs: MINUTE,
      retryAfter: 60
    }
  ])
  t.equal(work.done, 3)
  clock.step(MINUTE - 501)
  t.equal((await login()).headers['retry-after'], '1', 'never 0')
  clock.step(1)
  t.equal((await login()).statusCode, 400)
})

// covers H15
t.test('logs the rule that rejects once a minute, with its limit', async (t) => {
  const { statuses, clock, told } = await limitedApp(t, {
    login: { ...LOGIN, windowMs: 10 * MINUTE },
    account: { max: 1 }
  })
  await statuses(20)
  t.match(told, [{ code: 'FST_AUTHORITY_RATE_LIMITED', rule: 'login', max: 3, windowMs: 10 * MINUTE }])
  clock.step(MINUTE - 1)
  await statuses(5)
  t.equal(told.length, 1)
  clock.step(1)
  await statuses(5)
  t.equal(told.length, 2)
  await statuses(3, { username: 'ann' }, { remoteAddress: '192.0.2.9' })
  t.match(told[2], { rule: 'account' })
})

// covers RL-18 RL-19
t.test('accepts the first five of 50 parallel attempts with a limit of five', async (t) => {
  const { login, work } = await limitedApp(t, { login: { max: 5 } })
  const replies = await Promise.all(Array.from({ length: 50 }, async () => await login({ username: 'ann' })))
  t.same(
    replies.map(({ statusCode }) => statusCode),
    [...new Array(5).fill(400), ...new Array(45).fill(429)]
  )
  t.equal(work.done, 5)
})

// covers RL-18 RL-19
t.test('accepts the first four of 50 parallel attempts on one account from 50 addresses', async (t) => {
  const { login, work } = await limitedApp(t, { login: { max: 5 }, account: { max: 4 } })
  const replies = await Promise.all(
    Array.from({ length: 50 }, async (_, i) => await login({ username: 'ann' }, { remoteAddress: `192.0.2.${i}` }))
  )
  t.same(
    replies.map(({ statusCode }) => statusCode),
    [...new Array(4).fill(400), ...new Array(46).fill(429)]
  )
  t.equal(work.done, 4)
})

// covers RL-17
t.test('counts attempts in a sliding window, so that no burst crosses a boundary', async (t) => {
  const { statuses, clock } = await limitedApp(t, { login: LOGIN })
  await statuses(1)
  clock.step(MINUTE - 1)
  t.same(await statuses(3), [400, 400, 429], 'two more just before the first expires')
  clock.step(1)
  t.same(await statuses(2), [400, 429], 'and one as it does')
  clock.step(MINUTE - 2)
  t.same(await statuses(1), [429], 'ttl - 1')
  clock.step(1)
  t.same(await statuses(3), [400, 400, 429], 'ttl')
})

t.test('RL A5 refunds an attempt after a known outage of ours, and a success under count failed', async (t) => {
  const cases: Array<{
    count: 'all' | 'failed'
    as: 'success' | 'invalid_grant' | 'server_error' | 'temporarily_unavailable' | 'bug'
    costs: boolean
  }> = [
    { count: 'all', as: 'success', costs: true },
    { count: 'all', as: 'invalid_grant', costs: true },
    { count: 'all', as: 'server_error', costs: true },
    { count: 'all', as: 'temporarily_unavailable', costs: false },
    { count: 'all', as: 'bug', costs: true },
    { count: 'failed', as: 'success', costs: false },
    { count: 'failed', as: 'invalid_grant', costs: true },
    { count: 'failed', as: 'temporarily_unavailable', costs: false }
  ]
  for (const { count, as, costs } of cases) {
    const { statuses } = await limitedApp(t, { login: { max: 2, count } })
    const last = (await statuses(5, { as })).at(-1)
    t.equal(last === 429, costs, `count ${count}, ${as}`)
  }
})

// covers RL-25
t.test('keeps counted failures after a success', async (t) => {
  const { login, statuses } = await limitedApp(t, { login: false, account: { max: 3 } })
  t.same(await statuses(2, { username: 'ann' }), [400, 400])
  t.equal((await login({ username: 'ann', as: 'success' })).statusCode, 200)
  t.same(await statuses(2, { username: 'ann' }), [400, 429])
})

t.test('RL counts each rule separately, and false disables a rule', async (t) => {
  const { statuses } = await limitedApp(t, {
    login: { max: 1 },
    register: { max: 2 },
    passwordReset: false,
    refresh: { max: 1 }
  })
  t.same(await statuses(2, { rule: 'login' }), [400, 429])
  t.same(await statuses(3, { rule: 'register' }), [400, 400, 429])
  t.same(await statuses(2, { rule: 'refresh' }), [400, 429])
  t.same(await statuses(9, { rule: 'passwordReset' }), new Array(9).fill(400))
  const off = await limitedApp(t, false)
  t.same(await off.statuses(30, { username: 'ann' }), new Array(30).fill(400))
})

// covers RL-27
t.test('reports the limit of the address in headers, never that of the account', async (t) => {
  const { login, statuses } = await limitedApp(t, { login: { max: 20, windowMs: MINUTE }, account: { max: 2 } })
  const first = await login({ username: 'ann' })
  t.match(first.headers, { 'x-ratelimit-limit': '20', 'x-ratelimit-remaining': '19', 'x-ratelimit-reset': '60' })
  await statuses(1, { username: 'ann' })
  const refused = await login({ username: 'ann' })
  t.equal(refused.statusCode, 429)
  t.match(
    refused.headers,
    { 'x-ratelimit-limit': '20', 'x-ratelimit-remaining': '18' },
    'and what the account refused took nothing of the address'
  )
})

// covers RL-27
t.test('sends no rate limit headers to an address on the bypass list', async (t) => {
  const { login } = await limitedApp(t, { bypass: ['127.0.0.1'] })
  const { headers } = await login({ username: 'ann' })
  t.same(
    Object.keys(headers).filter((name) => name.startsWith('x-ratelimit')),
    []
  )
})

// covers RL-1
t.test('ignores forwarding headers of a direct client', async (t) => {
  const { login } = await limitedApp(t, { login: LOGIN })
  const seen: number[] = []
  for (let i = 0; i < 5; i++) {
    const headers = {
      'x-forwarded-for': `203.0.113.${i}`,
      'x-real-ip': `203.0.113.${i}`,
      forwarded: `for=203.0.113.${i}`,
      'user-agent': `agent ${i}`
    }
    seen.push((await login({}, { headers })).statusCode)
  }
  t.same(seen, [400, 400, 400, 429, 429])
})

// covers RL-1
t.test('counts the address that a trusted proxy saw, and ignores earlier entries', async (t) => {
  const { login } = await limitedApp(t, { login: LOGIN }, { trustProxy: '127.0.0.1' })
  const from = async (chain: string): Promise<number> =>
    (await login({}, { headers: { 'x-forwarded-for': chain } })).statusCode
  const seen: number[] = []
  for (let i = 0; i < 4; i++) seen.push(await from(`10.0.0.${i}, 203.0.113.9`))
  t.same(seen, [400, 400, 400, 429])
  t.equal(await from('10.0.0.0, 203.0.113.10'), 400)
})

// covers RL-7 RL-8
t.test('counts a /64 and a mapped IPv4 address as one address', async (t) => {
  const { login } = await limitedApp(t, { login: { max: 2 } })
  const from = async (remoteAddress: string): Promise<number> => (await login({}, { remoteAddress })).statusCode
  t.same(
    [await from('2001:db8:0:1::1'), await from('2001:db8:0:1::2'), await from('2001:db8:0:1:ffff::3')],
    [400, 400, 429]
  )
  t.equal(await from('2001:db8:0:2::1'), 400)
  t.same([await from('192.0.2.1'), await from('::ffff:192.0.2.1'), await from('::ffff:c000:201')], [400, 400, 429])
  t.equal(await from('::ffff:192.0.2.2'), 400)
})

// covers RL-30 A17
t.test('gives an IPv6 /48 twenty times the allowance of a /64 under login', async (t) => {
  const { login, limited, clock } = await limitedApp(t, { login: { max: 2, windowMs: MINUTE }, register: { max: 1 } })
  const from = async (remoteAddress: string, attempt = {}) => await login(attempt, { remoteAddress })
  for (let network = 0; network < 40; network++) {
    const reply = await from(`2001:db8:7:${network.toString(16)}::1`)
    t.equal(reply.statusCode, 400)
    t.equal(reply.headers['x-ratelimit-limit'], '2', 'what the answer shows is of the /64')
    t.equal(reply.headers['x-ratelimit-remaining'], '1')
  }
  t.equal((await from('2001:db8:7:ffff::1')).statusCode, 429, 'the forty-first')
  t.match(limited, [{ rule: 'login', max: 40, windowMs: MINUTE }])
  t.equal((await from('2001:db8:8::1')).statusCode, 400, 'another /48')
  t.equal((await from('192.0.2.1')).statusCode, 400)
  for (let network = 0; network < 45; network++)
    t.equal(
      (await from(`2001:db8:7:${network.toString(16)}::1`, { rule: 'register' })).statusCode,
      400,
      'no other rule has it'
    )
  clock.step(MINUTE)
  t.equal((await from('2001:db8:7:ffff::1')).statusCode, 400)
})

// covers RL-30 A17
t.test('counts no /48 when the host sets the key or bypasses the address', async (t) => {
  for (const limits of [
    { key: (request: FastifyRequest) => String(request.headers['x-tenant']) },
    { bypass: ['2001:db8::/32'] }
  ]) {
    const { login } = await limitedApp(t, { login: { max: 1 }, ...limits })
    for (let network = 0; network < 25; network++)
      t.equal(
        (
          await login(
            {},
            { remoteAddress: `2001:db8:7:${network.toString(16)}::1`, headers: { 'x-tenant': String(network) } }
          )
        ).statusCode,
        400
      )
  }
})

// covers RL-4
t.test('applies an IPv4 bypass to no IPv6 address with a similar ending', async (t) => {
  const { statuses } = await limitedApp(t, { login: { max: 1 }, bypass: ['10.0.0.0/8'] })
  for (const remoteAddress of [
    '2001:db8::ffff:a00:1',
    '1:2:3:4:5:ffff:a00:1',
    '::1:ffff:a00:1',
    '64:ff9b::a00:1',
    '0:0:0:1::a00:1',
    '0:0:0:2::ffff:0:a00:1'
  ])
    t.same(await statuses(2, {}, { remoteAddress }), [400, 429], remoteAddress)
  t.same(await statuses(2, {}, { remoteAddress: '::ffff:a00:1' }), [400, 400])
})

// covers RL-4 RL-6
t.test('bypass: skips the address rule, but not the account rule', async (t) => {
  const { statuses } = await limitedApp(t, { login: { max: 1 }, account: { max: 4 }, bypass: ['10.0.0.0/8'] })
  for (const remoteAddress of ['10.1.2.3', '::ffff:10.1.2.3'])
    t.same(await statuses(5, {}, { remoteAddress }), new Array(5).fill(400))
  t.same(await statuses(5, { username: 'ann' }, { remoteAddress: '10.1.2.3' }), [400, 400, 400, 400, 429])
  t.same(await statuses(2, {}, { remoteAddress: '11.1.2.3' }), [400, 429])
})

// covers RL-4
t.test('bypass: compares the address, regardless of the key', async (t) => {
  const { statuses } = await limitedApp(t, { login: { max: 1 }, key: () => '10.0.0.1', bypass: ['10.0.0.0/8'] })
  t.same(await statuses(2, {}, { remoteAddress: '192.0.2.1' }), [400, 429], 'the key is no address')
  t.same(await statuses(2, {}, { remoteAddress: '10.0.0.1' }), [400, 400])
})

// covers RL-5
t.test('stops the start for an invalid bypass list', async (t) => {
  await t.rejects(limitedApp(t, { bypass: ['0.0.0.0/0'] }), {
    message: /rateLimit\.bypass: "0\.0\.0\.0\/0" is refused/
  })
})

// covers RL-9
t.test('counts made-up API keys under the address', async (t) => {
  const { login } = await limitedApp(t, { login: LOGIN, apiKey: { verify: (key) => key === 'good' } })
  const seen: number[] = []
  for (let i = 0; i < 5; i++) seen.push((await login({}, { headers: { 'x-api-key': `made-up-${i}` } })).statusCode)
  t.same(seen, [400, 400, 400, 429, 429])
  t.equal((await login({})).statusCode, 429, 'the same allowance as without a key')
  t.equal((await login({}, { headers: { 'x-api-key': '' } })).statusCode, 429)
})

// covers RL-9
t.test('gives a verified API key one allowance from all addresses, with its own max', async (t) => {
  const verify = async (key: string) => (key === 'big' ? { max: 5 } : key === 'good')
  const { login } = await limitedApp(t, { login: { max: 2 }, apiKey: { header: 'X-Partner-Key', verify } })
  const use = async (key: string, i: number): Promise<number> =>
    (await login({}, { remoteAddress: `192.0.2.${i}`, headers: { 'x-partner-key': key } })).statusCode
  t.same([await use('good', 1), await use('good', 2), await use('good', 3)], [400, 400, 429])
  const big: number[] = []
  for (let i = 0; i < 6; i++) big.push(await use('big', 1))
  t.same(big, [400, 400, 400, 400, 400, 429])
  t.equal((await login({}, { remoteAddress: '192.0.2.1' })).statusCode, 400, 'the address has its own')
})

// covers RL-9 RL-10
t.test('applies the account rule also with an API key', async (t) => {
  const { statuses } = await limitedApp(t, { account: { max: 2 }, apiKey: { verify: () => ({ max: 1000 }) } })
  t.same(await statuses(3, { username: 'ann' }, { headers: { 'x-api-key': 'good' } }), [400, 400, 429])
})

// covers RL-9
t.test('counts under the address when verify throws, rejects or returns an invalid value', async (t) => {
  const faults: Array<(key: string) => never> = [
    () => {
      throw new Error('down')
    },
    () => Promise.reject(new Error('down')) as never,
    () => ({ max: 0 }) as never,
    () => ({ max: Infinity }) as never,
    () => 'yes' as never,
    () => null as never
  ]
  for (const [index, verify] of faults.entries()) {
    const { login, warnings } = await limitedApp(t, { login: { max: 1 }, apiKey: { verify } })
    t.equal((await login({}, { headers: { 'x-api-key': 'a' } })).statusCode, 400)
    t.equal((await login({}, { headers: { 'x-api-key': 'b' } })).statusCode, 429, `fault ${index}`)
    if (index < 2) t.match(warnings[0], /rateLimit\.apiKey\.verify failed/)
  }
})

// covers RL-11
t.test('counts under the key of the host, or under the address when the key fails', async (t) => {
  const custom = await limitedApp(t, { login: { max: 2 }, key: (request) => String(request.headers['x-tenant']) })
  const use = async (tenant: string, i: number): Promise<number> =>
    (await custom.login({}, { remoteAddress: `192.0.2.${i}`, headers: { 'x-tenant': tenant } })).statusCode
  t.same([await use('a', 1), await use('a', 2), await use('a', 3), await use('b', 1)], [400, 400, 429, 400])
  for (const key of [
    () => {
      throw new Error('x')
    },
    () => '',
    () => undefined as never,
    () => 7 as never
  ]) {
    const { statuses } = await limitedApp(t, { login: { max: 1 }, key })
    t.same(await statuses(2), [400, 429])
    t.same(await statuses(1, {}, { remoteAddress: '192.0.2.1' }), [400])
  }
})

// covers RL-13
t.test('counts hostile usernames like any other', async (t) => {
  const { statuses } = await limitedApp(t, { login: false, account: { max: 2 } })
  for (const username of ['__proto__', 'constructor', 'x'.repeat(8192), 'a\u0000b', '']) {
    t.same(await statuses(3, { username }), [400, 400, 429], username.slice(0, 20))
  }
})

t.test('RL sends the reply of the custom 429 handler', async (t) => {
  const seen: unknown[] = []
  const { statuses, login } = await limitedApp(t, {
    login: LOGIN,
    onLimit(request, reply, info) {
      seen.push([request.method, info])
      reply.code(420).header('retry-after', '7').header('x-own', 'yes')
      return { message: 'slow down', info }
    }
  })
  await statuses(3)
  const reply = await login()
  const info = { rule: 'login', max: 3, windowMs: MINUTE, retryAfter: 60 }
  t.equal(reply.statusCode, 420)
  t.match(reply.headers, { 'retry-after': '7', 'x-own': 'yes', 'x-ratelimit-remaining': '0' })
  t.same(reply.json(), { message: 'slow down', info })
  t.same(seen, [['POST', info]])
})

t.test('RL sends the content type of the custom 429 handler', async (t) => {
  const table: Array<[string, unknown, string]> = [
    ['text/html; charset=utf-8', '<h1>Slow down</h1>', '<h1>Slow down</h1>'],
    ['application/problem+json; charset=utf-8', { title: 'Slow down' }, '{"title":"Slow down"}']
  ]
  for (const [type, body, sent] of table) {
    const { login } = await limitedApp(t, {
      login: { max: 1 },
      onLimit(_request, reply) {
        reply.type(type)
        return body
      }
    })
    await login()
    const reply = await login()
    t.equal(reply.statusCode, 429)
    t.equal(reply.headers['content-type'], type)
    t.equal(reply.body, sent)
  }
})

t.test('RL sends the default answer when the custom 429 handler returns nothing or throws', async (t) => {
  for (const onLimit of [
    () => {},
    async () => undefined,
    () => {
      throw new Error('x')
    }
  ]) {
    const { login } = await limitedApp(t, { login: { max: 1 }, onLimit })
    await login()
    const reply = await login()
    t.equal(reply.statusCode, 429)
    t.equal(reply.headers['retry-after'], '900')
    t.match(reply.json(), { error: 'too_many_requests', retryAfter: 900 })
  }
})
