import t from '../support/tap.ts'
import { memoryUserStore, type User, type UserStore } from '../../lib/index.ts'
import { bearer, PASSWORD, signIn, signUp, testApp, type TestApp } from '../support/app.ts'

async function guess(
  { app }: TestApp,
  username: string,
  remoteAddress: string,
  password = 'not the password',
  headers: Record<string, string> = {}
): Promise<number> {
  return (
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      remoteAddress,
      headers,
      payload: { grant_type: 'password', username, password }
    })
  ).statusCode
}

const addresses = (count: number): string[] => Array.from({ length: count }, (_, i) => `10.0.${i >> 8}.${i & 255}`)
const count = (statuses: number[], status: number): number => statuses.filter((one) => one === status).length

// covers ADV-CVE-2024-4629 ADV-CVE-2019-5421 RL-18
t.test('hashes only as many of 200 parallel guesses as the limit allows', async (t) => {
  const cases = [
    { what: 'one account, 200 addresses', rateLimit: { account: { max: 5 } }, from: addresses(200) },
    { what: 'one address', rateLimit: { login: { max: 5 } }, from: Array<string>(200).fill('192.0.2.1') },
    {
      what: 'one /64',
      rateLimit: { login: { max: 5 } },
      from: Array.from({ length: 200 }, (_, i) => `2001:db8::${(i + 1).toString(16)}`)
    }
  ]
  for (const { what, rateLimit, from } of cases) {
    const world = await testApp({ rateLimit, password: { concurrency: 200, maxQueue: 200 } })
    t.teardown(world.close)
    await signUp(world.app)
    await guess(world, 'nobody', '203.0.113.1')
    const before = world.hasher.calls.verify
    const statuses = await Promise.all(from.map(async (address) => await guess(world, 'ann', address)))
    t.equal(count(statuses, 400), 5, what)
    t.equal(count(statuses, 429), 195, what)
    t.equal(world.hasher.calls.verify - before, 5, `${what}: hashes`)
  }
})

// covers ASVS-6.3.1
t.test('limits guesses at many users by address, and guesses at one user by account', async (t) => {
  const world = await testApp({ rateLimit: {} })
  t.teardown(world.close)
  await signUp(world.app)
  const spray: number[] = []
  for (let i = 0; i < 50; i++) spray.push(await guess(world, `user-${i}`, `2001:db8:1:1::${(i + 1).toString(16)}`))
  t.equal(count(spray, 429), 45, 'one password, 50 names, one /64')
  const targeted: number[] = []
  for (const address of addresses(50)) targeted.push(await guess(world, 'ann', address))
  t.equal(count(targeted, 429), 40, 'one name, 50 addresses')
})

// covers RL-12 ADV-CVE-2025-24806
t.test('counts upper and lower case spellings of a username on one counter', async (t) => {
  const spellings = ['ann@example.com', 'ANN@example.com', 'Ann@EXAMPLE.com', 'ann@Example.COM', 'aNN@example.com']
  for (const known of [true, false]) {
    const world = await testApp({ rateLimit: { account: { max: 5 } } })
    t.teardown(world.close)
    if (known) await signUp(world.app, 'ann@example.com')
    for (const [index, spelling] of spellings.entries()) t.equal(await guess(world, spelling, `10.1.0.${index}`), 400)
    for (const [index, spelling] of spellings.entries())
      t.equal(await guess(world, spelling, `10.2.0.${index}`), 429, `${known ? 'known' : 'unknown'}: ${spelling}`)
    t.equal(await guess(world, 'bob@example.com', '10.3.0.1'), 400, 'another name is another counter')
  }
})

// covers RL-12
t.test('counts the composed and decomposed Unicode forms of a username as one', async (t) => {
  const world = await testApp({
    rateLimit: { account: { max: 2 } },
    users: memoryUserStore([{ id: '1', username: 'm\u00fcller', passwordHash: null }])
  })
  t.teardown(world.close)
  t.equal(await guess(world, 'm\u00fcller', '10.1.0.1'), 400)
  t.equal(await guess(world, 'mu\u0308ller', '10.1.0.2'), 400)
  t.equal(await guess(world, 'MU\u0308LLER', '10.1.0.3'), 429)
})

// covers RL-12
t.test(
  'counts guesses at sign-in and password change together, even if the store capitalizes the username',
  async (t) => {
    const users = memoryUserStore() as Required<UserStore>
    const spelt = (user: User | null): User | null => (user === null ? null : { ...user, username: 'Ann@Example.com' })
    const world = await testApp({
      rateLimit: { login: false, account: { max: 2 } },
      users: {
        ...users,
        findById: async (id) => spelt(await users.findById(id)),
        findByUsername: async (name) => spelt(await users.findByUsername(name))
      }
    })
    t.teardown(world.close)
    await signUp(world.app, 'ann@example.com')
    const { access_token: token } = await signIn(world.app, 'ann@example.com')
    const change = async (): Promise<number> =>
      (
        await world.app.inject({
          method: 'POST',
          url: '/auth/password',
          headers: bearer(token),
          payload: { current_password: 'a wrong password', new_password: 'quite another password' }
        })
      ).statusCode
    const attempt = async (): Promise<number> =>
      (
        await world.app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'password', username: 'ann@example.com', password: 'a wrong password' }
        })
      ).statusCode
    t.same([await attempt(), await change(), await change(), await attempt()], [400, 400, 429, 429])
  }
)

// covers RL-11
t.test('ignores headers and cookies when it counts attempts by address', async (t) => {
  const world = await testApp({ rateLimit: { login: { max: 2 } } })
  t.teardown(world.close)
  const seen: number[] = []
  for (let i = 0; i < 4; i++) {
    seen.push(
      await guess(world, `user-${i}`, '192.0.2.1', 'not the password', {
        'user-agent': `agent ${i}`,
        'accept-language': `x-${i}`,
        'x-api-key': `made up ${i}`,
        cookie: `a=${i}`,
        referer: `https://${i}.example`
      })
    )
  }
  t.same(seen, [400, 400, 429, 429])
})

// covers RL-16
t.test('hashes and looks up nothing for malformed requests, and does not count them as attempts', async (t) => {
  const store = memoryUserStore()
  let lookUps = 0
  const users = {
    ...store,
    findByUsername: async (name: string) => {
      lookUps += 1
      return await store.findByUsername(name)
    }
  }
  const world = await testApp({ rateLimit: {}, users })
  t.teardown(world.close)
  const json = { 'content-type': 'application/json' }
  const requests = [
    { method: 'POST', url: '/auth/token', headers: json, payload: '{' },
    { method: 'POST', url: '/auth/token', headers: json, payload: '[]' },
    { method: 'POST', url: '/auth/token', headers: { 'content-type': 'text/plain' }, payload: 'x' },
    {
      method: 'POST',
      url: '/auth/token',
      headers: json,
      payload: JSON.stringify({ grant_type: 'password', username: ['ann'], password: PASSWORD })
    },
    { method: 'GET', url: '/auth/token' },
    { method: 'POST', url: '/auth/nothing', headers: json, payload: '{}' },
    { method: 'POST', url: '/auth/register', headers: json, payload: '{"username":1}' },
    { method: 'POST', url: '/auth/password-reset', headers: json, payload: '{}' }
  ] as const
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
  const before = world.hasher.calls.hash + world.hasher.calls.verify
  for (let round = 0; round < 20; round++) {
    for (const request of requests) {
      const { statusCode } = await world.app.inject(request)
      t.ok(statusCode >= 400 && statusCode < 500, `${request.method} ${request.url}: ${statusCode}`)
    }
  }
  t.equal(world.hasher.calls.hash + world.hasher.calls.verify, before)
  t.equal(lookUps, 0)
  await signUp(world.app)
  t.equal((await signIn(world.app)).token_type, 'Bearer', 'and locks nobody out')
})

// covers RL-24 ASVS-6.1.1
t.test('lets the owner sign in from a known browser after strangers exhaust the account limit', async (t) => {
  const world = await testApp({ rateLimit: {} })
  t.teardown(world.close)
  await signUp(world.app)
  const browser = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:3000' }
  const first = await world.app.inject({
    method: 'POST',
    url: '/auth/token',
    remoteAddress: '198.51.100.1',
    headers: browser,
    payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
  })
  const cookie = String(first.headers['set-cookie']).split(';')[0] ?? ''
  t.match(cookie, /^[^=]+=.+/)
  for (const address of addresses(20)) await guess(world, 'ann', address)
  t.equal(await guess(world, 'ann', '198.51.100.2', PASSWORD), 429, 'a stranger, even one who knows the password')
  t.equal(
    await guess(world, 'ann', '198.51.100.3', PASSWORD, { ...browser, cookie }),
    200,
    'the known browser, from elsewhere'
  )
  world.clock.step(15 * 60_000)
  t.equal(await guess(world, 'ann', '198.51.100.2', PASSWORD), 200, 'a throttle, no lock')
})

// covers RL-25
t.test('gives no further guesses at one account after successful sign-ins to another', async (t) => {
  for (const rateLimit of [{}, { login: { count: 'failed' as const } }]) {
    const world = await testApp({ rateLimit })
    t.teardown(world.close)
    await signUp(world.app, 'ann')
    await signUp(world.app, 'mallory')
    let guesses = 0
    for (let i = 0; i < 40; i++) {
      if ((await guess(world, 'ann', '192.0.2.66')) === 400) guesses += 1
      await guess(world, 'mallory', '192.0.2.66', PASSWORD)
    }
    t.ok(guesses <= 5, `${JSON.stringify(rateLimit)}: ${guesses} guesses`)
    for (const address of addresses(30)) {
      await guess(world, 'ann', address)
      await guess(world, 'mallory', address, PASSWORD)
    }
    t.equal(await guess(world, 'ann', '192.0.2.99'), 429, 'and leaves the account rule of the other')
  }
})

// covers RL-26
t.test('limits reset requests by address, and keeps only the latest reset link valid', async (t) => {
  const world = await testApp({ rateLimit: {} })
  t.teardown(world.close)
  await signUp(world.app, 'ann@example.com')
  const ask = async (username: string, remoteAddress: string) =>
    await world.app.inject({ method: 'POST', url: '/auth/password-reset', remoteAddress, payload: { username } })
  const statuses: number[] = []
  for (const username of [
    'ann@example.com',
    'nobody@example.com',
    'ann@example.com',
    'ann@example.com',
    'nobody@example.com'
  ])
    statuses.push((await ask(username, '192.0.2.1')).statusCode)
  t.same(statuses, [202, 202, 202, 429, 429])
  t.equal((await world.messages.next()).kind, 'verify_email')
  const links = [await world.messages.next()].map(({ token }) => token as string)
  t.equal(world.messages.messages.length, 2, 'A11 whoever asks again within minutes has a link that works already')
  world.clock.step(5 * 60_000)
  t.equal(await ask('ann@example.com', '192.0.2.2').then(({ statusCode }) => statusCode), 202)
  links.push((await world.messages.next()).token as string)
  const confirm = async (token: string | undefined) =>
    (
      await world.app.inject({
        method: 'POST',
        url: '/auth/password-reset/confirm',
        payload: { token, password: 'a wholly new password' }
      })
    ).statusCode
  t.equal(
    await guess(world, 'ann@example.com', '192.0.2.1', PASSWORD),
    200,
    'a request changes nothing for who knows the password'
  )
  t.equal(await confirm(links[0]), 400, 'the earlier link')
  t.equal(await confirm(links[1]), 204, 'the latest')
})

// covers ASVS-6.6.3
t.test('limits guesses at one-time tokens and refresh tokens', async (t) => {
  const paths = [
    ['/auth/password-reset/confirm', { token: 'A'.repeat(43), password: 'a wholly new password' }],
    ['/auth/email/verify', { token: 'A'.repeat(43) }],
    ['/auth/refresh', undefined]
  ] as const
  for (const [url, payload] of paths) {
    const world = await testApp({ rateLimit: { refresh: { max: 4 } } })
    t.teardown(world.close)
    const seen: number[] = []
    for (let i = 0; i < 6; i++)
      seen.push(
        (
          await world.app.inject({
            method: 'POST',
            url,
            headers: bearer(`${'A'.repeat(38)}.${'A'.repeat(43)}`),
            ...(payload === undefined ? {} : { payload })
          })
        ).statusCode
      )
    t.same(seen.slice(4), [429, 429], url)
    t.ok(
      seen.slice(0, 4).every((status) => status === 400 || status === 401),
      url
    )
  }
})

// covers R6749-2.3.1
t.test('limits guesses at a client secret', async (t) => {
  const world = await testApp({
    rateLimit: { refresh: { max: 5 } },
    clients: [{ clientId: 'web', clientSecret: 's'.repeat(16) + 't'.repeat(16), grantTypes: ['password'] }]
  })
  t.teardown(world.close)
  const seen: number[] = []
  for (let i = 0; i < 8; i++) {
    seen.push(
      (
        await world.app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: {
            grant_type: 'password',
            username: 'ann',
            password: PASSWORD,
            client_id: 'web',
            client_secret: `guess ${i}`
          }
        })
      ).statusCode
    )
  }
  t.same(seen, [401, 401, 401, 401, 401, 429, 429, 429])
})
